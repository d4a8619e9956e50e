//! What callers wait for: the progress of each transaction, and of the coordinator.

use std::sync::Arc;

use gtc_core::{Outcome, ParticipantId, ParticipantStatus, Refusal, Reuse, SlotId, StopReason};

use crate::arguments::Flaw;

/// What may take part for a participant: a slot (`None`), or an own producer by its transactional.id.
pub(crate) type BranchKey = (ParticipantId, Option<Arc<str>>);

/// How far the enlisting of a participant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Enlistment {
    /// Asked for.
    Waiting,
    /// Granted; an own producer has no slot.
    Ready(Option<SlotId>),
    /// Refused; it may be asked for again.
    Refused(Refusal),
}

/// What has become of a transaction so far, as its caller sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    branches: Vec<(BranchKey, Enlistment)>,
    released: Vec<(BranchKey, Reuse)>,
    pub(crate) decided: bool,
    /// What a participant refuses for good, of what was written.
    pub(crate) never_accepted: Option<Flaw>,
    pub(crate) outcome: Option<Outcome>,
}

impl Progress {
    pub(crate) fn branch(&self, key: &BranchKey) -> Option<&Enlistment> {
        self.branches
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, state)| state)
    }

    pub(crate) fn set_branch(&mut self, key: BranchKey, state: Enlistment) {
        self.branches.retain(|(known, _)| *known != key);
        self.branches.push((key, state));
    }

    /// Whether an own producer may go on, once its branch has ended.
    pub(crate) fn released(&self, key: &BranchKey) -> Option<Reuse> {
        let found = self.released.iter().find(|(known, _)| known == key);
        found.map(|(_, reuse)| *reuse)
    }

    pub(crate) fn release(&mut self, key: BranchKey, reuse: Reuse) {
        self.released.push((key, reuse));
    }

    /// Whether nothing more comes. After an outcome in doubt own producers' branches still end.
    pub(crate) fn is_told(&self) -> bool {
        let is_ended = |(key, state): &(BranchKey, Enlistment)| {
            let is_own = key.1.is_some() && matches!(state, Enlistment::Ready(_));
            !is_own || self.released(key).is_some()
        };
        match &self.outcome {
            None => false,
            Some(Outcome::InDoubt(_)) => self.branches.iter().all(is_ended),
            Some(_) => true,
        }
    }
}

/// The state of the coordinator as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) started: bool,
    pub(crate) recovered: bool,
    pub(crate) drained: bool,
    pub(crate) stopped: Option<StopReason>,
    pub(crate) participants: Vec<ParticipantStatus>,
}

impl Standing {
    pub(crate) fn new(participants: usize) -> Self {
        Self {
            started: false,
            recovered: false,
            drained: false,
            stopped: None,
            participants: vec![ParticipantStatus::Starting; participants],
        }
    }
}
