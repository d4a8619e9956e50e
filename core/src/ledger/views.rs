//! Unfinished transactions as operators see them.

use alloc::string::ToString;

use super::{BranchKey, HeuristicEntry, OpenEntry};
use crate::event::{BranchView, TransactionView};
use crate::identity::TransactionId;
use crate::record::DecidedBranch;

impl OpenEntry {
    pub(super) fn view(&self, id: TransactionId) -> TransactionView {
        let decided = self.branches.iter().map(|branch| self.branch_view(branch));
        let named = |key: &BranchKey| {
            self.branches.iter().any(|branch| {
                branch.participant == key.0 && branch.identity.transactional_id == key.1
            })
        };
        let own = self
            .own
            .keys()
            .filter(|key| !named(key))
            .map(|key| BranchView {
                participant: key.0.to_string(),
                transactional_id: Some(key.1.clone()),
                state: "undecided",
                detail: None,
            });
        let heuristic = self
            .heuristic
            .iter()
            .filter(|(key, _)| !named(key) && !self.own.contains_key(*key));
        let heuristic = heuristic.map(|(key, entry)| heuristic_view(key, entry));
        TransactionView {
            id,
            key: self.key.as_ref().map(|key| key.to_vec()),
            state: self.state(),
            decision: self.decision,
            since_unix_ms: self.unix_ms,
            branches: decided.chain(own).chain(heuristic).collect(),
        }
    }

    fn branch_view(&self, branch: &DecidedBranch) -> BranchView {
        let key = (
            branch.participant.clone(),
            branch.identity.transactional_id.clone(),
        );
        if let Some(heuristic) = self.heuristic.get(&key) {
            return heuristic_view(&key, heuristic);
        }
        let done = self.completed || self.acknowledged.contains(&key);
        BranchView {
            participant: key.0.to_string(),
            transactional_id: Some(key.1),
            state: if done {
                "acknowledged"
            } else {
                "unacknowledged"
            },
            detail: None,
        }
    }
}

fn heuristic_view(key: &BranchKey, entry: &HeuristicEntry) -> BranchView {
    BranchView {
        participant: key.0.to_string(),
        transactional_id: Some(key.1.clone()),
        state: entry.kind.as_str(),
        detail: Some(entry.detail.to_string()),
    }
}
