//! The invariants that a single state can show, checked after every step in debug builds.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use super::state::{BranchState, BranchWriter, SlotState, State};
use super::{Coordinator, Phase};
use crate::ending::Ground;
use crate::identity::{ParticipantId, SlotId};
use crate::request::Decision;

impl Coordinator {
    #[inline]
    pub(super) fn after_step(&mut self) {
        if matches!(self.phase, Phase::Closing { drained: false }) {
            self.check_drained();
        }
        self.debug_validate();
    }

    fn debug_validate(&self) {
        if cfg!(debug_assertions)
            && self.rules.are_whole()
            && let Err(broken) = self.validate()
        {
            // A broken invariant in a debug build is a fault of this crate and must not go on.
            debug_assert!(false, "invariant broken: {broken}");
        }
    }

    /// Checks every invariant of design section 8 that one state can show.
    ///
    /// # Errors
    /// The name of the first one that is broken, and where.
    pub fn validate(&self) -> Result<(), String> {
        self.decision_durable_before_any_branch_commits()?;
        self.commit_only_if_all_voted_yes()?;
        self.one_transaction_a_slot()?;
        self.free_slots_are_free()?;
        self.limits_hold()
    }

    fn decision_durable_before_any_branch_commits(&self) -> Result<(), String> {
        for (id, transaction) in self.transactions.iter() {
            let State::Completing(completing) = &transaction.state else {
                continue;
            };
            let decided =
                completing.decision == Decision::Commit && completing.ground == Ground::Decided;
            let durable = self
                .ledger
                .open
                .get(id)
                .is_some_and(|entry| entry.decision.is_some());
            if decided && !durable {
                return Err(format!("{id} commits without a durable decision"));
            }
        }
        Ok(())
    }

    fn commit_only_if_all_voted_yes(&self) -> Result<(), String> {
        for (id, transaction) in self.transactions.iter() {
            let commits = match &transaction.state {
                State::Completing(completing) => completing.decision == Decision::Commit,
                State::Deciding(_) => true,
                _ => false,
            };
            let objects = transaction.branches.iter().any(|branch| {
                matches!(
                    branch.state,
                    BranchState::Refused(_)
                        | BranchState::Preparing
                        | BranchState::Enlisted
                        | BranchState::Leasing
                        | BranchState::Inspecting { .. }
                )
            });
            if commits && objects {
                return Err(format!("{id} commits without the yes of every branch"));
            }
        }
        Ok(())
    }

    fn one_transaction_a_slot(&self) -> Result<(), String> {
        let mut seen: BTreeSet<(ParticipantId, SlotId)> = BTreeSet::new();
        for (id, transaction) in self.transactions.iter() {
            for branch in transaction.branches.iter().filter(|b| !b.state.is_final()) {
                let (Some(p), BranchWriter::Slot(slot)) = (branch.participant, &branch.writer)
                else {
                    continue;
                };
                if !seen.insert((p, *slot)) {
                    return Err(format!(
                        "slot {slot:?} of {} is used twice, by {id}",
                        branch.name
                    ));
                }
                let state = self.participants[usize::from(p.0)].pool.slots.get(slot);
                let recording = matches!(branch.state, BranchState::RecordingHeuristic(_));
                let leased = state.is_some_and(|slot| slot.state == SlotState::Leased(*id));
                if !leased && !recording {
                    return Err(format!(
                        "slot {slot:?} of {} is not leased to {id}",
                        branch.name
                    ));
                }
            }
        }
        Ok(())
    }

    fn free_slots_are_free(&self) -> Result<(), String> {
        for participant in &self.participants {
            let pool = &participant.pool;
            for (id, slot) in pool.slots.iter() {
                let free = matches!(slot.state, SlotState::Free { .. });
                if free != pool.free.contains(id) {
                    return Err(format!(
                        "slot {id:?} of {} is free in one place only",
                        participant.name
                    ));
                }
            }
        }
        Ok(())
    }

    fn limits_hold(&self) -> Result<(), String> {
        for (index, participant) in self.participants.iter().enumerate() {
            let slots_max = self.config.participants[index].slots_max as usize;
            if participant.pool.slots.len() > 2 * slots_max {
                return Err(format!(
                    "{} has more slots than twice its pool",
                    participant.name
                ));
            }
        }
        let begun = self
            .transactions
            .len()
            .saturating_sub(self.recovering.len());
        if begun > self.config.limits.transactions_max {
            return Err(format!("{begun} transactions are open"));
        }
        Ok(())
    }
}
