//! What can be asked at any time.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::Coordinator;
use super::state::{Branch, BranchState, SlotState, State, Transaction};
use crate::event::{
    BranchView, ForeignBranch, ParticipantStatus, Refusal, TransactionState, TransactionView,
};
use crate::identity::{Incarnation, ParticipantId, TransactionId};
use crate::ledger::{KnownOutcome, Ledger};
use crate::request::Decision;

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Counters {
    /// Transactions begun.
    pub begun: u64,
    /// Ended: committed.
    pub committed: u64,
    /// Ended: aborted.
    pub aborted: u64,
    /// Decisions to abort.
    pub aborts: u64,
    /// Ended: mixed.
    pub mixed: u64,
    /// Callers told that they are in doubt.
    pub in_doubt: u64,
    /// Heuristic branches recorded.
    pub heuristic: u64,
    /// Branches tried again.
    pub retries: u64,
    /// Enlistments that had to wait for a slot.
    pub slot_waits: u64,
    /// Slots thrown away.
    pub slots_retired: u64,
    /// Orphaned transactions aborted and fenced.
    pub orphans_fenced: u64,
    /// Unexpected fences by a stranger.
    pub fences: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// Responses that nothing waited for.
    pub late_responses: u64,
}

/// The slots of one participant, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SlotCounts {
    /// All instances, those being opened and closed too.
    pub open: usize,
    /// Ready to lease.
    pub free: usize,
    /// In use.
    pub leased: usize,
    /// Ended, and not yet proved clean and durable.
    pub settling: usize,
    /// Callers that wait for one.
    pub waiting: usize,
}

impl Coordinator {
    /// What the records say; live transactions are not in it.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The incarnation of this start.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Transactions that are not ended everywhere, or ended otherwise than decided and not forgotten.
    #[must_use]
    pub fn list(&self) -> Vec<TransactionView> {
        // Ended for its caller, only the record is on its way; a mixed one is listed without a gap.
        let live = self
            .transactions
            .iter()
            .filter(|(_, t)| !matches!(t.state, State::Recording(_)) || t.is_mixed());
        let mut views: Vec<TransactionView> = live.map(|(id, t)| t.view(*id)).collect();
        let recorded = self.ledger.list();
        views.extend(
            recorded
                .into_iter()
                .filter(|view| !self.transactions.contains_key(&view.id)),
        );
        views.sort_by_key(|view| view.id);
        views
    }

    /// One transaction, also an ended one within the retention.
    #[must_use]
    pub fn describe(&self, id: TransactionId) -> Option<TransactionView> {
        match self.transactions.get(&id) {
            Some(transaction) => Some(transaction.view(id)),
            None => self.ledger.describe(id),
        }
    }

    /// What is known of a transaction's outcome.
    #[must_use]
    pub fn outcome(&self, id: TransactionId) -> KnownOutcome {
        let Some(transaction) = self.transactions.get(&id) else {
            return self.ledger.outcome(id);
        };
        match &transaction.state {
            State::Active(_) | State::Preparing(_) => KnownOutcome::Undecided,
            State::Deciding(_) => KnownOutcome::InDoubt,
            State::Completing(_) | State::Recording(_) if transaction.is_mixed() => {
                KnownOutcome::Mixed
            }
            State::Completing(completing) if completing.decision == Decision::Commit => {
                KnownOutcome::InDoubt
            }
            State::Completing(_) | State::Recording(Decision::Abort) => KnownOutcome::Aborted,
            State::Recording(Decision::Commit) => KnownOutcome::Committed,
        }
    }

    /// The newest transaction with this application key, live or recorded.
    #[must_use]
    pub fn find_key(&self, key: &[u8]) -> Option<TransactionId> {
        let live = self.transactions.iter().rev();
        let mut live = live
            .filter(|(_, t)| t.key.as_deref() == Some(key))
            .map(|(id, _)| *id);
        live.next().or_else(|| self.ledger.find_key(key))
    }

    /// Open branches that other logs left under this coordinator's id (R12).
    #[must_use]
    pub fn foreign(&self) -> Vec<ForeignBranch> {
        self.foreign.values().cloned().collect()
    }

    /// A participant's status; `None` for an unknown one.
    #[must_use]
    pub fn participant_status(&self, p: ParticipantId) -> Option<&ParticipantStatus> {
        self.participants
            .get(usize::from(p.0))
            .map(|participant| &participant.status)
    }

    /// What callers hear of a participant that is stopped; `None` for one that is not.
    #[must_use]
    pub fn stopped_participant(&self, p: ParticipantId) -> Option<Refusal> {
        self.participants.get(usize::from(p.0))?.stopped.clone()
    }

    /// The finalised feature `transaction.version` of a participant, once it was connected.
    #[must_use]
    pub fn transaction_version(&self, p: ParticipantId) -> Option<i16> {
        let participant = self.participants.get(usize::from(p.0))?;
        participant
            .listed
            .then_some(participant.transaction_version)
    }

    /// Counts since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The slots of a participant, counted.
    #[must_use]
    pub fn slots(&self, p: ParticipantId) -> SlotCounts {
        let Some(participant) = self.participants.get(usize::from(p.0)) else {
            return SlotCounts::default();
        };
        let pool = &participant.pool;
        let count = |wanted: fn(&SlotState) -> bool| {
            pool.slots
                .values()
                .filter(|slot| wanted(&slot.state))
                .count()
        };
        SlotCounts {
            open: pool.slots.len(),
            free: pool.free.len(),
            leased: count(|state| matches!(state, SlotState::Leased(_))),
            settling: count(|state| matches!(state, SlotState::Settling { .. })),
            waiting: pool.waiters.len(),
        }
    }
}

impl Transaction {
    fn is_mixed(&self) -> bool {
        self.branches
            .iter()
            .any(|branch| matches!(branch.state, BranchState::Heuristic(..)))
    }

    fn view(&self, id: TransactionId) -> TransactionView {
        let doubtful = self
            .branches
            .iter()
            .any(|b| matches!(b.state, BranchState::InDoubt(_)));
        let (state, decision) = match &self.state {
            State::Active(_) => (TransactionState::Active, None),
            State::Preparing(_) => (TransactionState::Preparing, None),
            State::Deciding(_) => (TransactionState::Deciding, None),
            State::Completing(completing) => {
                let state = if doubtful {
                    TransactionState::InDoubt
                } else {
                    TransactionState::Completing
                };
                (state, Some(completing.decision))
            }
            State::Recording(decision) if self.is_mixed() => {
                (TransactionState::Mixed, Some(*decision))
            }
            State::Recording(decision) => (TransactionState::Ended, Some(*decision)),
        };
        TransactionView {
            id,
            key: self.key.as_ref().map(|key| key.to_vec()),
            state,
            decision,
            since_unix_ms: self.unix_ms,
            branches: self.branches.iter().map(Branch::view).collect(),
        }
    }
}

impl Branch {
    fn view(&self) -> BranchView {
        let detail = match &self.state {
            BranchState::Ending(ending) => ending.detail.clone(),
            BranchState::Heuristic(detail) | BranchState::InDoubt(detail) => Some(detail.clone()),
            _ => None,
        };
        BranchView {
            participant: self.name.to_string(),
            transactional_id: self.transactional_id.clone(),
            state: self.state.name(),
            detail,
        }
    }
}
