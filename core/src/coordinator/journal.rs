//! The log's side of the coordinator: what was appended, for what, and when it counts.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::state::{BranchAt, State};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::event::{AbortReason, Event, HeuristicKind, Outcome, StopReason};
use crate::identity::{ActionId, ParticipantId, TransactionId};
use crate::record::Record;
use crate::response::AppendFailure;
use crate::time::Now;
use crate::timers::Timer;

/// What waits for a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Started,
    Bound(ParticipantId),
    /// Slot names below this number.
    Names(ParticipantId, u32),
    Decision(TransactionId),
    Heuristic(BranchAt, HeuristicKind, String),
    /// An own producer's branch.
    Enlistment(TransactionId),
    /// Branches of a transaction of which another stays open.
    Acknowledged(TransactionId, Vec<usize>),
    Completion(TransactionId),
    /// Nothing is written: it is asked whose log it is, for who waits to initialise an own producer.
    Settled(ParticipantId, Arc<str>),
    /// Nothing waits for it.
    Nothing,
}

/// One append under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct UnderWay {
    id: ActionId,
    records: Arc<[Record]>,
    purpose: Purpose,
    durable: Option<Result<(), String>>,
}

/// The appends under way, and those held back while a checkpoint is due: it may only be taken when nothing
/// is under way, because an append under way may still turn out to have been refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Journal {
    bytes_since_checkpoint: u64,
    checkpointing: bool,
    queue: VecDeque<(Arc<[Record]>, Durability, Purpose)>,
    /// In the order of the log, in which their records are taken in, whatever the order of the responses.
    under_way: VecDeque<UnderWay>,
}

#[cfg(feature = "explore")]
impl Journal {
    /// A checkpoint is due after any record, or never.
    pub(super) const fn level(&mut self) {
        self.bytes_since_checkpoint = 0;
    }

    pub(super) fn number(&mut self, numbers: &alloc::collections::BTreeMap<ActionId, ActionId>) {
        for append in &mut self.under_way {
            // One that is answered and waits for those before it has no number any more.
            append.id = numbers.get(&append.id).copied().unwrap_or(ActionId(0));
        }
    }
}

impl Coordinator {
    /// Says what the log held when it was read: what a checkpoint would free of it counts towards the next one. A coordinator
    /// whose starts are short would else never come to one, and its log grow for ever.
    pub fn replayed(&mut self, records: &[Record]) {
        let snapshot = self.ledger.snapshot(self.rules);
        let bytes = |records: &[Record]| records.iter().map(size).sum::<u64>();
        self.journal.bytes_since_checkpoint += bytes(records).saturating_sub(bytes(&snapshot));
    }

    pub(super) fn append_started(&mut self, now: Now) {
        let record = Record::Started {
            incarnation: self.incarnation,
            unix_ms: now.unix_ms,
        };
        if self.rules.lack(Broken::R13Forced) {
            self.append(record, Durability::Lazy, Purpose::Nothing);
            return self.started(now);
        }
        self.append(record, Durability::Forced, Purpose::Started);
    }

    pub(super) fn append(&mut self, record: Record, durability: Durability, purpose: Purpose) {
        self.append_all(Arc::new([record]), durability, purpose);
    }

    /// Appends records that the log takes together or not at all.
    pub(super) fn append_all(
        &mut self,
        records: Arc<[Record]>,
        durability: Durability,
        purpose: Purpose,
    ) {
        self.journal.bytes_since_checkpoint += records.iter().map(size).sum::<u64>();
        let due = self.journal.bytes_since_checkpoint > self.config.limits.checkpoint_bytes;
        if self.journal.checkpointing || (due && self.phase != Phase::Starting) {
            self.journal.checkpointing = true;
            self.journal.queue.push_back((records, durability, purpose));
            self.checkpoint_if_quiet();
        } else {
            self.emit_append(records, durability, purpose);
        }
    }

    fn emit_append(&mut self, records: Arc<[Record]>, durability: Durability, purpose: Purpose) {
        let id = ActionId(self.next_action);
        let action = Action::Append {
            records: Arc::clone(&records),
            durability,
        };
        self.journal.under_way.push_back(UnderWay {
            id,
            records,
            purpose,
            durable: None,
        });
        self.act(action, Pending::Append(id));
    }

    /// Makes a checkpoint due.
    #[cfg(test)]
    pub(super) fn journal_is_due(&mut self) {
        self.journal.checkpointing = true;
    }

    /// No append is under way or held back.
    pub(super) fn log_is_quiet(&self) -> bool {
        self.journal.under_way.is_empty() && self.journal.queue.is_empty()
    }

    fn checkpoint_if_quiet(&mut self) {
        let quiet = self.journal.under_way.is_empty() || self.rules.lack(Broken::CheckpointBusy);
        if !self.journal.checkpointing || !quiet {
            return;
        }
        let checkpoint = |pending: &Pending| matches!(pending, Pending::Checkpoint);
        if !self.pending.values().any(checkpoint) {
            let snapshot = self.ledger.snapshot(self.rules);
            self.act(Action::Checkpoint { snapshot }, Pending::Checkpoint);
        }
    }

    pub(super) fn checkpointed(&mut self, now: Now) {
        self.counters.checkpoints += 1;
        self.journal.bytes_since_checkpoint = 0;
        self.release_held(now);
    }

    fn release_held(&mut self, now: Now) {
        self.journal.checkpointing = false;
        while let Some((records, durability, purpose)) = self.journal.queue.pop_front() {
            // A decision that waited too long for the checkpoint is not written any more (R14).
            let late = match &purpose {
                Purpose::Decision(id) if !self.rules.lack(Broken::R14HeldBack) => {
                    self.too_late(*id, now).map(|reason| (*id, reason))
                }
                _ => None,
            };
            match late {
                Some((id, reason)) => self.begin_abort(id, reason, now),
                None => self.emit_append(records, durability, purpose),
            }
        }
    }

    /// A checkpoint that provably wrote nothing costs only room; it is tried again after as many bytes.
    pub(super) fn checkpoint_failed(&mut self, failure: AppendFailure, now: Now) {
        match failure {
            AppendFailure::Refused(_) => {
                self.journal.bytes_since_checkpoint = 0;
                self.release_held(now);
            }
            AppendFailure::Unknown(why) => self.stop(StopReason::LogFailed(why), now),
            AppendFailure::Fenced(why) => self.stop(StopReason::LogFenced(why), now),
        }
    }

    pub(super) fn appended(&mut self, id: ActionId, now: Now) {
        self.append_answered(id, Ok(()), now);
    }

    pub(super) fn append_failed(&mut self, id: ActionId, failure: AppendFailure, now: Now) {
        match failure {
            AppendFailure::Unknown(why) if self.rules.lack(Broken::R11Unknown) => {
                self.append_answered(id, Err(why), now);
            }
            AppendFailure::Fenced(_) if self.rules.lack(Broken::R10Fenced) => {
                self.append_answered(id, Ok(()), now);
            }
            AppendFailure::Refused(why) => self.append_answered(id, Err(why), now),
            AppendFailure::Unknown(why) => self.stop(StopReason::LogFailed(why), now),
            AppendFailure::Fenced(why) => self.stop(StopReason::LogFenced(why), now),
        }
    }

    /// Takes in what is answered, in the order of the log.
    fn append_answered(&mut self, id: ActionId, durable: Result<(), String>, now: Now) {
        let answered = self
            .journal
            .under_way
            .iter_mut()
            .find(|append| append.id == id);
        if let Some(append) = answered {
            append.durable = Some(durable);
        }
        while let Some(UnderWay {
            durable: Some(durable),
            ..
        }) = self.journal.under_way.front()
        {
            let durable = durable.clone();
            let Some(append) = self.journal.under_way.pop_front() else {
                break;
            };
            match durable {
                Ok(()) => self.take_in(&append.records, append.purpose, now),
                Err(why) => self.append_refused(append.purpose, why, now),
            }
        }
        self.checkpoint_if_quiet();
    }

    fn take_in(&mut self, records: &[Record], purpose: Purpose, now: Now) {
        for record in records {
            if let Err(error) = self.ledger.apply(record.clone()) {
                let why = alloc::format!("a record of our own does not apply: {error}");
                return self.stop(StopReason::LogFailed(why), now);
            }
        }
        match purpose {
            Purpose::Started => self.started(now),
            Purpose::Bound(p) => self.cluster_bound(p, now),
            Purpose::Names(p, until) => self.named(p, until, now),
            Purpose::Decision(id) => self.decided(id, now),
            Purpose::Heuristic(at, kind, detail) => self.heuristic_recorded(at, kind, detail, now),
            Purpose::Acknowledged(id, branches) => self.acknowledged_durably(id, &branches, now),
            Purpose::Completion(id) => self.completion_recorded(id, now),
            Purpose::Enlistment(id) => self.record_acknowledged(id),
            Purpose::Settled(p, id) => self.settled_as_owner(p, id),
            Purpose::Nothing => {}
        }
    }

    /// Provably nothing was written: what waited for it does without, or tries again.
    fn append_refused(&mut self, purpose: Purpose, why: String, now: Now) {
        // A checkpoint lets the log remove what it no longer needs, and so makes room.
        self.journal.checkpointing = true;
        match purpose {
            Purpose::Started => self.stop(StopReason::LogFailed(why), now),
            Purpose::Bound(p) => self.cycle_failed(p, why, now),
            Purpose::Names(p, _) => self.names_refused(p, why, now),
            Purpose::Decision(id) => self.begin_abort(id, AbortReason::LogFull(why), now),
            Purpose::Heuristic(at, ..) => self.heuristic_refused(at, why, now),
            Purpose::Enlistment(id) => self.enlistment_refused(id, why, now),
            Purpose::Acknowledged(id, branches) => {
                self.acknowledgement_refused(id, &branches);
                self.retry_records(id, now);
            }
            Purpose::Completion(id) => self.retry_records(id, now),
            Purpose::Settled(p, id) => self.settling_unproved(p, &id, now),
            Purpose::Nothing => {}
        }
    }

    fn retry_records(&mut self, id: TransactionId, now: Now) {
        let delay = self.jitter.delay(self.config.backoff, 8);
        self.timers.set(Timer::Records(id), now.monotonic + delay);
    }

    /// Stops for good: no further action, and every open caller hears that its outcome is in doubt.
    pub(super) fn stop(&mut self, reason: StopReason, _now: Now) {
        self.outputs
            .retain(|output| matches!(output, crate::Output::Event(_)));
        self.pending.clear();
        self.timers = crate::timers::Timers::default();
        let why =
            alloc::format!("the coordinator stopped, as {reason}; the next start resolves it");
        let open: Vec<TransactionId> = self.transactions.keys().copied().collect();
        for id in open {
            let told = match self.transactions.get(&id).map(|t| &t.state) {
                Some(State::Completing(completing)) => completing.told,
                Some(State::Recording(_)) | None => true,
                Some(_) => false,
            };
            if !told {
                let outcome = if self.rules.lack(Broken::R11Told) {
                    Outcome::Aborted(AbortReason::Presumed)
                } else {
                    Outcome::InDoubt(why.clone())
                };
                self.tell(Event::Ended {
                    transaction: id,
                    outcome,
                });
            }
        }
        self.phase = Phase::Stopped(reason.clone());
        self.tell(Event::Stopped(reason));
    }
}

/// Roughly how many bytes a record takes in the log.
fn size(record: &Record) -> u64 {
    let bytes = match record {
        Record::Decided { branches, .. } => branches
            .iter()
            .map(|branch| 64 + branch.participant.len() + branch.identity.transactional_id.len())
            .sum(),
        Record::Completed { key, .. } => key.as_ref().map_or(0, |key| key.len()),
        _ => 64,
    };
    64 + bytes as u64
}
