//! Unfinished transactions as operators see them.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::{BranchKey, OpenEntry};
use crate::event::{BranchView, TransactionView};
use crate::identity::TransactionId;
use crate::record::DecidedBranch;

impl OpenEntry {
    pub(super) fn view(&self, id: TransactionId) -> TransactionView {
        let decided = self.branches.iter().map(DecidedBranch::key);
        let undecided = self.own.keys().cloned();
        let heuristic = self.heuristic.keys().cloned();
        let mut keys: Vec<BranchKey> = Vec::new();
        for key in decided.chain(undecided).chain(heuristic) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        TransactionView {
            id,
            key: self.key.as_ref().map(|key| key.to_vec()),
            state: self.state(),
            decision: self.decision,
            since_unix_ms: self.unix_ms,
            branches: keys.iter().map(|key| self.branch_view(key)).collect(),
        }
    }

    /// What the records say last of a branch, whichever of them made it known.
    fn branch_view(&self, key: &BranchKey) -> BranchView {
        let heuristic = self.heuristic.get(key);
        let state = match heuristic {
            Some(entry) => entry.kind.as_str(),
            None if self.was_left_out(key) => "read-only",
            None if self.completed || self.acknowledged.contains(key) => "acknowledged",
            None if self.decision.is_none() => "undecided",
            None => "unacknowledged",
        };
        BranchView {
            participant: key.0.to_string(),
            transactional_id: Some(key.1.clone()),
            state,
            detail: heuristic.map(|entry| entry.detail.to_string()),
        }
    }
}
