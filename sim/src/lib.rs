//! Simulated worlds for the real core of gtc: model clusters, logs, networks and applications around a
//! [`gtc_core::Coordinator`], and the invariants that judge what comes of them.
//!
//! [`run_seed`] is one history: its seed gives every choice, and the same seed gives the same history.

#![forbid(unsafe_code)]

#[cfg(feature = "broken")]
pub mod broken;
pub mod exhaust;
mod invariants;
pub mod model;
mod plan;
mod run;
mod shrink;
mod source;
mod swarm;
mod violation;
mod world;

pub use plan::Plan;
pub use run::{Many, Options, Report, run_many, run_plan, run_seed};
pub use shrink::shrink;
pub use swarm::Fault;
pub use violation::Violation;
pub use world::Summary;
