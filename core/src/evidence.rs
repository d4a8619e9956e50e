//! What the driver saw: facts only, which the core judges.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::identity::{ProducerIdentity, VersionClass};

/// The state of a transaction at its broker transaction coordinator, as DescribeTransactions names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum BrokerState {
    /// Initialised, nothing written.
    Empty,
    /// Open.
    Ongoing,
    /// Commit accepted, markers being written.
    PrepareCommit,
    /// Abort accepted, markers being written.
    PrepareAbort,
    /// Committed.
    CompleteCommit,
    /// Aborted.
    CompleteAbort,
    /// Expired and being removed.
    Dead,
    /// Being aborted by the broker with a fenced epoch.
    PrepareEpochFence,
}

/// One answer of DescribeTransactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TransactionDescription {
    /// The state.
    pub state: BrokerState,
    /// The producer that the id belongs to now.
    pub producer: ProducerIdentity,
    /// When the transaction began, by the broker's clock, in milliseconds since the Unix epoch; -1 if none.
    pub start_time_ms: i64,
    /// The transaction time-out in milliseconds.
    pub timeout_ms: i32,
}

/// The result of asking for the state of a transactional.id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "inquiry", rename_all = "kebab-case")
)]
pub enum Inquiry {
    /// The broker described it.
    Described(TransactionDescription),
    /// The broker does not know the id (never used, or expired).
    NotFound,
    /// The broker refused to tell, with this Kafka error code.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::code"))]
    Refused(i16),
    /// No answer: unreachable, timed out, or the coordinator is moving.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    NoAnswer(String),
}

/// The result of one attempt to end a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "answer", rename_all = "kebab-case")
)]
pub enum EndAnswer {
    /// The broker accepted it (error code 0); for a writer's own call: it returned without error.
    Acknowledged,
    /// The broker answered with this Kafka error code.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::code"))]
    Code(i16),
    /// Sent, or perhaps sent, and not answered.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    NoAnswer(String),
    /// Provably not sent.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    NotSent(String),
}

/// What a branch's writer counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WriteReport {
    /// Records handed to the producer.
    pub sent: u64,
    /// Deliveries acknowledged by the cluster.
    pub delivered: u64,
    /// Deliveries that failed.
    pub failed: u64,
    /// Calls of send_offsets.
    pub offsets_sent: u64,
    /// Calls of send_offsets that failed.
    pub offsets_failed: u64,
    /// An application's own producer said that all it wrote was delivered, without counting.
    pub stated_delivered: bool,
    /// The producer is fenced.
    pub fenced: bool,
    /// The first error, for people.
    pub detail: Option<String>,
}

/// The answer to [`Action::Prepare`](crate::Action::Prepare).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PrepareReport {
    /// What the writer counted, once nothing is in flight any more.
    pub writes: WriteReport,
    /// The writer's own identity, where it knows it (managed slots do, own producers may not).
    pub writer: Option<ProducerIdentity>,
    /// What the broker says afterwards. `None` if it was not asked because nothing was written.
    pub inquiry: Option<Inquiry>,
    /// A partition that an own producer delivered to, and that is not among those of the transaction that the broker
    /// described. `None` also where that is not known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub strayed: Option<String>,
}

/// Whether every request that a slot's producer sent has been answered (R3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "condition", rename_all = "kebab-case")
)]
pub enum SlotCondition {
    /// Proved by the client's own witness.
    Clean,
    /// Not proved, and why.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Unproven(String),
}

/// One transactional.id that a cluster listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ListedTransaction {
    /// The transactional.id.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::decimal"))]
    pub producer_id: i64,
    /// Its state.
    pub state: BrokerState,
}

/// The answer to [`Action::List`](crate::Action::List).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Listing {
    /// All ids with the prefix asked for, in every state.
    pub transactions: Vec<ListedTransaction>,
    /// Every broker answered, and let ids of the prefix be described, before its listing and after it.
    pub complete: bool,
    /// What was missing, for people.
    pub detail: Option<String>,
}

impl BrokerState {
    /// The transaction still holds back read_committed readers, or may.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Ongoing | Self::PrepareCommit | Self::PrepareAbort | Self::PrepareEpochFence
        )
    }
}

impl VersionClass {
    /// The class's name in the log, configuration and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}
