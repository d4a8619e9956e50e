//! What the driver answers to actions.

use alloc::string::String;

use crate::evidence::{EndAnswer, Inquiry, Listing, PrepareReport, SlotCondition};
use crate::identity::ProducerIdentity;

/// Why an append did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "failure", rename_all = "kebab-case")
)]
pub enum AppendFailure {
    /// Provably nothing was written (no space): the record does not exist.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Refused(String),
    /// It may or may not be durable (R11).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Unknown(String),
    /// Another owner has fenced this log (R10).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    Fenced(String),
}

/// Why a slot did not open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SlotFailure {
    /// The time-out asked for is above the cluster's ceiling.
    pub timeout_above_ceiling: bool,
    /// What happened, for people.
    pub detail: String,
}

/// The answer to [`Action::Connect`](crate::Action::Connect).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ConnectReport {
    /// The cluster.id.
    pub cluster_id: String,
    /// The finalised feature `transaction.version`; 0 where there is none.
    pub transaction_version: i16,
    /// `transaction.max.timeout.ms`, if the cluster told.
    pub timeout_ceiling_ms: Option<i64>,
}

/// A response; its [`ActionId`](crate::ActionId) says to which action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "response", rename_all = "kebab-case")
)]
pub enum Response {
    /// `Append`, `Checkpoint`: durable.
    Appended,
    /// `Append`, `Checkpoint`: not durable, or not known to be.
    AppendFailed(AppendFailure),
    /// `Connect`: the cluster answered.
    Connected(ConnectReport),
    /// `Connect`: it did not, and why.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::detail"))]
    ConnectFailed(String),
    /// `OpenSlot`: the producer is initialised.
    SlotOpened {
        /// Its identity.
        producer: ProducerIdentity,
        /// Whether the initialisation was answered at the first attempt (R6).
        condition: SlotCondition,
    },
    /// `OpenSlot`: it is not, or not known to be; the driver has thrown the instance away.
    SlotFailed(SlotFailure),
    /// `VerifySlot`.
    SlotVerified(SlotCondition),
    /// `CloseSlot`: the instance is gone.
    SlotClosed,
    /// `Prepare`.
    Prepared(PrepareReport),
    /// `EndByWriter`, `EndTransaction`, `Fence`.
    Ended(EndAnswer),
    /// `Inquire`.
    Inquired(Inquiry),
    /// `List`.
    Listed(Listing),
}
