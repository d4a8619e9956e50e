//! What the core asks the driver to do.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::event::Event;
use crate::identity::{ActionId, BranchIdentity, ParticipantId, SlotId, TransactionId};
use crate::record::Record;
use crate::request::Decision;
use crate::time::Time;

/// When an appended record must be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Durability {
    /// At once: something waits for it.
    Forced,
    /// With the next forced write, or after 50 ms.
    Lazy,
}

/// Who writes a branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "writer", rename_all = "kebab-case")
)]
pub enum Writer {
    /// A managed producer of the pool.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::slot"))]
    Slot(SlotId),
    /// The application's own producer with this transactional.id.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::own"))]
    Own(Arc<str>),
}

/// One thing to do. The answering response is named with each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "action", rename_all = "kebab-case")
)]
pub enum Action {
    /// Append records, in the order of the actions. `Appended` when durable, or `AppendFailed`. Without a record it is only
    /// asked whether the log still has this owner, and whether all earlier ones are durable.
    Append {
        /// The records; the core keeps them as well, until they are durable.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::records"))]
        records: Arc<[Record]>,
        /// When they must be durable.
        durability: Durability,
    },
    /// Replace all that the log holds so far by this snapshot. `Appended` or `AppendFailed`.
    Checkpoint {
        /// Records that lead to the same state.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::records"))]
        snapshot: Vec<Record>,
    },
    /// Connect to the cluster and learn who it is. `Connected` or `ConnectFailed`.
    Connect {
        /// The participant.
        participant: ParticipantId,
    },
    /// Make a producer instance under this new name and initialise it. `SlotOpened` or `SlotFailed`.
    OpenSlot {
        /// The participant.
        participant: ParticipantId,
        /// The slot.
        slot: SlotId,
        /// Its transactional.id.
        transactional_id: Arc<str>,
        /// `transaction.timeout.ms`.
        timeout_ms: i32,
    },
    /// Find out whether every request of the slot's last transaction was answered, and no delivery of it
    /// failed. `SlotVerified`.
    VerifySlot {
        /// The participant.
        participant: ParticipantId,
        /// The slot.
        slot: SlotId,
    },
    /// Throw the slot's instance away; its name is never used again. `SlotClosed`.
    CloseSlot {
        /// The participant.
        participant: ParticipantId,
        /// The slot.
        slot: SlotId,
    },
    /// Wait until the branch's writer has nothing in flight, then describe it. `Prepared`.
    Prepare {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The writer.
        writer: Writer,
        /// The transactional.id to describe, if anything was written.
        transactional_id: Arc<str>,
    },
    /// End the branch by the managed producer's own call. `Ended`.
    EndByWriter {
        /// The global transaction.
        transaction: TransactionId,
        /// The participant.
        participant: ParticipantId,
        /// The slot.
        slot: SlotId,
        /// How.
        decision: Decision,
    },
    /// One attempt of EndTxn by the control client, of the branch's version class. `Ended`.
    EndTransaction {
        /// The participant.
        participant: ParticipantId,
        /// The branch.
        branch: BranchIdentity,
        /// How.
        decision: Decision,
    },
    /// Describe a transactional.id. `Inquired`.
    Inquire {
        /// The participant.
        participant: ParticipantId,
        /// The transactional.id.
        transactional_id: Arc<str>,
    },
    /// One attempt of InitProducerId: aborts what is open under an orphaned name and fences it. `Ended`.
    Fence {
        /// The participant.
        participant: ParticipantId,
        /// The transactional.id.
        transactional_id: Arc<str>,
        /// The transaction time-out to initialise it with (R15).
        timeout_ms: i32,
    },
    /// List all transactions whose id begins with a prefix, of every broker, in every state. `Listed`.
    List {
        /// The participant.
        participant: ParticipantId,
        /// The prefix.
        prefix: String,
    },
}

impl Action {
    /// The action's name in traces, metrics and crash points.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Append { .. } => "append",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Connect { .. } => "connect",
            Self::OpenSlot { .. } => "open-slot",
            Self::VerifySlot { .. } => "verify-slot",
            Self::CloseSlot { .. } => "close-slot",
            Self::Prepare { .. } => "prepare",
            Self::EndByWriter { .. } => "end-by-writer",
            Self::EndTransaction { .. } => "end-transaction",
            Self::Inquire { .. } => "inquire",
            Self::Fence { .. } => "fence",
            Self::List { .. } => "list",
        }
    }

    /// The participant that it concerns; `None` for the log.
    #[must_use]
    pub const fn participant(&self) -> Option<ParticipantId> {
        match self {
            Self::Append { .. } | Self::Checkpoint { .. } => None,
            Self::Connect { participant }
            | Self::OpenSlot { participant, .. }
            | Self::VerifySlot { participant, .. }
            | Self::CloseSlot { participant, .. }
            | Self::Prepare { participant, .. }
            | Self::EndByWriter { participant, .. }
            | Self::EndTransaction { participant, .. }
            | Self::Inquire { participant, .. }
            | Self::Fence { participant, .. }
            | Self::List { participant, .. } => Some(*participant),
        }
    }
}

/// Why the core waits until an instant: the timer that fires first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum WaitReason {
    /// Only a request or a response can change anything.
    Input,
    /// A transaction must be decided before this.
    Deadline,
    /// A caller waits for a slot only this long.
    EnlistTimeout,
    /// A branch is tried again.
    BranchRetry,
    /// A participant is tried again.
    ParticipantRetry,
    /// Open transactions are listed again.
    Sweep,
    /// Unused slots are closed.
    IdleSlots,
    /// A lazy record that was refused is tried again.
    LogRetry,
}

/// One output of the core.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Do this.
    Action(ActionId, Action),
    /// Tell this.
    Event(Event),
    /// Drained. Call `handle_timeout` at this instant if nothing happens before; `None`: never.
    Wait(Option<Time>, WaitReason),
}
