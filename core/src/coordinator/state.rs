//! The states of transactions, branches, slots and participants.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ending::{Ending, Ground};
use crate::event::{AbortReason, ParticipantStatus, Refusal};
use crate::evidence::TransactionDescription;
use crate::identity::{
    BranchIdentity, ParticipantId, ProducerIdentity, SlotId, TransactionId, VersionClass,
};
use crate::request::{CommitReturn, Decision};
use crate::rising::Rising;
use crate::time::Time;

/// A branch's place: its transaction and its index there.
pub(super) type BranchAt = (TransactionId, usize);

/// A global transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transaction {
    pub(super) key: Option<Arc<[u8]>>,
    pub(super) unix_ms: u64,
    pub(super) branches: Vec<Branch>,
    pub(super) state: State,
}

/// Active -> Preparing -> Deciding -> Completing -> Recording -> gone; Active and Preparing may abort.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Active(Active),
    Preparing(Preparing),
    Deciding(Preparing),
    Completing(Completing),
    /// Ended and told; its completion record is not durable yet.
    Recording(Decision),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Active {
    /// When the transaction's own time-out passes.
    pub(super) expires: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Preparing {
    pub(super) report: CommitReturn,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Completing {
    pub(super) decision: Decision,
    pub(super) ground: Ground,
    /// Why it aborts.
    pub(super) reason: AbortReason,
    /// Its caller has been told an outcome.
    pub(super) told: bool,
}

/// One branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    /// `None`: the log names a participant that is not configured any more.
    pub(super) participant: Option<ParticipantId>,
    pub(super) name: Arc<str>,
    pub(super) transactional_id: Option<Arc<str>>,
    pub(super) writer: BranchWriter,
    /// Before its first write (R14).
    pub(super) enlisted: Time,
    pub(super) state: BranchState,
    /// An `Acknowledged` record was written (R16).
    pub(super) acknowledged: bool,
    /// An own producer's identity that must not be used again (R3).
    pub(super) spent: Option<ProducerIdentity>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum BranchWriter {
    /// Not leased yet.
    Waiting,
    Slot(SlotId),
    Own(OwnWriter),
    /// Written by an earlier incarnation.
    Gone {
        own: bool,
    },
}

/// What the application told of its own producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ToldOfOwn {
    /// `None` is the newest that the cluster has.
    pub(super) class: Option<VersionClass>,
    /// `None`: it cannot tell.
    pub(super) producer: Option<ProducerIdentity>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnWriter {
    pub(super) told: ToldOfOwn,
    /// Its state when it was enlisted, and its class; `None` until then.
    pub(super) baseline: Option<(TransactionDescription, VersionClass)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum BranchState {
    /// Waits for a slot, or for an earlier branch of the same own producer.
    Leasing,
    /// An own producer's state is being asked.
    Inspecting {
        attempts: u32,
    },
    Enlisted,
    Preparing,
    Prepared(BranchIdentity),
    ReadOnly,
    /// Voted no, and what its broker said then.
    Refused(Option<TransactionDescription>),
    Ending(Box<Ending>),
    /// Its heuristic record is being written; the ending goes on if the log refuses it.
    RecordingHeuristic(Box<Ending>),
    Done,
    Heuristic(String),
    /// One-phase, and nobody can tell.
    InDoubt(String),
    /// Never took part: its enlistment was refused.
    Left,
}

impl BranchState {
    pub(super) const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Done | Self::ReadOnly | Self::Heuristic(..) | Self::InDoubt(_) | Self::Left
        )
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Leasing => "waiting for a slot",
            Self::Inspecting { .. } => "being inspected",
            Self::Enlisted => "enlisted",
            Self::Preparing => "preparing",
            Self::Prepared(_) => "prepared",
            Self::ReadOnly => "read-only",
            Self::Refused(_) => "voted no",
            Self::Ending(_) => "ending",
            Self::RecordingHeuristic(_) => "recording a heuristic outcome",
            Self::Done => "acknowledged",
            Self::Heuristic(..) => "heuristic",
            Self::InDoubt(_) => "in doubt",
            Self::Left => "not enlisted",
        }
    }
}

/// Somebody who waits until an own producer may be initialised (R5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Settling {
    pub(super) participant: ParticipantId,
    pub(super) transactional_id: Arc<str>,
    /// No branch is left, and the log is asked whether it is still its owner's.
    pub(super) proving: bool,
}

/// One slot of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) name: Arc<str>,
    pub(super) producer: Option<ProducerIdentity>,
    pub(super) state: SlotState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SlotState {
    Opening,
    Free {
        since: Time,
    },
    Leased(TransactionId),
    /// Its branch is ended; free once both are true (R3, R9).
    Settling {
        transaction: TransactionId,
        verified: bool,
        durable: bool,
    },
    Closing,
}

/// The slots of one participant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pool {
    pub(super) slots: Rising<SlotId, Slot>,
    /// In the order in which they became free: leased in rotation.
    pub(super) free: VecDeque<SlotId>,
    pub(super) waiters: VecDeque<BranchAt>,
    pub(super) next_number: u32,
    /// Numbers below this are durably known.
    pub(super) named_until: u32,
    /// A record that makes more names known is being written.
    pub(super) naming: bool,
    pub(super) failures: u32,
    pub(super) last_error: Option<String>,
}

impl Pool {
    /// How many slots are in this state.
    pub(super) fn count(&self, state: SlotState) -> usize {
        let slots = self.slots.values();
        slots.filter(|slot| slot.state == state).count()
    }
}

/// Where a participant stands in the cycle that proves its preconditions; run at the start and at every sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cycle {
    Waiting,
    Connecting,
    Binding,
    Naming,
    Looking,
    Probing,
    Listing,
}

/// One participant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Participant {
    pub(super) name: Arc<str>,
    pub(super) status: ParticipantStatus,
    /// What callers hear once it is stopped.
    pub(super) stopped: Option<Refusal>,
    pub(super) cycle: Cycle,
    pub(super) attempts: u32,
    pub(super) pool: Pool,
    /// A listing showed no name that this log never made, before this incarnation initialised one (R13).
    pub(super) looked: bool,
    /// A listing of this incarnation found nothing stale: branches may be ended by identity (R13, R17).
    pub(super) listed: bool,
    /// A listing of this incarnation was complete (R8).
    pub(super) proved: bool,
    /// A complete listing was swept and every orphan in it answered.
    pub(super) swept: bool,
    /// Orphans being fenced.
    pub(super) fencing: usize,
    /// One of them could not be.
    pub(super) unfenced: bool,
    /// Why it takes no branches, although what is open there can be ended.
    pub(super) objection: Option<String>,
    /// The discarded own producer that was asked about last.
    pub(super) asked_about: Option<Arc<str>>,
    /// Branches that wait for `listed`.
    pub(super) blocked: Vec<BranchAt>,
    pub(super) transaction_version: i16,
}

impl Participant {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            status: ParticipantStatus::Starting,
            stopped: None,
            cycle: Cycle::Waiting,
            attempts: 0,
            pool: Pool {
                next_number: 1,
                ..Pool::default()
            },
            looked: false,
            listed: false,
            proved: false,
            swept: false,
            fencing: 0,
            unfenced: false,
            objection: None,
            asked_about: None,
            blocked: Vec::new(),
            transaction_version: 0,
        }
    }

    /// Branches may be ended by their identities: it is the right cluster, and the log is not stale (R13,
    /// R17). What is only presumed needs a complete listing as well (R8).
    pub(super) fn is_ready(&self, ground: Ground) -> bool {
        match ground {
            Ground::Decided | Ground::OnePhase => self.listed,
            Ground::Presumed => self.listed && self.proved,
        }
    }

    /// What callers hear of a participant that is stopped.
    pub(super) fn stopped_refusal(&self) -> Refusal {
        let unknown = || Refusal::Unavailable(String::from("it is stopped"));
        self.stopped.clone().unwrap_or_else(unknown)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }
}
