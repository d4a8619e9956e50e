//! For searches that visit every state: states that behave alike are made equal.

mod parts;

pub use parts::Part;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::state::{BranchState, SlotState};
use super::{Coordinator, Pending};
use crate::action::WaitReason;
use crate::backoff::Jitter;
use crate::ending::Ending;
use crate::identity::{ActionId, Incarnation};
use crate::ledger::Ledger;
use crate::time::{Now, Time};
use crate::timers::Timer;

/// Attempts of EndTxn are told apart up to this number: none, one, more (R3).
const SENT_MAX: u32 = 2;

/// Where every timer that is set stands: `fire` says which of them come first.
const LATER: Duration = Duration::from_secs(3600);

impl Coordinator {
    /// Makes states equal that can no longer be told apart by what follows from them, in a world whose clock
    /// stands at `now` and whose timers are fired by [`fire`](Self::fire). Counters, jitter, texts for people
    /// and all instants are levelled, and the actions under way are numbered from 1.
    ///
    /// Returns the old and the new number of every action under way. Drain the outputs before.
    #[must_use]
    pub fn level(&mut self, now: Now) -> BTreeMap<ActionId, ActionId> {
        self.counters = super::Counters::default();
        self.jitter = Jitter::new(self.config.seed);
        self.level_transactions(now.monotonic);
        self.level_participants(now.monotonic);
        for timer in self.timers.all() {
            self.timers.set(timer, now.monotonic + LATER);
        }
        self.journal.level();
        self.number_actions()
    }

    fn level_transactions(&mut self, now: Time) {
        let branches = self.transactions.values_mut().flat_map(|t| &mut t.branches);
        for branch in branches {
            branch.enlisted = now;
            match &mut branch.state {
                BranchState::Ending(ending) | BranchState::RecordingHeuristic(ending) => {
                    ending.level();
                }
                BranchState::Inspecting { attempts } => *attempts = 0,
                _ => {}
            }
        }
    }

    fn level_participants(&mut self, now: Time) {
        for participant in &mut self.participants {
            participant.attempts = participant.attempts.min(1);
            participant.pool.failures = 0;
            participant.pool.last_error = None;
            for slot in participant.pool.slots.values_mut() {
                if let SlotState::Free { since } = &mut slot.state {
                    *since = now;
                }
            }
        }
    }

    /// Numbers what is under way by what it is for, whatever the order in which it began; appends keep
    /// theirs, which is the log's.
    fn number_actions(&mut self) -> BTreeMap<ActionId, ActionId> {
        let mut pending: Vec<(ActionId, Pending)> =
            core::mem::take(&mut self.pending).into_iter().collect();
        pending.sort_by_cached_key(|(_, pending)| match pending {
            Pending::Append(_) => String::new(),
            other => format!("{other:?}"),
        });
        let mut numbers = BTreeMap::new();
        for (index, (before, pending)) in pending.into_iter().enumerate() {
            let after = ActionId(index as u64 + 1);
            numbers.insert(before, after);
            let pending = match pending {
                Pending::Append(_) => Pending::Append(after),
                other => other,
            };
            self.pending.insert(after, pending);
        }
        self.next_action = numbers.len() as u64 + 1;
        self.journal.number(&numbers);
        numbers
    }

    /// What the timers that are set are about, each once.
    #[must_use]
    pub fn due(&self) -> BTreeSet<WaitReason> {
        let timers = self.timers.all().into_iter();
        timers.map(|timer| self.reason(timer)).collect()
    }

    /// Lets the timers of one kind fire, as if their time had come and that of the others had not. Only
    /// after [`level`](Self::level).
    pub fn fire(&mut self, reason: WaitReason, now: Now) {
        for timer in self.timers.all() {
            if self.reason(timer) == reason {
                self.timers.set(timer, now.monotonic);
            }
        }
        self.handle_timeout(now);
    }

    /// A participant that could not be used is tried again, any other is swept.
    fn reason(&self, timer: Timer) -> WaitReason {
        match timer {
            Timer::Participant(p) if self.participants[usize::from(p.0)].attempts > 0 => {
                WaitReason::ParticipantRetry
            }
            other => other.reason(),
        }
    }
}

impl Ledger {
    /// Names of this participant were made known by this incarnation: it may initialise its probe.
    #[must_use]
    pub fn has_named(&self, participant: &str, incarnation: Incarnation) -> bool {
        self.names.contains_key(&(participant.into(), incarnation))
    }
}

impl Ending {
    fn level(&mut self) {
        self.failed = self.failed.min(1);
        self.sent = self.sent.min(SENT_MAX);
        self.detail = None;
    }
}
