//! Aborting a transaction that is not decided, and the deadlines that lead to it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Coordinator;
use super::state::{Branch, BranchAt, BranchState, BranchWriter, Completing, State, Transaction};
use crate::broken::{Broken, Rules};
use crate::config::Config;
use crate::ending::{Ending, Ground, Step};
use crate::event::{AbortReason, Event, Outcome, Refusal};
use crate::identity::{
    BranchIdentity, ParticipantId, ProducerIdentity, TransactionId, VersionClass,
};
use crate::request::{Accepted, Decision};
use crate::time::{Now, Time};
use crate::timers::Timer;

impl Coordinator {
    pub(super) fn abort(
        &mut self,
        id: TransactionId,
        reason: String,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let transaction = self
            .transactions
            .get(&id)
            .ok_or(Refusal::UnknownTransaction(id))?;
        match &transaction.state {
            State::Active(_) | State::Preparing(_) => {
                self.ask_own_producers(id);
                self.begin_abort(id, AbortReason::Requested(reason), now);
                Ok(Accepted::Pending)
            }
            State::Deciding(_) if self.rules.lack(Broken::DecisionReversed) => {
                self.begin_abort(id, AbortReason::Requested(reason), now);
                Ok(Accepted::Pending)
            }
            State::Completing(completing) if completing.decision == Decision::Abort => {
                Ok(Accepted::Pending)
            }
            state => Err(Refusal::InvalidState(alloc::format!(
                "{id} is {}: it can no longer be aborted",
                state.name()
            ))),
        }
    }

    /// Whoever asks to abort writes no more, so that an own producer's vote tells what became of all that it wrote:
    /// only that proves that the producer may go on (R3).
    fn ask_own_producers(&mut self, id: TransactionId) {
        if self.rules.lack(Broken::R3Unasked) {
            return;
        }
        let branches = self.transactions.get(&id).map(|t| t.branches.iter());
        let own = branches.into_iter().flatten().enumerate();
        let own: Vec<usize> = own
            .filter(|(_, branch)| branch.writer.is_own())
            .map(|(index, _)| index)
            .collect();
        for index in own {
            self.prepare((id, index));
        }
    }

    /// Aborts a transaction that is not decided, or whose decision was provably not written.
    pub(super) fn begin_abort(&mut self, id: TransactionId, reason: AbortReason, now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        if matches!(
            transaction.state,
            State::Completing(_) | State::Recording(_)
        ) {
            return;
        }
        self.counters.aborts += 1;
        transaction.state = State::Completing(Completing {
            decision: Decision::Abort,
            ground: Ground::Decided,
            reason,
            told: false,
        });
        let count = transaction.branches.len();
        let at = now.monotonic + self.config.limits.report_timeout;
        self.timers.set(Timer::Deadline(id), at);
        for index in 0..count {
            self.abort_branch((id, index), now);
        }
        self.serve_own_waiters(now);
        self.finish_if_complete(id, now);
    }

    /// Begins to abort one branch, unless its prepare is still under way: that comes first.
    pub(super) fn abort_branch(&mut self, at: BranchAt, now: Now) {
        let (id, index) = at;
        let producer = self.slot_producer(at);
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branch = &mut transaction.branches[index];
        let spoiled = branch.leaves_doubt(self.rules);
        let mut seen = None;
        let identity = match &branch.state {
            BranchState::Leasing | BranchState::Inspecting { .. } => {
                let participant = branch.participant;
                return self.leave(at, participant);
            }
            BranchState::Enlisted => None,
            BranchState::Refused(said) => {
                seen = *said;
                None
            }
            BranchState::Prepared(identity) => Some(identity.clone()),
            _ => return,
        };
        let Some(ending) = branch.abort_ending(identity) else {
            return;
        };
        let mut ending = ending.written_by(producer).spoiled_if(spoiled);
        ending.rules = self.rules;
        // What ends a branch can be hidden by whoever initialises its producer after the vote.
        let proved = seen.and_then(|found| ending.proved_by(&found));
        branch.state = BranchState::Ending(ending.into());
        match proved {
            Some(verdict) => self.follow(at, verdict, now),
            None => self.run_step(at, now),
        }
    }

    /// The producer of the slot that a branch is written through.
    fn slot_producer(&self, (id, index): BranchAt) -> Option<ProducerIdentity> {
        let branch = self.transactions.get(&id)?.branches.get(index)?;
        let BranchWriter::Slot(slot) = branch.writer else {
            return None;
        };
        let pool = &self.participants[usize::from(branch.participant?.0)].pool;
        pool.slots.get(&slot)?.producer
    }

    fn leave(&mut self, at: BranchAt, participant: Option<ParticipantId>) {
        if let Some(p) = participant {
            self.participant_mut(p)
                .pool
                .waiters
                .retain(|waiter| *waiter != at);
        }
        self.own_waiters.retain(|waiter| *waiter != at);
        let reason = "its transaction was aborted".to_string();
        self.refuse_enlistment(at, Refusal::InvalidState(reason));
    }

    /// The transaction was asked to commit within its own time-out: only what its branches can be promised
    /// for counts from now on.
    pub(super) fn lift_expiry(&mut self, id: TransactionId) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let branches = transaction.branches.iter();
        let until = branches.filter_map(|branch| branch.writable_until(&self.config));
        match until.min() {
            Some(at) => self.timers.set(Timer::Deadline(id), at),
            None => self.timers.cancel(Timer::Deadline(id)),
        }
    }

    pub(super) fn deadline_passed(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        match &mut transaction.state {
            State::Active(active) if active.expires.is_some_and(|at| at <= now.monotonic) => {
                self.begin_abort(id, AbortReason::TimedOut, now);
            }
            State::Preparing(_) if self.rules.lack(Broken::R14Deadline) => {}
            State::Active(_) | State::Preparing(_) => {
                let participant = transaction.branches.first().map(|b| b.name.to_string());
                let participant = self
                    .nearest_participant(id)
                    .or(participant)
                    .unwrap_or_default();
                self.begin_abort(id, AbortReason::DeadlinePassed { participant }, now);
            }
            // The append under way decides.
            State::Deciding(_) | State::Recording(_) => {}
            State::Completing(completing) if !completing.told => {
                completing.told = true;
                let detail = transaction.unfinished_detail();
                self.counters.in_doubt += 1;
                let outcome = if self.rules.lack(Broken::DoubtAborted) {
                    Outcome::Aborted(AbortReason::TimedOut)
                } else {
                    Outcome::InDoubt(detail)
                };
                self.tell(Event::Ended {
                    transaction: id,
                    outcome,
                });
            }
            State::Completing(_) => {}
        }
    }

    fn nearest_participant(&self, id: TransactionId) -> Option<String> {
        let branches = &self.transactions.get(&id)?.branches;
        let nearest = branches.iter().filter_map(|branch| {
            let until = branch.writable_until(&self.config)?;
            Some((until, &branch.name))
        });
        nearest.min().map(|(_, name)| name.to_string())
    }
}

impl Transaction {
    /// Which branches are not ended, and why, for people.
    fn unfinished_detail(&self) -> String {
        let mut text = String::from("not acknowledged yet:");
        for branch in self
            .branches
            .iter()
            .filter(|branch| !branch.state.is_final())
        {
            let why = match &branch.state {
                BranchState::Ending(ending) => ending.detail.as_deref(),
                _ => None,
            };
            text.push(' ');
            text.push_str(&branch.name);
            text.push_str(" (");
            text.push_str(why.unwrap_or(branch.state.name()));
            text.push(')');
        }
        text
    }
}

impl Branch {
    /// Whether a request of its writer, about which nobody knows, may still be under way as it is aborted (R3): a no may come
    /// from a failed delivery, a time-out or a fence, and of what an own producer wrote only its vote tells.
    fn leaves_doubt(&self, rules: Rules) -> bool {
        match self.state {
            BranchState::Refused(_) => !rules.lack(Broken::R3FailedDelivery),
            BranchState::Enlisted => self.writer.is_own() && !rules.lack(Broken::R3Unasked),
            _ => false,
        }
    }

    /// When its undecided transaction is aborted at the latest: it cannot be promised for longer.
    pub(super) fn writable_until(&self, config: &Config) -> Option<Time> {
        let timeout_ms = match &self.writer {
            BranchWriter::Slot(_) => {
                let participant = usize::from(self.participant?.0);
                config.participants[participant].timeout_ms
            }
            BranchWriter::Own(own) => own.baseline.as_ref()?.0.timeout_ms,
            BranchWriter::Waiting | BranchWriter::Gone { .. } => return None,
        };
        self.promised_until(config, timeout_ms)
    }

    fn abort_ending(&self, identity: Option<BranchIdentity>) -> Option<Ending> {
        let step = match self.writer {
            BranchWriter::Slot(_) => Step::ByWriter,
            _ => Step::Inquire,
        };
        let ending = if let Some(identity) = identity {
            Ending::identified(Decision::Abort, Ground::Decided, identity)
        } else if let Some((identity, before_ms)) = self.unprepared_identity() {
            Ending::identified(Decision::Abort, Ground::Decided, identity).after(before_ms)
        } else {
            let name = self.transactional_id.clone()?;
            Ending::unidentified(Ground::Decided, VersionClass::V1, name)
        };
        Some(ending.of_own(self.writer.is_own()).starting_with(step))
    }
}
