//! The decision log: what a coordinator must still know after a crash.
//!
//! A log keeps opaque entries in the order in which they were submitted, and says when each of
//! them is durable. The core decides what the entries mean, which of them must be forced, and
//! when a checkpoint replaces all earlier ones by a snapshot.
//!
//! [`FileLog`] is the embedded log on a local disk. [`MemoryLog`] keeps the same contract for
//! tests, and can be told to fail.

mod error;
mod file;
mod memory;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;

pub use error::{LogError, LogErrorKind};
pub(crate) use file::check_owner;
pub use file::{FileLog, FileLogOptions, LogHolder, holder, read_only};
pub use memory::MemoryLog;

#[cfg(feature = "fuzzing")]
pub(crate) use file::fuzzing;

/// How soon an appended entry must be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As soon as the disk can.
    Forced,
    /// With the next forced write, or 50 ms later; nobody waits for it (rule R9).
    Lazy,
}

/// One thing to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogWrite {
    /// Adds entries behind all earlier ones. After a crash all of them are there, or none. Without an entry
    /// it only says whether the log still has this owner.
    Append {
        /// The entries, in order.
        entries: Vec<Vec<u8>>,
        /// How soon they must be durable.
        durability: Durability,
    },
    /// Replaces all earlier entries by a snapshot. After a crash either they or the whole
    /// snapshot are there.
    Checkpoint {
        /// The entries that stand for all earlier ones.
        snapshot: Vec<Vec<u8>>,
    },
}

/// A log that a coordinator owns, until it is closed.
pub trait DecisionLog: Send + Sync + 'static {
    /// Puts `write` behind all earlier ones, at once and without blocking.
    ///
    /// The receipt resolves when the write is durable, forced or lazy, or with the error; the
    /// write happens whether or not the receipt is kept. Once a receipt resolved with an error
    /// for which [`LogError::is_unwritten`] is false, no later write is accepted.
    fn submit(&self, write: LogWrite) -> Receipt;

    /// Whose log this is.
    fn identity(&self) -> &LogIdentity;

    /// The bytes written since the last checkpoint: the measure of when the next one pays.
    fn grown_bytes(&self) -> u64;

    /// Why nothing is accepted any more, if that is so: a write failed, its files were taken away, or it was
    /// closed.
    fn failure(&self) -> Option<LogError>;

    /// Writes what was submitted, then gives the log up; the receipt resolves when another
    /// owner can open it. Later submits are refused.
    fn close(&self) -> Receipt;
}

/// Whose log it is, and which one (rule R12).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogIdentity {
    /// The id of the coordinator.
    pub coordinator: String,
    /// The random id of this log, a part of every name that its coordinator makes.
    pub log_id: u64,
}

/// What a log held when it was opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replay {
    /// Whose log it is.
    pub identity: LogIdentity,
    /// The entries of the last complete checkpoint and all later ones, in order.
    pub entries: Vec<Bytes>,
    /// The last write, where a crash had cut it: it was never acknowledged and is gone.
    pub cut_tail: Option<CutTail>,
}

/// Where a write was found cut.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutTail {
    /// The name of the file within the log's directory.
    pub file: String,
    /// The byte at which the cut write starts.
    pub offset: u64,
}

/// Resolves when a write is durable, or failed.
#[must_use = "the outcome of a write is known only from its receipt"]
pub struct Receipt {
    outcome: oneshot::Receiver<Result<(), LogError>>,
}

/// The writing end of a [`Receipt`].
pub(crate) type Acknowledge = oneshot::Sender<Result<(), LogError>>;

impl Receipt {
    pub(crate) fn pair() -> (Acknowledge, Receipt) {
        let (acknowledge, outcome) = oneshot::channel();
        (acknowledge, Receipt { outcome })
    }

    pub(crate) fn resolved(outcome: Result<(), LogError>) -> Receipt {
        let (acknowledge, receipt) = Receipt::pair();
        // The receiver lives in `receipt`, so that this cannot fail.
        let _ = acknowledge.send(outcome);
        receipt
    }

    /// Blocks the thread until the outcome is known. Not for use inside an async runtime.
    ///
    /// # Errors
    /// As the receipt itself.
    pub fn wait(self) -> Result<(), LogError> {
        self.outcome
            .blocking_recv()
            .unwrap_or_else(|_| Err(writer_gone()))
    }
}

impl Future for Receipt {
    type Output = Result<(), LogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = Pin::new(&mut self.outcome).poll(context);
        outcome.map(|received| received.unwrap_or_else(|_| Err(writer_gone())))
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").finish_non_exhaustive()
    }
}

fn writer_gone() -> LogError {
    LogError::new(
        LogErrorKind::Io,
        "the writer ended without an answer, so that the outcome is unknown",
    )
    .with_remedy("open the log again and recover")
}
