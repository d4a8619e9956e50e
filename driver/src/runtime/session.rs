//! What callers wait for: the progress of each transaction, and of the coordinator.

use gtc_core::{Outcome, ParticipantId, ParticipantStatus, Refusal, Reuse, SlotId, StopReason};

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
    branches: Vec<(ParticipantId, Enlistment)>,
    pub(crate) released: Vec<(ParticipantId, Reuse)>,
    pub(crate) decided: bool,
    pub(crate) outcome: Option<Outcome>,
}

impl Progress {
    pub(crate) fn branch(&self, participant: ParticipantId) -> Option<&Enlistment> {
        self.branches
            .iter()
            .find(|(name, _)| *name == participant)
            .map(|(_, state)| state)
    }

    pub(crate) fn set_branch(&mut self, participant: ParticipantId, state: Enlistment) {
        self.branches.retain(|(name, _)| *name != participant);
        self.branches.push((participant, state));
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
