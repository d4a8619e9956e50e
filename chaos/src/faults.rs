//! A run under faults: workers with a coordinator each, over real clusters behind proxies, until everything is healed and
//! ended; then [`crate::audit`] judges.

mod act;
mod disk;
mod field;
mod notes;
mod run;
mod schedule;
mod shape;
mod tally;
mod worker;

pub use run::{Faults, Outcome};
pub use schedule::{Fault, Planned, Targets, schedule};
pub use shape::Shape;
