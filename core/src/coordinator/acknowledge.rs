//! Branches that are ended while another of their transaction stays open (R16).

use alloc::vec::Vec;

use super::Coordinator;
use super::journal::Purpose;
use super::state::{Branch, BranchState, State};
use crate::action::Durability;
use crate::broken::Broken;
use crate::ending::{Ground, Step};
use crate::identity::{ParticipantId, SlotId, TransactionId};
use crate::record::Record;
use crate::request::Decision;
use crate::time::Now;

impl Coordinator {
    /// R16: when a branch stays open, those that are ended are written down: they are not looked at again
    /// after a start, and what wrote them is free without waiting for the others.
    pub(super) fn record_acknowledged(&mut self, id: TransactionId) {
        if !self.waits(id) || self.rules.lack(Broken::R16Acknowledged) {
            return;
        }
        // An enlistment that the log may still refuse must not be acknowledged before it is there.
        let Some(entry) = self.ledger.open.get(&id) else {
            return;
        };
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let State::Completing(completing) = &transaction.state else {
            return;
        };
        let decided =
            completing.decision == Decision::Commit && completing.ground == Ground::Decided;
        let mut records = Vec::new();
        let mut branches = Vec::new();
        for (index, branch) in transaction.branches.iter_mut().enumerate() {
            if branch.acknowledged || !branch.is_recorded(decided) {
                continue;
            }
            if let Some(name) = &branch.transactional_id
                && entry.names(&(branch.name.clone(), name.clone()))
            {
                records.push(Record::Acknowledged {
                    transaction: id,
                    participant: branch.name.clone(),
                    transactional_id: name.clone(),
                });
                records.extend(branch.discarded());
                branch.acknowledged = true;
                branches.push(index);
            }
        }
        if !branches.is_empty() {
            let purpose = Purpose::Acknowledged(id, branches);
            self.append_all(records.into(), Durability::Lazy, purpose);
        }
    }

    /// Whether branches may be ended there, on this ground, by their identities.
    pub(super) fn is_ready(&self, p: ParticipantId, ground: Ground) -> bool {
        let participant = &self.participants[usize::from(p.0)];
        let presumed = participant.listed && self.rules.lack(Broken::R8Presumed);
        presumed || participant.is_ready(ground)
    }

    /// Whether a branch of it cannot be ended now, and is tried again later.
    fn waits(&self, id: TransactionId) -> bool {
        self.transactions
            .get(&id)
            .is_some_and(|t| t.branches.iter().any(|branch| self.branch_waits(branch)))
    }

    pub(super) fn branch_waits(&self, branch: &Branch) -> bool {
        let BranchState::Ending(ending) = &branch.state else {
            return false;
        };
        let blocked =
            |p: ParticipantId| ending.step != Step::ByWriter && !self.is_ready(p, ending.ground);
        ending.failed > 0 || branch.participant.is_none_or(blocked)
    }

    /// What wrote these branches is free, whatever becomes of the others (R9).
    pub(super) fn acknowledged_durably(&mut self, id: TransactionId, ended: &[usize], now: Now) {
        let slots: Vec<(ParticipantId, SlotId)> =
            self.transactions.get(&id).map_or_else(Vec::new, |t| {
                let branches = ended.iter().filter_map(|index| t.branches.get(*index));
                branches.filter_map(Branch::leased).collect()
            });
        for (p, slot) in slots {
            self.slot_durable((p, slot), id, now);
        }
        self.serve_own_waiters(now);
    }

    pub(super) fn acknowledgement_refused(&mut self, id: TransactionId, ended: &[usize]) {
        if let Some(transaction) = self.transactions.get_mut(&id) {
            for index in ended {
                transaction.branches[*index].acknowledged = false;
            }
        }
    }

    /// The log had refused records of this transaction.
    pub(super) fn write_again(&mut self, id: TransactionId) {
        self.record_acknowledged(id);
        self.append_completion(id);
    }
}

impl Branch {
    /// A start would look at it again, or wait for it, unless the log says that it is ended.
    const fn is_recorded(&self, decided: bool) -> bool {
        match self.state {
            BranchState::Done => decided || self.writer.is_own(),
            BranchState::ReadOnly => self.writer.is_own(),
            _ => false,
        }
    }
}
