//! Real, stock Kafka clusters on this machine, for tests, demo and benchmarks.
//!
//! Each [`Cluster`] is one KRaft node in a directory of its own under `target/clusters/`, on ports
//! of its own; [`Cluster::start_nodes`] makes several that are one cluster together. It needs a JDK
//! 17, and Maven once, for the jars. No broker outlives the process that started it, however that
//! process ends.
//!
//! ```no_run
//! use gtc_clusters::{Cluster, ClusterOptions};
//!
//! # fn main() -> gtc_clusters::Result<()> {
//! let clusters = Cluster::start_all(["eu", "us"].map(ClusterOptions::new))?;
//! println!("{}", clusters[0].bootstrap());
//! clusters[1].kill();
//! clusters[1].restart()?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod acl;
mod cluster;
mod config;
mod error;
mod files;
mod install;
mod keys;
pub mod maven;
mod node;
mod nodes;
mod options;
mod ports;
mod process;
mod proxy;
pub mod shared;
mod training;
pub mod up;
mod wire;

pub use acl::{Acl, Operation, Resource};
pub use cluster::{Cluster, Mechanism};
pub use error::{Error, Result};
pub use options::{ClusterOptions, Generation, Security};
pub use process::kafka_tool;
pub use proxy::{Direction, FrameHeader, HeldFrame, Proxy, Verdict};
