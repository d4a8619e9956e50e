//! The start, and the cycle that proves a participant's preconditions: who it is, and that it can be listed.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::journal::Purpose;
use super::state::{Branch, BranchState, BranchWriter, Completing, Cycle, State, Transaction};
use super::sweep::never_made;
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::ending::{Ending, Ground};
use crate::event::{AbortReason, Event, ParticipantStatus, Refusal, StopReason};
use crate::evidence::{EndAnswer, Inquiry};
use crate::identity::{BranchIdentity, Incarnation, ParticipantId, SlotName, TransactionId};
use crate::record::{DecidedBranch, Record};
use crate::request::{Accepted, Decision};
use crate::response::ConnectReport;
use crate::time::Now;
use crate::timers::Timer;

/// The time-out that orphaned names and the probe are initialised with (R15): no transaction ever runs under it, and a
/// broker refuses one above its ceiling, so it is below any ceiling that transactions can work with.
pub(super) const FENCE_TIMEOUT_MS: i32 = 1_000;

/// The number of the probe's name in each incarnation (R8). No branch is ever written under it.
pub(super) const PROBE: u32 = 0;

impl Coordinator {
    pub(super) fn started(&mut self, now: Now) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
        }
        self.tell(Event::Started);
        self.recover_transactions(now);
        for index in 0..self.participants.len() {
            self.begin_cycle(ParticipantId(index as u16));
        }
        self.check_recovered();
    }

    fn recover_transactions(&mut self, now: Now) {
        let open = self.ledger.open.clone();
        for (id, mut entry) in open {
            if self.rules.lack(Broken::DecisionIgnored) {
                entry.decision = None;
            }
            let branches: Vec<Branch> = match entry.decision {
                Some(Decision::Commit) => entry
                    .unfinished()
                    .map(|b| self.recovered_commit(b, now))
                    .collect(),
                // Abort: a heuristic branch was recorded, and others may still be open.
                Some(Decision::Abort) | None => {
                    let undecided = entry.undecided();
                    undecided
                        .map(|(name, id)| self.recovered_abort(name, id, now))
                        .collect()
                }
            };
            if entry.completed {
                continue;
            }
            let completing = Completing {
                decision: entry.decision.unwrap_or(Decision::Abort),
                ground: Ground::Decided,
                reason: AbortReason::Presumed,
                told: true,
            };
            let transaction = Transaction {
                key: entry.key,
                unix_ms: entry.unix_ms,
                branches,
                state: State::Completing(completing),
            };
            self.recover_transaction(id, transaction, now);
        }
    }

    fn recover_transaction(&mut self, id: TransactionId, transaction: Transaction, now: Now) {
        let count = transaction.branches.len();
        self.transactions.insert(id, transaction);
        self.recovering.insert(id);
        for index in 0..count {
            self.run_step((id, index), now);
        }
        self.finish_if_complete(id, now);
    }

    fn recovered_commit(&self, branch: &DecidedBranch, now: Now) -> Branch {
        let identity = branch.identity.clone();
        let step = Ending::first_step_without_writer(identity.version_class);
        let ending = Ending::identified(Decision::Commit, Ground::Decided, identity);
        self.recovered_branch(
            branch.participant.clone(),
            ending.starting_with(step),
            branch.own,
            now,
        )
    }

    fn recovered_abort(&self, name: Arc<str>, identity: BranchIdentity, now: Now) -> Branch {
        let step = Ending::first_step_without_writer(identity.version_class);
        let ending = Ending::identified(Decision::Abort, Ground::Presumed, identity);
        self.recovered_branch(name, ending.starting_with(step), true, now)
    }

    fn recovered_branch(&self, name: Arc<str>, ending: Ending, own: bool, now: Now) -> Branch {
        // A request of the dead coordinator may still be under way: not for this identity again (R3).
        let ending = ending.after_a_start().of_own(own);
        let position = self.participants.iter().position(|p| p.name == name);
        Branch {
            participant: position.map(|index| ParticipantId(index as u16)),
            name,
            transactional_id: Some(ending.transactional_id().clone()),
            writer: BranchWriter::Gone { own },
            enlisted: now.monotonic,
            state: BranchState::Ending(ending.into()),
            acknowledged: false,
            spent: None,
        }
    }

    pub(super) fn check_recovered(&mut self) {
        let swept = self.participants.iter().all(|p| p.swept);
        if !self.recovered && swept && self.recovering.is_empty() && self.phase != Phase::Starting {
            self.recovered = true;
            self.tell(Event::Recovered);
        }
    }

    /// Connect, bind, look, name, probe, list: at the start, after a failure, and at every sweep.
    pub(super) fn begin_cycle(&mut self, p: ParticipantId) {
        let participant = self.participant_mut(p);
        if participant.is_stopped() || participant.cycle != Cycle::Waiting {
            return;
        }
        if participant.fencing > 0 {
            // The orphans of the last listing are not answered yet; when they are, this is called again.
            participant.unfenced = true;
            return;
        }
        participant.cycle = Cycle::Connecting;
        self.act(Action::Connect { participant: p }, Pending::Connect(p));
    }

    pub(super) fn connected(&mut self, p: ParticipantId, report: ConnectReport, now: Now) {
        let ceiling_ms = report.timeout_ceiling_ms.unwrap_or(i64::MAX);
        let fitted = self.config.participants[usize::from(p.0)].fit(ceiling_ms);
        // No reason to leave open what an earlier start wrote under a higher ceiling (R15).
        let objection = fitted.err().map(|error| error.0);
        let cluster_id: Arc<str> = report.cluster_id.into();
        let participant = self.participant_mut(p);
        participant.objection = objection;
        participant.transaction_version = report.transaction_version;
        participant.cycle = Cycle::Binding;
        let name = participant.name.clone();
        match self.ledger.clusters.get(&name).cloned() {
            Some(bound) if bound == cluster_id || self.rules.lack(Broken::R17Cluster) => {
                self.cluster_bound(p, now);
            }
            Some(bound) => {
                // No branch is ended there either: an answer of this cluster would prove nothing (R17).
                self.participant_mut(p).listed = false;
                let why = format!(
                    "it is cluster {cluster_id}, but the log binds the name {name} to cluster {bound}"
                );
                self.stop_participant(p, Refusal::WrongCluster, why);
            }
            None => {
                let record = Record::ClusterBound {
                    participant: name,
                    cluster_id,
                };
                self.append(record, Durability::Forced, Purpose::Bound(p));
            }
        }
    }

    /// Looks before it makes a name known, the first time: a start that is refused must leave no record by which the
    /// next start of the same log would take what the look found for its own, and no name for which the true log
    /// would be refused (R13).
    pub(super) fn cluster_bound(&mut self, p: ParticipantId, now: Now) {
        if self.participant_mut(p).looked || self.rules.lack(Broken::R13Look) {
            return self.name_the_probe(p, now);
        }
        self.participant_mut(p).cycle = Cycle::Looking;
        if self.rules.lack(Broken::R13Described) {
            return self.list_transactions(p, Pending::Look(p));
        }
        let action = Action::Inquire {
            participant: p,
            transactional_id: self.slot_name(p, PROBE),
        };
        self.act(action, Pending::LookForProbe(p));
    }

    /// A listing says nothing of what may not be described, and nothing is initialised yet that it could show (R8). So the
    /// probe is asked for by its name: a cluster that says that it does not know it lets itself be asked, and no
    /// other owner of this incarnation has been there.
    pub(super) fn looked_for_probe(&mut self, p: ParticipantId, inquiry: Inquiry, now: Now) {
        let probe = self.slot_name(p, PROBE);
        let why = match inquiry {
            Inquiry::NotFound => return self.list_transactions(p, Pending::Look(p)),
            Inquiry::Described(_) => {
                return self.stop(StopReason::StaleLog(never_made(&probe)), now);
            }
            Inquiry::Refused(code @ (14..=16)) => not_ready(code),
            Inquiry::Refused(code) => format!(
                "describing the transactional.id {probe} was answered with Kafka error {code}: {}",
                self.grant_describe()
            ),
            Inquiry::NoAnswer(why) => why,
        };
        self.cycle_failed(p, why, now);
    }

    pub(super) fn grant_describe(&self) -> String {
        format!(
            "grant Describe on transactional ids with the prefix gtc.{}.",
            self.config.coordinator
        )
    }

    /// Nothing stale is listed: names can be made known, and initialised after that (R6).
    pub(super) fn name_the_probe(&mut self, p: ParticipantId, now: Now) {
        let participant = self.participant_mut(p);
        participant.looked = true;
        if participant.pool.named_until > PROBE {
            return self.probe(p);
        }
        participant.cycle = Cycle::Naming;
        self.make_names(p, now);
    }

    pub(super) fn probe(&mut self, p: ParticipantId) {
        self.participant_mut(p).cycle = Cycle::Probing;
        let transactional_id = self.slot_name(p, PROBE);
        let action = Action::Fence {
            participant: p,
            transactional_id,
            timeout_ms: FENCE_TIMEOUT_MS,
        };
        self.act(action, Pending::Probe(p));
    }

    pub(super) fn slot_name(&self, p: ParticipantId, number: u32) -> Arc<str> {
        let name = SlotName {
            log_id: self.config.log_id,
            incarnation: if self.rules.lack(Broken::R6Incarnation) {
                Incarnation(1)
            } else {
                self.incarnation
            },
            participant: self.participant_config(p).name.clone(),
            number,
        };
        name.to_transactional_id(&self.config.coordinator)
    }

    pub(super) fn probed(&mut self, p: ParticipantId, answer: EndAnswer, now: Now) {
        let why = match answer {
            EndAnswer::Acknowledged => {
                self.participant_mut(p).cycle = Cycle::Listing;
                return self.list_transactions(p, Pending::List(p));
            }
            // A new cluster makes its transaction state log at the first use.
            EndAnswer::Code(code @ (14..=16 | 51)) => not_ready(code),
            EndAnswer::Code(code) => format!(
                "initialising the transactional.id {} was answered with Kafka error {code}; \
                 `gtc check` says what is missing",
                self.slot_name(p, PROBE)
            ),
            EndAnswer::NoAnswer(why) | EndAnswer::NotSent(why) => why,
        };
        self.cycle_failed(p, why, now);
    }

    fn list_transactions(&mut self, p: ParticipantId, pending: Pending) {
        let prefix = SlotName::coordinator_prefix(&self.config.coordinator);
        let action = Action::List {
            participant: p,
            prefix,
        };
        self.act(action, pending);
    }

    pub(super) fn cycle_failed(&mut self, p: ParticipantId, why: String, now: Now) {
        let participant = self.participant_mut(p);
        participant.cycle = Cycle::Waiting;
        participant.attempts = participant.attempts.saturating_add(1);
        let attempts = participant.attempts;
        self.set_status(p, ParticipantStatus::Unavailable(why));
        let delay = self.jitter.delay(self.config.backoff, attempts);
        self.timers
            .set(Timer::Participant(p), now.monotonic + delay);
    }

    pub(super) fn set_status(&mut self, p: ParticipantId, status: ParticipantStatus) {
        let participant = self.participant_mut(p);
        if participant.status != status && !participant.is_stopped() {
            participant.status = status.clone();
            self.tell(Event::Participant(p, status));
        }
    }

    /// Stops a participant until the next start (R7, R17); `refusal` says what its callers hear. Branches
    /// that are decided are still ended by their identities where the cluster is the right one.
    pub(super) fn stop_participant(
        &mut self,
        p: ParticipantId,
        refusal: fn(String) -> Refusal,
        why: String,
    ) {
        if self.rules.lack(Broken::R7Stop) {
            return;
        }
        self.set_status(p, ParticipantStatus::Stopped(why.clone()));
        self.timers.cancel(Timer::Participant(p));
        self.timers.cancel(Timer::Slots(p));
        let participant = self.participant_mut(p);
        participant.cycle = Cycle::Waiting;
        // The first reason is the one that matters.
        let refusal = participant.stopped.get_or_insert(refusal(why)).clone();
        self.refuse_waiters(p, &refusal);
    }

    /// The driver says that a participant does not answer. A cycle under way finds out by itself; else one is
    /// begun before long.
    pub(super) fn unreachable(
        &mut self,
        p: ParticipantId,
        why: String,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let participant = self.participant(p)?;
        if participant.status != ParticipantStatus::Verified {
            return Ok(Accepted::Done);
        }
        match participant.cycle {
            Cycle::Waiting => self.cycle_failed(p, why, now),
            _ => self.set_status(p, ParticipantStatus::Unavailable(why)),
        }
        Ok(Accepted::Done)
    }

    pub(super) fn broken(
        &mut self,
        p: ParticipantId,
        why: String,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        self.participant(p)?;
        self.stop_participant(p, Refusal::Broken, why);
        self.serve_own_waiters(now);
        Ok(Accepted::Done)
    }
}

fn not_ready(code: i16) -> String {
    format!(
        "its broker transaction coordinator is not ready (Kafka error {code}); it is asked again"
    )
}
