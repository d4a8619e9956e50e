//! Runs of the program `gtc` on real clusters under faults, and the checker that judges them.
//!
//! Nothing here knows how gtc works: the records are loaded by a plain producer, the program runs as a child that is
//! killed from outside, and [`check`] reads the clusters with read_committed consumers and compares them with what
//! the loader got acknowledged.

#![forbid(unsafe_code)]

pub mod acl;
pub mod audit;
pub mod check;
pub mod config;
pub mod demo;
pub mod error;
pub mod faults;
pub mod fleet;
pub mod flights;
pub mod journal;
pub mod kafka;
pub mod load;
pub mod mesh;
pub mod phase;
pub mod plan;
pub mod program;
pub mod record;
pub mod table;
pub mod transform;
