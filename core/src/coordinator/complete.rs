//! After the decision: every branch is ended, for as long as it takes, and then the transaction.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::journal::Purpose;
use super::start::FENCE_TIMEOUT_MS;
use super::state::{Branch, BranchAt, BranchState, BranchWriter, Completing, State};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::ending::{Ending, Ground, Step, Verdict};
use crate::event::{AbortReason, Event, HeuristicBranch, HeuristicKind, Outcome, Refusal, Reuse};
use crate::evidence::{EndAnswer, Inquiry};
use crate::identity::{ParticipantId, SlotId, TransactionId};
use crate::ledger::OpenEntry;
use crate::record::Record;
use crate::request::Decision;
use crate::time::Now;
use crate::timers::Timer;

impl Coordinator {
    pub(super) fn set_branch(&mut self, (id, index): BranchAt, state: BranchState) {
        if let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.branches[index].state = state;
        }
    }

    pub(super) fn branch_mut(&mut self, (id, index): BranchAt) -> Option<&mut Branch> {
        self.transactions.get_mut(&id)?.branches.get_mut(index)
    }

    pub(super) fn branch(&self, (id, index): BranchAt) -> Option<&Branch> {
        self.transactions.get(&id)?.branches.get(index)
    }

    /// Does the step at which a branch stands.
    pub(super) fn run_step(&mut self, at: BranchAt, _now: Now) {
        let (id, _) = at;
        let Some(branch) = self.branch(at) else {
            return;
        };
        let ending = match &branch.state {
            BranchState::Ending(ending) => ending,
            BranchState::Inspecting { .. } => return self.inspect_again(at),
            _ => return,
        };
        // A participant that is not configured any more: the transaction stays listed.
        let Some(p) = branch.participant else { return };
        let step = ending.step;
        if step == Step::ByWriter {
            let BranchWriter::Slot(slot) = branch.writer else {
                return;
            };
            let decision = ending.decision;
            let action = Action::EndByWriter {
                transaction: id,
                participant: p,
                slot,
                decision,
            };
            return self.act(action, Pending::EndBranch(at));
        }
        if !self.is_ready(p, ending.ground) {
            return self.participant_mut(p).blocked.push(at);
        }
        let init = branch.writer == (BranchWriter::Gone { own: true })
            && ending.ground == Ground::Presumed
            && self.rules.lack(Broken::R5Init);
        if init {
            let action = Action::Fence {
                participant: p,
                transactional_id: ending.transactional_id().clone(),
                timeout_ms: FENCE_TIMEOUT_MS,
            };
            self.set_step(at, Step::Send);
            return self.act(action, Pending::EndBranch(at));
        }
        let Some(action) = step_action(p, ending) else {
            return;
        };
        let pending = match step {
            Step::ByWriter | Step::Send => Pending::EndBranch(at),
            Step::Inquire | Step::Confirm => Pending::InquireBranch(at),
        };
        self.act(action, pending);
    }

    pub(super) fn branch_answered(&mut self, at: BranchAt, answer: &EndAnswer, now: Now) {
        if let Some(verdict) = self
            .ending_mut(at)
            .map(|ending| ending.on_end_answer(answer))
        {
            self.follow(at, verdict, now);
        }
    }

    pub(super) fn branch_inquired(&mut self, at: BranchAt, inquiry: &Inquiry, now: Now) {
        let Some(ending) = self.ending_mut(at) else {
            return;
        };
        let verdict = ending.on_inquiry(inquiry);
        let stranger = ending.stranger;
        if stranger {
            self.slot_was_taken_over(at);
        }
        self.follow(at, verdict, now);
    }

    /// A slot's name is nobody else's: who initialised it may do so with the others as well (R7).
    fn slot_was_taken_over(&mut self, at: BranchAt) {
        let Some(branch) = self.branch(at) else {
            return;
        };
        if let (Some(p), false, Some(name)) = (
            branch.participant,
            branch.writer.is_own(),
            branch.transactional_id.clone(),
        ) {
            self.counters.fences += 1;
            let why = format!("another process initialised its slot {name}");
            self.stop_participant(p, Refusal::Fenced, why);
        }
    }

    fn ending_mut(&mut self, (id, index): BranchAt) -> Option<&mut Ending> {
        let rules = self.rules;
        let ending = match &mut self
            .transactions
            .get_mut(&id)?
            .branches
            .get_mut(index)?
            .state
        {
            BranchState::Ending(ending) => ending,
            _ => return None,
        };
        ending.rules = rules;
        Some(ending)
    }

    pub(super) fn follow(&mut self, at: BranchAt, verdict: Verdict, now: Now) {
        match verdict {
            Verdict::Go(step) => {
                self.set_step(at, step);
                self.run_step(at, now);
            }
            Verdict::Retry(step, _) => self.retry_branch(at, step, now),
            Verdict::Finished => self.branch_finished(at, BranchState::Done, now),
            Verdict::Heuristic(..) if self.rules.lack(Broken::HeuristicSilent) => {
                self.branch_finished(at, BranchState::Done, now);
            }
            Verdict::Heuristic(kind, detail) => self.record_heuristic(at, (kind, detail), now),
            Verdict::BrokerAborted => self.broker_aborted(at, now),
            Verdict::Undecidable(detail) => {
                self.branch_finished(at, BranchState::InDoubt(detail), now);
            }
        }
    }

    fn set_step(&mut self, at: BranchAt, step: Step) {
        if let Some(ending) = self.ending_mut(at) {
            ending.step = step;
        }
    }

    fn retry_branch(&mut self, at: BranchAt, step: Step, now: Now) {
        self.counters.retries += 1;
        self.set_step(at, step);
        let failed = self.ending_mut(at).map_or(1, |ending| ending.failed);
        let delay = self.jitter.delay(self.config.backoff, failed);
        self.timers
            .set(Timer::Branch(at.0, at.1), now.monotonic + delay);
        self.record_acknowledged(at.0);
    }

    /// The only branch of a one-phase transaction was aborted by its broker: so is the transaction.
    fn broker_aborted(&mut self, at: BranchAt, now: Now) {
        if let Some(transaction) = self.transactions.get_mut(&at.0)
            && let State::Completing(completing) = &mut transaction.state
        {
            let participant = transaction.branches[at.1].name.to_string();
            completing.decision = Decision::Abort;
            completing.reason = AbortReason::BrokerAborted { participant };
        }
        self.branch_finished(at, BranchState::Done, now);
    }

    pub(super) fn record_heuristic(
        &mut self,
        at: BranchAt,
        (kind, detail): (HeuristicKind, String),
        now: Now,
    ) {
        let (id, index) = at;
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let State::Completing(completing) = &transaction.state else {
            return;
        };
        let decision = completing.decision;
        let branch = &mut transaction.branches[index];
        let Some(transactional_id) = branch.transactional_id.clone() else {
            return;
        };
        let BranchState::Ending(ending) = &branch.state else {
            return;
        };
        let spent = branch.spent_producer(ending);
        let ending = ending.clone();
        let writer = branch.writer.clone();
        let heuristic = Record::Heuristic {
            transaction: id,
            decision,
            participant: branch.name.clone(),
            transactional_id,
            kind,
            detail: detail.as_str().into(),
        };
        let mut records = alloc::vec![heuristic];
        branch.spent = spent;
        records.extend(branch.discarded());
        if let BranchWriter::Slot(_) = writer {
            branch.writer = BranchWriter::Gone { own: false };
        }
        branch.state = BranchState::RecordingHeuristic(ending);
        let participant = branch.participant;
        self.timers.cancel(Timer::Branch(id, index));
        let early = self
            .rules
            .lack(Broken::R10Heuristic)
            .then(|| detail.clone());
        let purpose = Purpose::Heuristic(at, kind, detail);
        self.append_all(records.into(), Durability::Forced, purpose);
        if let Some(detail) = early {
            self.heuristic_recorded(at, kind, detail, now);
        }
        if let (Some(p), BranchWriter::Slot(slot)) = (participant, writer) {
            self.retire(p, slot);
        }
    }

    /// Only now the conclusion counts (R10).
    pub(super) fn heuristic_recorded(
        &mut self,
        at: BranchAt,
        kind: HeuristicKind,
        detail: String,
        now: Now,
    ) {
        let Some(branch) = self.branch(at) else {
            return;
        };
        let own = branch.writer.is_own();
        let heuristic = HeuristicBranch {
            participant: branch.name.to_string(),
            kind,
            detail: detail.clone(),
        };
        self.counters.heuristic += 1;
        self.set_branch(at, BranchState::Heuristic(detail));
        self.tell(Event::Heuristic(at.0, heuristic));
        if own {
            self.own_released(at, Reuse::Discard, now);
        }
        self.finish_if_complete(at.0, now);
    }

    /// There was no room for the record: look again, later.
    pub(super) fn heuristic_refused(&mut self, at: BranchAt, why: String, now: Now) {
        let Some(BranchState::RecordingHeuristic(ending)) = self.branch(at).map(|b| &b.state)
        else {
            return;
        };
        let mut ending = ending.clone();
        ending.failed = ending.failed.saturating_add(1);
        ending.dirty = true;
        ending.detail = Some(why);
        self.set_branch(at, BranchState::Ending(ending));
        self.retry_branch(at, Step::Inquire, now);
    }

    fn branch_finished(&mut self, at: BranchAt, state: BranchState, now: Now) {
        let (id, index) = at;
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let State::Completing(completing) = &transaction.state else {
            return;
        };
        let recorded =
            completing.ground == Ground::Decided && completing.decision == Decision::Commit;
        let branch = &mut transaction.branches[index];
        let BranchState::Ending(ending) = &branch.state else {
            return;
        };
        let dirty = ending.dirty || matches!(state, BranchState::InDoubt(_));
        let uncertain = ending.spends_producer();
        if uncertain {
            branch.spent = branch.spent_producer(ending);
        }
        branch.state = state;
        let (leased, own) = (branch.leased(), branch.writer.is_own());
        let complete = transaction.branches.iter().all(|b| b.state.is_final());
        self.timers.cancel(Timer::Branch(id, index));
        if let Some((p, slot)) = leased {
            self.release_slot((p, slot), id, dirty, !recorded);
            self.serve_waiters(p, now);
        }
        if own {
            let reuse = if uncertain {
                Reuse::Discard
            } else {
                Reuse::Reuse
            };
            self.own_released(at, reuse, now);
        }
        if !complete {
            self.record_acknowledged(id);
        }
        self.finish_if_complete(id, now);
    }

    /// Ends the transaction once every branch is ended.
    pub(super) fn finish_if_complete(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branches = &transaction.branches;
        let State::Completing(completing) = &mut transaction.state else {
            return;
        };
        let forgets = self.rules.lack(Broken::ForgetEarly)
            && branches.iter().any(|branch| branch.state.is_final());
        if !forgets && !branches.iter().all(|branch| branch.state.is_final()) {
            return;
        }
        let entry = self.ledger.open.get(&id);
        let logged = entry.is_some() || branches.iter().any(|b| b.writer.is_own());
        let entry = entry.filter(|_| !self.rules.lack(Broken::HeuristicUntold));
        let heuristic = entry.map_or_else(Vec::new, heuristics);
        let outcome = completing.outcome(branches, heuristic);
        let decision = completing.decision;
        let told = core::mem::replace(&mut completing.told, true);
        let told = told && !self.rules.lack(Broken::EndedTwice);
        self.count_outcome(&outcome);
        let doubtful = matches!(outcome, Outcome::InDoubt(_));
        if !told {
            self.timers.cancel(Timer::Deadline(id));
            self.tell(Event::Ended {
                transaction: id,
                outcome,
            });
        }
        if !doubtful {
            self.record_end(id, (decision, logged), now);
        }
    }

    fn count_outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Committed => self.counters.committed += 1,
            Outcome::Aborted(_) => self.counters.aborted += 1,
            Outcome::Mixed { .. } => self.counters.mixed += 1,
            Outcome::InDoubt(_) => self.counters.in_doubt += 1,
        }
    }

    /// Writes down that it is ended, where the log says anything of it.
    fn record_end(&mut self, id: TransactionId, (decision, logged): (Decision, bool), now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        transaction.state = State::Recording(decision);
        if logged {
            return self.append_completion(id);
        }
        // Nothing of it is in the log, and nothing need be: keep the outcome only in memory.
        let completed = Record::Completed {
            transaction: id,
            decision,
            key: transaction.key.clone(),
            unix_ms: transaction.unix_ms,
        };
        if let Err(error) = self.ledger.apply(completed) {
            debug_assert!(false, "a completion always applies: {error}");
        }
        self.completion_recorded(id, now);
    }

    pub(super) fn append_completion(&mut self, id: TransactionId) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let State::Recording(decision) = transaction.state else {
            return;
        };
        let unsaid = transaction.branches.iter().filter(|b| !b.acknowledged);
        let mut discarded = unsaid.filter_map(Branch::discarded).peekable();
        let completed = Record::Completed {
            transaction: id,
            decision,
            key: transaction.key.clone(),
            unix_ms: transaction.unix_ms,
        };
        let records: Arc<[Record]> = if discarded.peek().is_none() {
            Arc::new([completed])
        } else {
            discarded.chain([completed]).collect()
        };
        // An application may want its own producer back at once, and has no other to rotate to.
        let own = transaction.branches.iter().any(|b| b.writer.is_own());
        let durability = if own {
            Durability::Forced
        } else {
            Durability::Lazy
        };
        self.append_all(records, durability, Purpose::Completion(id));
    }

    /// The completion is durable: its slots are free as soon as they are proved clean (R9).
    pub(super) fn completion_recorded(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.remove(&id) else {
            return;
        };
        for leased in transaction.branches.iter().filter_map(Branch::leased) {
            self.slot_durable(leased, id, now);
        }
        if self.recovering.remove(&id) {
            self.check_recovered();
        }
        if self.forgetting.remove(&id) {
            self.append_forgotten(id);
        }
        self.serve_own_waiters(now);
    }

    /// While it closes: nothing is under way any more but what waits for a participant.
    pub(super) fn check_drained(&mut self) {
        let waiting = |branch: &Branch| branch.state.is_final() || self.branch_waits(branch);
        let quiet = self
            .transactions
            .values()
            .all(|transaction| match &transaction.state {
                State::Completing(completing) => {
                    completing.told && transaction.branches.iter().all(waiting)
                }
                _ => false,
            });
        if quiet && self.log_is_quiet() {
            self.phase = Phase::Closing { drained: true };
            self.tell(Event::Drained);
        }
    }
}

fn step_action(p: ParticipantId, ending: &Ending) -> Option<Action> {
    let transactional_id: Arc<str> = ending.transactional_id().clone();
    Some(match ending.step {
        Step::ByWriter => return None,
        Step::Send => Action::EndTransaction {
            participant: p,
            branch: ending.identity().cloned()?,
            decision: ending.decision,
        },
        Step::Inquire | Step::Confirm => Action::Inquire {
            participant: p,
            transactional_id,
        },
    })
}

/// The heuristic branches of a transaction, also those that an earlier start recorded.
fn heuristics(entry: &OpenEntry) -> Vec<HeuristicBranch> {
    let branches = entry.heuristic.iter();
    branches
        .map(|((participant, _), heuristic)| HeuristicBranch {
            participant: participant.to_string(),
            kind: heuristic.kind,
            detail: heuristic.detail.to_string(),
        })
        .collect()
}

impl Completing {
    /// How the transaction ended, once all of its branches are.
    fn outcome(&self, branches: &[Branch], heuristic: Vec<HeuristicBranch>) -> Outcome {
        let doubt = branches.iter().find_map(|branch| match &branch.state {
            BranchState::InDoubt(detail) => Some(detail.clone()),
            _ => None,
        });
        let decision = self.decision;
        match doubt {
            Some(detail) => Outcome::InDoubt(detail),
            None if !heuristic.is_empty() => Outcome::Mixed {
                decision,
                heuristic,
            },
            None if decision == Decision::Commit => Outcome::Committed,
            None => Outcome::Aborted(self.reason.clone()),
        }
    }
}

impl Branch {
    pub(super) const fn leased(&self) -> Option<(ParticipantId, SlotId)> {
        match (self.participant, &self.writer) {
            (Some(p), BranchWriter::Slot(slot)) => Some((p, *slot)),
            _ => None,
        }
    }
}

impl BranchWriter {
    pub(super) const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_) | Self::Gone { own: true })
    }
}
