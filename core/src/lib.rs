//! The two-phase-commit core of gtc: a pure state machine.
//!
//! It holds no socket, clock, thread or random source. The driver feeds it three kinds of input and then
//! drains it; everything that gtc promises is decided here.
//!
//! # Step, then drain
//!
//! 1. Call one of [`Coordinator::handle_request`], [`Coordinator::handle_response`],
//!    [`Coordinator::handle_timeout`].
//! 2. Call [`Coordinator::poll_output`] until it returns [`Output::Wait`].
//! 3. Run every [`Output::Action`] that came out, at once and in any order, except that
//!    [`Action::Append`] and [`Action::Checkpoint`] reach the log in the order in which they came.
//!    Each action is answered by exactly one response with its [`ActionId`].
//! 4. Hand every [`Output::Event`] to whom it concerns.
//! 5. Wait for the next request, response, or the instant that `Wait` named; go to 1.
//!
//! The core holds an action back until what it depends on is durable, so a driver needs no order of
//! its own. Late, repeated and unknown responses are counted and ignored.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod action;
mod backoff;
mod broken;
mod config;
mod coordinator;
mod ending;
mod event;
mod evidence;
mod identity;
mod ledger;
mod record;
mod request;
mod response;
mod rising;
#[cfg(feature = "serde")]
mod serial;
mod time;
mod timers;
pub mod transitions;
mod vote;

pub use action::{Action, Durability, Output, WaitReason, Writer};
#[cfg(feature = "broken")]
pub use broken::Broken;
pub use config::{
    Backoff, Config, ConfigError, GivesWay, Limits, ParticipantConfig, validate_name,
};
#[cfg(feature = "explore")]
pub use coordinator::Part;
pub use coordinator::{Coordinator, Counters, SlotCounts};
pub use event::{
    AbortReason, BranchView, Event, ForeignBranch, HeuristicBranch, HeuristicKind, Outcome,
    ParticipantStatus, Refusal, Reuse, StopReason, TransactionState, TransactionView,
};
pub use evidence::{
    BrokerState, EndAnswer, Inquiry, ListedTransaction, Listing, PrepareReport, SlotCondition,
    TransactionDescription, WriteReport,
};
pub use identity::{
    ActionId, BranchIdentity, Incarnation, LogId, ParticipantId, ProducerIdentity, SlotId,
    SlotName, TransactionId, VersionClass,
};
pub use ledger::{KnownOutcome, Ledger};
pub use record::{DecidedBranch, RECORD_VERSION, Record, RecordError};
pub use request::{Accepted, CommitReturn, Decision, Request};
pub use response::{AppendFailure, ConnectReport, Response, SlotFailure};
#[cfg(feature = "serde")]
pub use serial::words::WORDS;
pub use time::{Now, Time};
