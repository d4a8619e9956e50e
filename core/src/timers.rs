//! Everything that the core does by itself after some time, in one enum and one ordered set.

use alloc::collections::BTreeSet;

use crate::action::WaitReason;
use crate::identity::{ParticipantId, TransactionId};
use crate::rising::Rising;
use crate::time::Time;

/// What a timer is for. At most one of each is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// A transaction must be decided, or its caller be told that it is in doubt.
    Deadline(TransactionId),
    /// A branch has waited long enough for a slot.
    Enlist(TransactionId, usize),
    /// A branch is tried again.
    Branch(TransactionId, usize),
    /// Records that the log refused, and nothing can do without, are tried again.
    Records(TransactionId),
    /// The log is asked again whether it is still its owner's, for who waits to settle.
    Settling,
    /// A participant is tried again, or swept.
    Participant(ParticipantId),
    /// A slot is opened again after a failure.
    Slots(ParticipantId),
    /// Unused slots are closed.
    Idle(ParticipantId),
}

/// How many kinds of timers there are.
const KINDS: usize = 8;

impl Timer {
    const fn kind(self) -> usize {
        match self {
            Self::Deadline(_) => 0,
            Self::Enlist(..) => 1,
            Self::Branch(..) => 2,
            Self::Records(_) => 3,
            Self::Participant(_) => 4,
            Self::Slots(_) => 5,
            Self::Idle(_) => 6,
            Self::Settling => 7,
        }
    }

    pub(crate) const fn reason(self) -> WaitReason {
        match self {
            Self::Deadline(_) => WaitReason::Deadline,
            Self::Enlist(..) => WaitReason::EnlistTimeout,
            Self::Branch(..) => WaitReason::BranchRetry,
            Self::Records(_) | Self::Settling => WaitReason::LogRetry,
            Self::Participant(_) => WaitReason::Sweep,
            Self::Slots(_) => WaitReason::ParticipantRetry,
            Self::Idle(_) => WaitReason::IdleSlots,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Timers {
    order: BTreeSet<(Time, Timer)>,
    /// One map a kind: of most kinds none is set while all goes well, and none is quickly found.
    at: [Rising<Timer, Time>; KINDS],
}

impl Timers {
    /// Sets or moves a timer.
    pub(crate) fn set(&mut self, timer: Timer, at: Time) {
        match self.at[timer.kind()].insert(timer, at) {
            Some(before) if before == at => return,
            Some(before) => drop(self.order.remove(&(before, timer))),
            None => {}
        }
        self.order.insert((at, timer));
    }

    /// Sets a timer, unless it is due before.
    pub(crate) fn bring_forward(&mut self, timer: Timer, at: Time) {
        let before = self.at[timer.kind()].get(&timer);
        if before.is_none_or(|before| at < *before) {
            self.set(timer, at);
        }
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer.kind()].contains_key(&timer)
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        if let Some(at) = self.at[timer.kind()].remove(&timer) {
            self.order.remove(&(at, timer));
        }
    }

    /// Takes the next timer that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        let (at, timer) = *self.order.first()?;
        if at > now {
            return None;
        }
        self.cancel(timer);
        Some(timer)
    }

    /// The next instant at which a timer is due, and why.
    pub(crate) fn next(&self) -> Option<(Time, WaitReason)> {
        self.order.first().map(|(at, timer)| (*at, timer.reason()))
    }
}

#[cfg(feature = "explore")]
impl Timers {
    /// The timers that are set.
    pub(crate) fn all(&self) -> alloc::vec::Vec<Timer> {
        self.at.iter().flat_map(Rising::keys).copied().collect()
    }
}

#[cfg(test)]
mod tests;
