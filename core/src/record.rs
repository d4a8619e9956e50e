//! What the log holds: versioned binary records with a checksum.

mod codec;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::event::HeuristicKind;
use crate::identity::{BranchIdentity, Incarnation, ProducerIdentity, TransactionId, VersionClass};
use crate::request::Decision;

/// The version of the binary form that this build writes, and the newest that it reads.
pub const RECORD_VERSION: u8 = 1;

/// A branch named by a commit decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DecidedBranch {
    /// The participant's name.
    pub participant: Arc<str>,
    /// The identity that proves what became of it.
    pub identity: BranchIdentity,
    /// It belongs to an application's own producer.
    pub own: bool,
}

/// One record of the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "record", rename_all = "kebab-case")
)]
pub enum Record {
    /// A start of the coordinator (R13).
    Started {
        /// Its incarnation.
        incarnation: Incarnation,
        /// When, in milliseconds since the Unix epoch.
        unix_ms: u64,
    },
    /// The cluster that a participant's name stands for (R17).
    ClusterBound {
        /// The participant's name.
        participant: Arc<str>,
        /// The cluster.id.
        cluster_id: Arc<str>,
    },
    /// Slot names that may be initialised from now on: `count` numbers beginning with `first` (R6).
    Names {
        /// The incarnation that makes them.
        incarnation: Incarnation,
        /// The participant's name.
        participant: Arc<str>,
        /// The first number.
        first: u32,
        /// How many.
        count: u32,
        /// When, in milliseconds since the Unix epoch.
        unix_ms: u64,
    },
    /// The cluster no longer lists any slot name of this incarnation and participant (R6).
    NamesGone {
        /// The incarnation that made them.
        incarnation: Incarnation,
        /// The participant's name.
        participant: Arc<str>,
    },
    /// An own producer takes part in an undecided transaction (R5).
    OwnEnlisted {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant's name.
        participant: Arc<str>,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// Its identity.
        producer: ProducerIdentity,
        /// Its class of EndTxn.
        version_class: VersionClass,
    },
    /// The decision to commit; the only one that is ever written.
    Decided {
        /// The global transaction.
        transaction: TransactionId,
        /// The application's key.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "key_hex", serialize_with = "crate::serial::hex")
        )]
        key: Option<Arc<[u8]>>,
        /// When, in milliseconds since the Unix epoch.
        unix_ms: u64,
        /// Every branch that voted yes.
        branches: Arc<[DecidedBranch]>,
    },
    /// A branch acknowledged while another of its transaction stays open (R16).
    Acknowledged {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant's name.
        participant: Arc<str>,
        /// The transactional.id of the branch.
        transactional_id: Arc<str>,
    },
    /// A branch ended otherwise than decided.
    Heuristic {
        /// The global transaction.
        transaction: TransactionId,
        /// What was decided.
        decision: Decision,
        /// The participant's name.
        participant: Arc<str>,
        /// The transactional.id of the branch.
        transactional_id: Arc<str>,
        /// How it ended.
        kind: HeuristicKind,
        /// The evidence, for people.
        detail: Arc<str>,
    },
    /// All branches are ended. Also the form in which a checkpoint keeps an outcome.
    Completed {
        /// The global transaction.
        transaction: TransactionId,
        /// What was decided.
        decision: Decision,
        /// The application's key.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "key_hex", serialize_with = "crate::serial::hex")
        )]
        key: Option<Arc<[u8]>>,
        /// When it was decided, in milliseconds since the Unix epoch.
        unix_ms: u64,
    },
    /// An own v1 producer must not be used again with this identity (R3).
    Discarded {
        /// The participant's name.
        participant: Arc<str>,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// The identity that is spent.
        producer: ProducerIdentity,
    },
    /// The cluster no longer has the spent identity of an own producer: nothing can come of it any more.
    DiscardGone {
        /// The participant's name.
        participant: Arc<str>,
        /// The producer's transactional.id.
        transactional_id: Arc<str>,
        /// The identity that was spent.
        producer: ProducerIdentity,
    },
    /// An operator has dealt with a mixed outcome.
    Forgotten {
        /// The global transaction.
        transaction: TransactionId,
    },
}

/// Bytes that are not a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordError {
    /// Fewer bytes than a record has.
    Truncated,
    /// The checksum does not match.
    Checksum,
    /// Written by a newer gtc.
    Version(u8),
    /// No record of this version has this kind.
    Kind(u8),
    /// A field has a value that no version writes; its name.
    Field(&'static str),
    /// Bytes are left over.
    Trailing(usize),
    /// Valid by itself, but it contradicts the records before it; why.
    Order(String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("record cut short"),
            Self::Checksum => f.write_str("record checksum does not match"),
            Self::Version(found) => write!(
                f,
                "record version {found} is newer than {RECORD_VERSION}, the newest this gtc reads; \
                 start it with the gtc that wrote the log"
            ),
            Self::Kind(found) => write!(f, "record kind {found} does not exist in this version"),
            Self::Field(name) => write!(f, "record field {name} has an impossible value"),
            Self::Trailing(count) => write!(f, "{count} bytes after the end of a record"),
            Self::Order(why) => write!(f, "record contradicts those before it: {why}"),
        }
    }
}

impl core::error::Error for RecordError {}

impl Record {
    /// The binary form: version, kind, fields, CRC32C.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }

    /// Reads the binary form.
    ///
    /// # Errors
    /// [`RecordError`] for anything but exactly one record of a version that this build knows.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        codec::decode(bytes)
    }
}
