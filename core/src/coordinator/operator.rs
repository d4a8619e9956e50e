//! What operators ask for, and the end.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::journal::Purpose;
use super::state::{BranchState, State, Transaction};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability};
use crate::event::{AbortReason, Event, HeuristicKind, Refusal};
use crate::evidence::{BrokerState, EndAnswer, Inquiry};
use crate::identity::{BranchIdentity, ParticipantId, TransactionId, VersionClass};
use crate::ledger::KnownOutcome;
use crate::record::Record;
use crate::request::{Accepted, Decision};
use crate::time::Now;
use crate::timers::Timer;

impl Coordinator {
    pub(super) fn resolve(
        &mut self,
        id: TransactionId,
        decision: Decision,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let Some(transaction) = self.transactions.get(&id) else {
            return Err(self.nothing_to_resolve(id));
        };
        let decided = match &transaction.state {
            State::Active(_) | State::Preparing(_) if decision == Decision::Abort => {
                let reason = AbortReason::Requested("by an operator".to_string());
                self.begin_abort(id, reason, now);
                return Ok(Accepted::Pending);
            }
            State::Completing(completing) => completing.decision,
            State::Recording(_) => return Err(self.nothing_to_resolve(id)),
            state => {
                return Err(Refusal::InvalidState(format!(
                    "{id} is {}: there is nothing to resolve",
                    state.name()
                )));
            }
        };
        let doubtful = transaction
            .branches
            .iter()
            .any(|branch| matches!(branch.state, BranchState::InDoubt(_)));
        if doubtful {
            return self.resolve_doubt(id, decision, now);
        }
        if decision == decided {
            self.retry_now(id, now);
        } else {
            self.abandon(id, now);
        }
        Ok(Accepted::Pending)
    }

    /// Nobody works on it any more: how it ended, where that is known.
    fn nothing_to_resolve(&self, id: TransactionId) -> Refusal {
        Refusal::InvalidState(match self.outcome(id) {
            KnownOutcome::Mixed => format!(
                "{id} ended otherwise than decided (mixed), and nothing is left to resolve: repair the \
                 data by hand, then forget it"
            ),
            KnownOutcome::Committed => format!("{id} has committed: there is nothing to resolve"),
            KnownOutcome::Aborted => format!("{id} has aborted: there is nothing to resolve"),
            KnownOutcome::Undecided | KnownOutcome::InDoubt | KnownOutcome::Unknown => {
                return Refusal::UnknownTransaction(id);
            }
        })
    }

    /// One-phase in doubt: the operator knows better than anybody how it ended.
    fn resolve_doubt(
        &mut self,
        id: TransactionId,
        decision: Decision,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return Err(Refusal::UnknownTransaction(id));
        };
        for branch in &mut transaction.branches {
            if matches!(branch.state, BranchState::InDoubt(_)) {
                branch.state = BranchState::Done;
            }
        }
        if let State::Completing(completing) = &mut transaction.state {
            completing.decision = decision;
            completing.reason = AbortReason::Requested("by an operator".to_string());
        }
        self.finish_if_complete(id, now);
        Ok(Accepted::Done)
    }

    fn retry_now(&mut self, id: TransactionId, now: Now) {
        let count = self.transactions.get(&id).map_or(0, |t| t.branches.len());
        for index in 0..count {
            if self.timers.is_set(Timer::Branch(id, index)) {
                self.timers.cancel(Timer::Branch(id, index));
                self.run_step((id, index), now);
            }
        }
    }

    /// Gives the open branches up: they are recorded as heuristic, and what is open under their names is
    /// then an orphan for the sweep.
    fn abandon(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let open: Vec<usize> = transaction
            .branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| matches!(branch.state, BranchState::Ending(_)))
            .map(|(index, _)| index)
            .collect();
        for index in open {
            let detail = String::from("given up by an operator before it was acknowledged");
            self.record_heuristic((id, index), (HeuristicKind::Abandoned, detail), now);
        }
    }

    pub(super) fn forget(&mut self, id: TransactionId) -> Result<Accepted, Refusal> {
        let entry = self.ledger.open.get(&id);
        let is_mixed = entry.is_some_and(|entry| !entry.heuristic.is_empty());
        let recording = |t: &Transaction| matches!(t.state, State::Recording(_));
        if is_mixed && self.transactions.get(&id).is_some_and(recording) {
            // Its caller has heard how it ended, and the record of that is on its way.
            self.forgetting.insert(id);
            return Ok(Accepted::Pending);
        }
        if !entry.is_some_and(|entry| entry.completed) {
            return Err(match self.ledger.outcome(id) {
                KnownOutcome::Unknown if !self.transactions.contains_key(&id) => {
                    Refusal::UnknownTransaction(id)
                }
                _ => Refusal::InvalidState(format!(
                    "only an ended transaction with a mixed outcome can be forgotten; {id} is not one"
                )),
            });
        }
        self.append_forgotten(id);
        Ok(Accepted::Done)
    }

    pub(super) fn append_forgotten(&mut self, id: TransactionId) {
        let record = Record::Forgotten { transaction: id };
        self.append(record, Durability::Forced, Purpose::Nothing);
    }

    pub(super) fn resolve_foreign(
        &mut self,
        p: ParticipantId,
        transactional_id: Arc<str>,
        decision: Decision,
    ) -> Result<Accepted, Refusal> {
        self.participant(p)?;
        if !self.foreign.contains_key(&(p, transactional_id.clone())) {
            return Err(Refusal::InvalidState(format!(
                "{transactional_id} is not listed as an open branch of another log"
            )));
        }
        let action = Action::Inquire {
            participant: p,
            transactional_id: transactional_id.clone(),
        };
        self.act(
            action,
            Pending::InquireForeign(p, transactional_id, decision),
        );
        Ok(Accepted::Pending)
    }

    pub(super) fn foreign_inquired(
        &mut self,
        (p, transactional_id): (ParticipantId, Arc<str>),
        decision: Decision,
        inquiry: &Inquiry,
    ) {
        let error = match inquiry {
            Inquiry::Described(found) if found.state == BrokerState::Ongoing => {
                let branch = BranchIdentity {
                    transactional_id: transactional_id.clone(),
                    producer: found.producer,
                    start_time_ms: found.start_time_ms,
                    timeout_ms: found.timeout_ms,
                    // Slots are always written by managed producers.
                    version_class: VersionClass::V1,
                };
                let action = Action::EndTransaction {
                    participant: p,
                    branch,
                    decision,
                };
                return self.act(action, Pending::EndForeign(p, transactional_id));
            }
            Inquiry::Described(found) => format!("it is {:?}, not open any more", found.state),
            Inquiry::NotFound => "the broker no longer knows it".to_string(),
            Inquiry::Refused(code) => format!("describing it was answered with Kafka error {code}"),
            Inquiry::NoAnswer(why) => why.clone(),
        };
        self.tell(Event::ForeignResolved {
            participant: p,
            transactional_id,
            error: Some(error),
        });
    }

    pub(super) fn foreign_ended(
        &mut self,
        (p, transactional_id): (ParticipantId, Arc<str>),
        answer: EndAnswer,
    ) {
        let error = match answer {
            EndAnswer::Acknowledged => {
                self.foreign.remove(&(p, transactional_id.clone()));
                None
            }
            EndAnswer::Code(code) => Some(format!("EndTxn was answered with Kafka error {code}")),
            EndAnswer::NoAnswer(why) | EndAnswer::NotSent(why) => Some(why),
        };
        self.tell(Event::ForeignResolved {
            participant: p,
            transactional_id,
            error,
        });
    }

    pub(super) fn close(&mut self, now: Now) -> Result<Accepted, Refusal> {
        if matches!(self.phase, Phase::Closing { .. }) {
            return Ok(Accepted::Pending);
        }
        self.phase = Phase::Closing { drained: false };
        let undecided: Vec<TransactionId> = self
            .transactions
            .iter()
            .filter(|(_, t)| matches!(t.state, State::Active(_) | State::Preparing(_)))
            .map(|(id, _)| *id)
            .collect();
        for id in undecided {
            self.begin_abort(id, AbortReason::Closed, now);
        }
        Ok(Accepted::Pending)
    }
}
