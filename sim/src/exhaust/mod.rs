//! Every interleaving of small worlds around the real core: each state that steps of processes, clusters, network
//! and faults can lead to is visited once and judged. docs/exhaustive.md says what is in a world and what is not.

mod app;
mod clusters;
mod cores;
mod engine;
mod intern;
mod judge;
mod network;
mod packed;
mod reduce;
mod search;
mod state;
mod step;
mod story;
mod take;
mod world;
mod worlds;
mod writers;

pub use search::{Found, Limits, Progress, Report, search};
pub use world::{Faults, Start, World, Writers};
pub use worlds::{named, names};
