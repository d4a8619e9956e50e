//! What applications and operators ask for.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::identity::{ParticipantId, ProducerIdentity, TransactionId, VersionClass};

/// The decision of a global transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Decision {
    /// Every branch commits.
    Commit,
    /// Every branch aborts.
    Abort,
}

/// When a commit is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum CommitReturn {
    /// When every branch has acknowledged.
    #[default]
    Acknowledged,
    /// When the decision is durable. Ignored where an own producer takes part (R4).
    Decided,
}

/// A request. What it leads to arrives as an [`Event`](crate::Event), unless noted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "request", rename_all = "kebab-case")
)]
pub enum Request {
    /// Begin a global transaction. Answered at once by [`Accepted::Begun`].
    Begin {
        /// A key of the application's, to ask for the outcome by after a crash.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "key_hex", serialize_with = "crate::serial::hex")
        )]
        key: Option<Vec<u8>>,
        /// Abort by itself when it was not asked to commit within this time.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "timeout_us", serialize_with = "crate::serial::micros_option")
        )]
        timeout: Option<Duration>,
    },
    /// Lease a slot of `participant` for it. `Event::Enlisted` or `Event::EnlistRefused`.
    Enlist {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
    },
    /// Take an application's own producer in, before it begins its transaction.
    EnlistOwn {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// The class of EndTxn that the producer speaks on that cluster.
        version_class: VersionClass,
        /// The identity that the application's producer was initialised with, where it can tell: it has to be the one
        /// that the cluster has under that id.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        producer: Option<ProducerIdentity>,
    },
    /// As [`EnlistOwn`](Request::EnlistOwn), for a producer that speaks both classes and takes the newest
    /// that the cluster has, as the Java client does from 4.0.
    EnlistOwnNewest {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// As there.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        producer: Option<ProducerIdentity>,
    },
    /// Prepare all branches and decide. `Event::Ended`, or `Event::Decided` before it.
    Commit {
        /// The global transaction.
        transaction: TransactionId,
        /// When to report.
        report: CommitReturn,
    },
    /// Abort. `Event::Ended`.
    Abort {
        /// The global transaction.
        transaction: TransactionId,
        /// Why, for people.
        reason: String,
    },
    /// Wait until no promised branch of this own producer is left (R5). `Event::Settled`.
    Settle {
        /// The participant.
        participant: ParticipantId,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
    },
    /// An operator ends what cannot end by itself. `Event::Ended` follows where something changes.
    Resolve {
        /// The global transaction.
        transaction: TransactionId,
        /// Commit: try again now. Abort: give the open branches up, as a heuristic outcome.
        decision: Decision,
    },
    /// An operator ends an open branch that another log left under this coordinator's id (R12).
    ResolveForeign {
        /// The participant.
        participant: ParticipantId,
        /// The branch's transactional.id.
        transactional_id: Arc<str>,
        /// How to end it.
        decision: Decision,
    },
    /// An operator has dealt with a mixed outcome: stop listing it, once its completion is durable.
    Forget {
        /// The global transaction.
        transaction: TransactionId,
    },
    /// The driver finds that a participant does not answer: it takes no branches until a cycle has proved
    /// it again, so that nobody has to wait for the next sweep to hear of it.
    Unreachable {
        /// The participant.
        participant: ParticipantId,
        /// Why, for people.
        why: String,
    },
    /// What drives a participant failed in a way that nobody foresaw: it is stopped until the next start.
    Broken {
        /// The participant.
        participant: ParticipantId,
        /// Why, for people.
        why: String,
    },
    /// Accept nothing new, abort what is undecided. `Event::Drained` once nothing is under way.
    Close,
}

/// The immediate answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "accepted", rename_all = "kebab-case")
)]
pub enum Accepted {
    /// A transaction began.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serial::transaction")
    )]
    Begun(TransactionId),
    /// The result arrives as an event.
    Pending,
    /// Nothing was left to do.
    Done,
}
