//! gtc commits one transaction over two or more Kafka clusters: all of them, or none.
//!
//! ```no_run
//! use gtc::{Config, Coordinator, Record};
//!
//! # async fn transfer() -> Result<(), gtc::Error> {
//! let coordinator = Coordinator::open(Config::from_file("gtc.toml")?).await?;
//! let transaction = coordinator.begin()?;
//! transaction.send("eu", Record::to("orders")).await?;
//! transaction.send("us", Record::to("orders")).await?;
//! transaction.commit().await?;
//! coordinator.close().await
//! # }
//! ```
//!
//! # What the parts are
//!
//! [`Coordinator`] opens the decision log and the participants of a [`Config`]. A [`Transaction`]
//! takes records and consumed offsets, and commits or aborts. An [`Error`] tells by its kind what
//! to do; [`ErrorKind::InDoubt`] is never reported as aborted. Whatever is promised is decided by
//! the crate `gtc_core`, a state machine without I/O; this crate does what it says.

#![forbid(unsafe_code)]

pub mod admin;
mod adoption;
mod arguments;
pub mod check;
mod close;
pub mod config;
mod consumer;
mod coordinator;
mod crash;
mod error;
pub mod facade;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod kafka;
pub mod log;
pub mod metrics;
mod open;
mod own;
mod participant;
mod runtime;
#[cfg(test)]
mod said_once;
pub mod survey;
#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(not(test), allow(dead_code, reason = "the tests use more of it"))]
mod testing;
#[cfg(test)]
mod tests;
mod transaction;
mod verdict;
pub mod views;

pub use config::{Config, Limits, ParticipantConfig};
pub use consumer::ConsumerOptions;
pub use coordinator::{Coordinator, read_log, read_log_of};
#[cfg(feature = "crash-points")]
pub use crash::CRASH_STEPS;
pub use error::{Error, ErrorKind, MIXED_REMEDY, Retry};
pub use gtc_core::{
    Accepted, BranchView, CommitReturn, Counters, Decision, ForeignBranch, KnownOutcome, Ledger,
    ProducerIdentity, Reuse, TransactionId, TransactionState, TransactionView, VersionClass,
};
pub use kafka::consumer::{
    Batch, BatchLimits, ConsumerEvent, GroupOffsets, OffsetReset, OutOfRange, PartitionLag,
    TransactionalConsumer,
};
pub use kafka::record::{ConsumedRecord, OutgoingRecord as Record, PartitionOffset};
pub use own::{OwnBranch, OwnProducer};
pub use transaction::{Committed, Transaction, TransactionOptions};

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
