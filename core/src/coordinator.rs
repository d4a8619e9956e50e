//! The coordinator: the state machine behind "step, then drain".

mod abort;
mod acknowledge;
mod complete;
#[cfg(feature = "explore")]
mod explore;
mod invariants;
mod journal;
mod operator;
mod own;
mod pool;
mod start;
mod state;
mod sweep;
mod transact;
mod views;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::action::{Action, Output, WaitReason};
use crate::backoff::Jitter;
use crate::broken::{Broken, Rules};
use crate::config::{Config, ConfigError};
use crate::event::{Event, ForeignBranch, Refusal, StopReason};
use crate::identity::{ActionId, Incarnation, ParticipantId, SlotId, TransactionId};
use crate::ledger::Ledger;
use crate::request::{Accepted, Decision, Request};
use crate::response::Response;
use crate::rising::Rising;
use crate::time::Now;
use crate::timers::{Timer, Timers};

use journal::Journal;
use state::{BranchAt, Participant, Settling, ToldOfOwn, Transaction};

#[cfg(feature = "explore")]
pub use explore::Part;
pub use views::{Counters, SlotCounts};

/// What an action was for; its response is given to that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pending {
    Append(ActionId),
    Checkpoint,
    Connect(ParticipantId),
    LookForProbe(ParticipantId),
    Look(ParticipantId),
    Probe(ParticipantId),
    List(ParticipantId),
    FenceOrphan(ParticipantId),
    OpenSlot(ParticipantId, SlotId),
    VerifySlot(ParticipantId, SlotId),
    CloseSlot(ParticipantId, SlotId),
    Prepare(BranchAt),
    EndBranch(BranchAt),
    InquireBranch(BranchAt),
    InspectOwn(BranchAt),
    InquireDiscarded(ParticipantId, Arc<str>),
    InquireForeign(ParticipantId, Arc<str>, Decision),
    EndForeign(ParticipantId, Arc<str>),
}

/// The coordinator's own state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The incarnation record is not durable yet.
    Starting,
    Running,
    /// Nothing new is accepted.
    Closing {
        drained: bool,
    },
    Stopped(StopReason),
}

/// The coordinator of global transactions. See the crate's page for the calling contract.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinator {
    config: Config,
    ledger: Ledger,
    incarnation: Incarnation,
    phase: Phase,
    participants: Vec<Participant>,
    transactions: Rising<TransactionId, Transaction>,
    next_sequence: u64,
    next_action: u64,
    next_slot: u32,
    pending: Rising<ActionId, Pending>,
    journal: Journal,
    outputs: VecDeque<Output>,
    timers: Timers,
    jitter: Jitter,
    /// Transactions that the log left open.
    recovering: BTreeSet<TransactionId>,
    recovered: bool,
    /// Own producers whose next branch waits for the one before.
    own_waiters: VecDeque<BranchAt>,
    settling: Vec<Settling>,
    /// Mixed transactions to be forgotten once their completion is durable.
    forgetting: BTreeSet<TransactionId>,
    foreign: BTreeMap<(ParticipantId, Arc<str>), ForeignBranch>,
    counters: Counters,
    rules: Rules,
}

impl Coordinator {
    /// A coordinator that goes on where the ledger's records end. Drain it at once.
    ///
    /// # Errors
    /// [`ConfigError`] for names, numbers or limits that cannot work.
    pub fn new(config: Config, ledger: Ledger, now: Now) -> Result<Self, ConfigError> {
        Self::with_rules(config, ledger, now, Rules::default())
    }

    /// A coordinator that leaves a rule out, and the one that masks it if need be, for the tests that must notice it.
    ///
    /// # Errors
    /// As [`Coordinator::new`].
    #[cfg(feature = "broken")]
    pub fn with_broken(
        config: Config,
        ledger: Ledger,
        now: Now,
        (rule, mask): (Broken, Option<Broken>),
    ) -> Result<Self, ConfigError> {
        Self::with_rules(config, ledger, now, Rules::without(rule, mask))
    }

    fn with_rules(
        config: Config,
        mut ledger: Ledger,
        now: Now,
        rules: Rules,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        ledger.set_outcomes_max(config.limits.outcomes_max);
        let incarnation = ledger.incarnation.0.checked_add(1).map(Incarnation);
        let incarnation = incarnation
            .ok_or_else(|| ConfigError("the log has used up every incarnation number".into()))?;
        let participants = config.participants.iter();
        let mut coordinator = Self {
            participants: participants
                .map(|p| Participant::new(p.name.as_str().into()))
                .collect(),
            jitter: Jitter::new(config.seed),
            config,
            ledger,
            incarnation,
            phase: Phase::Starting,
            transactions: Rising::default(),
            next_sequence: 1,
            next_action: 1,
            next_slot: 1,
            pending: Rising::default(),
            journal: Journal::default(),
            outputs: VecDeque::new(),
            timers: Timers::default(),
            recovering: BTreeSet::new(),
            recovered: false,
            own_waiters: VecDeque::new(),
            settling: Vec::new(),
            forgetting: BTreeSet::new(),
            foreign: BTreeMap::new(),
            counters: Counters::default(),
            rules,
        };
        coordinator.append_started(now);
        Ok(coordinator)
    }

    /// Takes a request in.
    ///
    /// # Errors
    /// [`Refusal`]: nothing was changed, and no event follows.
    pub fn handle_request(&mut self, request: Request, now: Now) -> Result<Accepted, Refusal> {
        if let Phase::Stopped(reason) = &self.phase {
            return Err(Refusal::Stopped(reason.clone()));
        }
        let answer = self.dispatch_request(request, now);
        if answer.is_ok() {
            self.after_step();
        }
        answer
    }

    fn dispatch_request(&mut self, request: Request, now: Now) -> Result<Accepted, Refusal> {
        match request {
            Request::Begin { key, timeout } => self.begin(key, timeout, now),
            Request::Enlist {
                transaction,
                participant,
            } => self.enlist(transaction, participant, now),
            Request::EnlistOwn {
                transaction,
                participant,
                transactional_id,
                version_class,
                producer,
            } => {
                let told = ToldOfOwn {
                    class: Some(version_class),
                    producer,
                };
                self.enlist_own((transaction, participant), (transactional_id, told), now)
            }
            Request::EnlistOwnNewest {
                transaction,
                participant,
                transactional_id,
                producer,
            } => {
                let told = ToldOfOwn {
                    class: None,
                    producer,
                };
                self.enlist_own((transaction, participant), (transactional_id, told), now)
            }
            Request::Commit {
                transaction,
                report,
            } => self.commit(transaction, report, now),
            Request::Abort {
                transaction,
                reason,
            } => self.abort(transaction, reason, now),
            Request::Settle {
                participant,
                transactional_id,
            } => self.settle(participant, transactional_id, now),
            Request::Resolve {
                transaction,
                decision,
            } => self.resolve(transaction, decision, now),
            Request::ResolveForeign {
                participant,
                transactional_id,
                decision,
            } => self.resolve_foreign(participant, transactional_id, decision),
            Request::Forget { transaction } => self.forget(transaction),
            Request::Unreachable { participant, why } => self.unreachable(participant, why, now),
            Request::Broken { participant, why } => self.broken(participant, why, now),
            Request::Close => self.close(now),
        }
    }

    /// Takes the response to an action in. Late, repeated and unknown ones are counted and ignored.
    pub fn handle_response(&mut self, id: ActionId, response: Response, now: Now) {
        if matches!(self.phase, Phase::Stopped(_)) {
            self.counters.late_responses += 1;
            return;
        }
        let pending = if self.rules.lack(Broken::AnsweredTwice) {
            self.pending.get(&id).cloned()
        } else {
            self.pending.remove(&id)
        };
        match &pending {
            Some(pending) => self.dispatch_response(pending, &response, now),
            None => self.counters.late_responses += 1,
        }
        self.after_step();
    }

    fn dispatch_response(&mut self, pending: &Pending, response: &Response, now: Now) {
        match (pending, response) {
            // A stopped participant is not worked on: nothing is initialised there any more (R7).
            (
                Pending::Connect(p)
                | Pending::LookForProbe(p)
                | Pending::Look(p)
                | Pending::Probe(p)
                | Pending::List(p),
                _,
            ) if self.participant_mut(*p).is_stopped() => {}
            (Pending::Append(id), Response::Appended) => self.appended(*id, now),
            (Pending::Append(id), Response::AppendFailed(failure)) => {
                self.append_failed(*id, failure.clone(), now);
            }
            (Pending::Checkpoint, Response::Appended) => self.checkpointed(now),
            (Pending::Checkpoint, Response::AppendFailed(failure)) => {
                self.checkpoint_failed(failure.clone(), now);
            }
            (Pending::Connect(p), Response::Connected(report)) => {
                self.connected(*p, report.clone(), now)
            }
            (Pending::Connect(p), Response::ConnectFailed(why)) => {
                self.cycle_failed(*p, why.clone(), now)
            }
            (Pending::LookForProbe(p), Response::Inquired(inquiry)) => {
                self.looked_for_probe(*p, inquiry.clone(), now);
            }
            (Pending::Look(p), Response::Listed(listing)) => self.looked(*p, listing, now),
            (Pending::Probe(p), Response::Ended(answer)) => self.probed(*p, answer.clone(), now),
            (Pending::List(p), Response::Listed(listing)) => self.listed(*p, listing, now),
            (Pending::FenceOrphan(p), Response::Ended(answer)) => {
                self.orphan_fenced(*p, answer, now);
            }
            (
                Pending::OpenSlot(p, slot),
                Response::SlotOpened {
                    producer,
                    condition,
                },
            ) => {
                self.slot_opened((*p, *slot), *producer, condition.clone(), now);
            }
            (Pending::OpenSlot(p, slot), Response::SlotFailed(failure)) => {
                self.slot_failed(*p, *slot, failure.clone(), now);
            }
            (Pending::VerifySlot(p, slot), Response::SlotVerified(condition)) => {
                self.slot_verified(*p, *slot, condition, now);
            }
            (Pending::CloseSlot(p, slot), Response::SlotClosed) => self.slot_closed(*p, *slot, now),
            (Pending::Prepare(at), Response::Prepared(report)) => self.prepared(*at, report, now),
            (Pending::EndBranch(at), Response::Ended(answer)) => {
                self.branch_answered(*at, answer, now);
            }
            (Pending::InquireBranch(at), Response::Inquired(inquiry)) => {
                self.branch_inquired(*at, inquiry, now);
            }
            (Pending::InspectOwn(at), Response::Inquired(inquiry)) => {
                self.own_inspected(*at, inquiry.clone(), now);
            }
            (Pending::InquireDiscarded(p, id), Response::Inquired(inquiry)) => {
                self.discarded_inquired(*p, id.clone(), inquiry);
            }
            (Pending::InquireForeign(p, id, decision), Response::Inquired(inquiry)) => {
                self.foreign_inquired((*p, id.clone()), *decision, inquiry);
            }
            (Pending::EndForeign(p, id), Response::Ended(answer)) => {
                self.foreign_ended((*p, id.clone()), answer.clone());
            }
            // A response of another kind than its action asks for is a fault of the driver.
            (pending, _) => self.mismatched(pending, now),
        }
    }

    /// The driver broke the contract: nothing it says about this action counts, so stop.
    fn mismatched(&mut self, pending: &Pending, now: Now) {
        let reason = format!("the driver answered {pending:?} with a response of another kind");
        self.stop(StopReason::LogFailed(reason), now);
    }

    /// Does what is due. Calling it early or often does no harm.
    pub fn handle_timeout(&mut self, now: Now) {
        while let Some(timer) = self.timers.pop_due(now.monotonic) {
            match timer {
                Timer::Deadline(id) => self.deadline_passed(id, now),
                Timer::Enlist(id, index) => self.enlist_timed_out((id, index), now),
                Timer::Branch(id, index) => self.run_step((id, index), now),
                Timer::Records(id) => self.write_again(id),
                Timer::Settling => self.prove_settled(),
                Timer::Participant(p) => self.begin_cycle(p),
                Timer::Slots(p) => self.serve_waiters(p, now),
                Timer::Idle(p) => self.close_idle_slots(p, now),
            }
        }
        self.after_step();
    }

    /// The next output. Call it until it returns [`Output::Wait`].
    #[must_use]
    pub fn poll_output(&mut self) -> Output {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        match self.timers.next() {
            Some((at, reason)) => Output::Wait(Some(at), reason),
            None => Output::Wait(None, WaitReason::Input),
        }
    }

    // Inlined as the maps are: see there.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn act(&mut self, action: Action, pending: Pending) {
        // What a step had begun when the coordinator stopped must not reach the log or a cluster (R10, R11).
        if matches!(self.phase, Phase::Stopped(_)) {
            return;
        }
        let id = ActionId(self.next_action);
        self.next_action += 1;
        self.pending.insert(id, pending);
        self.outputs.push_back(Output::Action(id, action));
    }

    fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn participant(&self, id: ParticipantId) -> Result<&Participant, Refusal> {
        self.participants.get(usize::from(id.0)).ok_or_else(|| {
            Refusal::Config(format!("there is no participant with the number {}", id.0))
        })
    }

    fn participant_mut(&mut self, id: ParticipantId) -> &mut Participant {
        // Every ParticipantId in the state came through `participant`, or from the configuration.
        &mut self.participants[usize::from(id.0)]
    }

    fn participant_config(&self, id: ParticipantId) -> &crate::ParticipantConfig {
        &self.config.participants[usize::from(id.0)]
    }
}

#[cfg(test)]
mod tests;
