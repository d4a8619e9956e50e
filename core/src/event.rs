//! What the core tells.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::evidence::BrokerState;
use crate::identity::{ParticipantId, SlotId, TransactionId};
use crate::request::Decision;

/// Why a global transaction aborted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "reason", rename_all = "kebab-case")
)]
pub enum AbortReason {
    /// The caller asked for it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Requested(String),
    /// A branch voted no.
    VotedNo {
        /// The participant's name.
        participant: String,
        /// Why.
        detail: String,
    },
    /// A branch could not be promised any longer: its time-out at the broker is too near (R14).
    DeadlinePassed {
        /// The participant's name.
        participant: String,
    },
    /// It was not asked to commit within its own time-out.
    TimedOut,
    /// The log had no room for the decision; nothing was written.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    LogFull(String),
    /// A one-phase branch was found aborted by the broker.
    BrokerAborted {
        /// The participant's name.
        participant: String,
    },
    /// The coordinator closed.
    Closed,
    /// Presumed: a start found it undecided.
    Presumed,
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested(why) => write!(f, "requested: {why}"),
            Self::VotedNo {
                participant,
                detail,
            } => write!(f, "{participant} voted no: {detail}"),
            Self::DeadlinePassed { participant } => {
                write!(
                    f,
                    "too near the transaction time-out of {participant} to promise a commit"
                )
            }
            Self::TimedOut => f.write_str("not asked to commit within its time-out"),
            Self::LogFull(why) => write!(f, "the decision could not be written: {why}"),
            Self::BrokerAborted { participant } => {
                write!(
                    f,
                    "{participant} had aborted its only branch before the commit reached it"
                )
            }
            Self::Closed => f.write_str("the coordinator closed"),
            Self::Presumed => f.write_str("undecided at a start of the coordinator"),
        }
    }
}

/// How a branch ended otherwise than decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum HeuristicKind {
    /// Decided commit, provably aborted (time-out at the broker, forced termination).
    Aborted,
    /// Decided abort, provably committed.
    Committed,
    /// It cannot be proved how it ended.
    Hazard,
    /// An operator gave it up.
    Abandoned,
}

impl HeuristicKind {
    /// The name in reports and errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "heuristic abort",
            Self::Committed => "heuristic commit",
            Self::Hazard => "heuristic hazard",
            Self::Abandoned => "abandoned by an operator",
        }
    }
}

impl fmt::Display for HeuristicKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One heuristic branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct HeuristicBranch {
    /// The participant's name.
    pub participant: String,
    /// How it ended.
    pub kind: HeuristicKind,
    /// The evidence, for people.
    pub detail: String,
}

/// The outcome of a global transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "outcome", rename_all = "kebab-case")
)]
pub enum Outcome {
    /// Every branch committed.
    Committed,
    /// Every branch aborted.
    Aborted(AbortReason),
    /// It may have committed; the log or the clusters will tell. Never reported as aborted.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    InDoubt(String),
    /// Some branches ended otherwise than decided.
    Mixed {
        /// What was decided.
        decision: Decision,
        /// The branches that ended otherwise.
        heuristic: Vec<HeuristicBranch>,
    },
}

/// Why a request or an enlistment was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// No such transaction here, or it has ended.
    UnknownTransaction(TransactionId),
    /// Not in this state of the transaction.
    InvalidState(String),
    /// A limit of the configuration is reached; its name and value.
    Limit(&'static str, u64),
    /// The participant cannot take work now, and why. A later attempt may succeed.
    Unavailable(String),
    /// No slot became free in time.
    SlotTimeout(String),
    /// The participant was stopped by an unexpected fence (R7).
    Fenced(String),
    /// The participant was stopped, as its address leads to another cluster than the log knows (R17).
    WrongCluster(String),
    /// The participant was stopped, as what drives it failed in a way that nobody foresaw.
    Broken(String),
    /// The configuration of the participant or the request does not fit the cluster.
    Config(String),
    /// The coordinator is closing.
    Closed,
    /// The coordinator has stopped.
    Stopped(StopReason),
}

/// What an own producer of class v1 may do after its branch ended (R3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Reuse {
    /// The instance can go on with its next transaction: its vote told that all it wrote was delivered.
    Reuse,
    /// The instance must be closed and made anew: an EndTxn or a record of it may still be under way.
    Discard,
}

/// Why a coordinator stopped for good.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "stop", rename_all = "kebab-case")
)]
pub enum StopReason {
    /// An append failed or was not answered (R11).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    LogFailed(String),
    /// Another owner took the log over (R10).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    LogFenced(String),
    /// The clusters know more than the log: it is an old copy, or was restored (R13).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    StaleLog(String),
    /// It was closed.
    Closed,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogFailed(why) => write!(f, "its log failed: {why}"),
            Self::LogFenced(why) => write!(f, "another owner took its log over: {why}"),
            Self::StaleLog(why) => write!(f, "its log is stale: {why}"),
            Self::Closed => f.write_str("it was closed"),
        }
    }
}

/// The state of a participant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "status", rename_all = "kebab-case")
)]
pub enum ParticipantStatus {
    /// Being connected to and listed.
    Starting,
    /// All preconditions proved: it takes branches.
    Verified,
    /// It cannot be used now, and why; it is tried again.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Unavailable(String),
    /// It is stopped until the coordinator restarts, and why (R7, R17, a failure of its driver).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Stopped(String),
}

/// An open branch that another log left under this coordinator's id (R12).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ForeignBranch {
    /// The participant's name.
    pub participant: String,
    /// Its transactional.id.
    pub transactional_id: Arc<str>,
    /// Its state at the last listing.
    pub state: BrokerState,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The new incarnation is durable: work may begin.
    Started,
    /// Everything that the log left open is ended.
    Recovered,
    /// A participant changed its status.
    Participant(ParticipantId, ParticipantStatus),
    /// A slot is leased: the application may write through it.
    Enlisted {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The leased slot; `None` for an own producer.
        slot: Option<SlotId>,
        /// The transactional.id of the branch, which tells two own producers of one participant apart.
        transactional_id: Arc<str>,
    },
    /// A participant could not be enlisted; the transaction itself goes on.
    EnlistRefused {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The own producer's transactional.id; `None` where a slot was asked for.
        own: Option<Arc<str>>,
        /// Why.
        refusal: Refusal,
    },
    /// The commit decision is durable, and the caller asked to be told.
    Decided(TransactionId),
    /// The transaction ended for its caller.
    Ended {
        /// The global transaction.
        transaction: TransactionId,
        /// How.
        outcome: Outcome,
    },
    /// An own producer's branch is ended; told before `Ended`.
    OwnReleased {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// Whether the instance may go on.
        reuse: Reuse,
    },
    /// A heuristic outcome was recorded.
    Heuristic(TransactionId, HeuristicBranch),
    /// No promised branch of this own producer is left.
    Settled {
        /// The participant.
        participant: ParticipantId,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
    },
    /// An open branch of another log was seen for the first time.
    Foreign(ForeignBranch),
    /// An operator's request to end a branch of another log was carried out, or failed and why.
    ForeignResolved {
        /// The participant.
        participant: ParticipantId,
        /// The branch's transactional.id.
        transactional_id: Arc<str>,
        /// The error, for people.
        error: Option<String>,
    },
    /// After `Close`: nothing is under way any more, or what is left waits for a participant.
    Drained,
    /// The coordinator stopped; every open caller was told in doubt or aborted before.
    Stopped(StopReason),
}

/// The state of a listed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum TransactionState {
    /// Taking branches and writes.
    Active,
    /// Collecting votes.
    Preparing,
    /// The decision is being written.
    Deciding,
    /// Ending its branches.
    Completing,
    /// Nobody knows how it ended; retried, or waiting for an operator.
    InDoubt,
    /// Ended, as decided.
    Ended,
    /// Ended otherwise than decided; listed until forgotten.
    Mixed,
}

/// One branch of a [`TransactionView`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BranchView {
    /// The participant's name.
    pub participant: String,
    /// The transactional.id, once known.
    pub transactional_id: Option<Arc<str>>,
    /// Its state, in words.
    pub state: &'static str,
    /// The last error or the evidence, for people.
    pub detail: Option<String>,
}

/// A transaction as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TransactionView {
    /// Its id.
    pub id: TransactionId,
    /// The application's key.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "key_hex", serialize_with = "crate::serial::hex")
    )]
    pub key: Option<Vec<u8>>,
    /// Its state.
    pub state: TransactionState,
    /// The decision, once there is one.
    pub decision: Option<Decision>,
    /// When it was decided (or began), in milliseconds since the Unix epoch.
    pub since_unix_ms: u64,
    /// Its branches.
    pub branches: Vec<BranchView>,
}
