//! driver

#![forbid(unsafe_code)]
