//! What went wrong for others, on real brokers: each test has the name of its case, see
//! docs/cases.md. Late requests and the application's own producers stand beside them.

mod batches;
mod child;
mod crashes;
mod doubt;
mod java;
mod late_end_txn;
mod logs;
mod operators;
mod own_producer;
mod own_votes;
mod owners;
mod secrets;
mod setup;
mod slots;
#[path = "../coordinator/support.rs"]
#[allow(dead_code, reason = "the other test program uses the rest of it")]
mod support;
#[path = "../coordinator/watchdog.rs"]
mod watchdog;
mod world;
