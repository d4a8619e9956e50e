//! driver

#![forbid(unsafe_code)]

pub mod kafka;
pub mod log;
