//! What the outside can watch: one event a phase of each transaction, and the metrics.
//!
//! Events have the target `gtc`, level debug, and the fields `phase`, `txn` and, where a branch
//! is meant, `participant`. Phases in their order: `begun`, `enlisted`, `preparing` (a branch),
//! `deciding` (the decision is on its way to the log), `decided` (it is durable), `acknowledged`
//! (a branch committed), then `completed`, `aborted`, `in-doubt` or `mixed`. A start adds
//! `recovering` and `recovered`, without `txn`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gtc_core::{
    AbortReason, Action, Decision, Durability, EndAnswer, Event, Outcome, ParticipantId,
    ParticipantStatus, Record, Response, TransactionId,
};

use crate::metrics as table;
use crate::verdict;

/// One event of a transaction.
pub(crate) fn phase(name: &'static str, txn: TransactionId) {
    tracing::debug!(target: "gtc", parent: None, phase = name, txn = %txn);
}

/// One event of a branch.
pub(crate) fn branch_phase(name: &'static str, txn: TransactionId, participant: &str) {
    tracing::debug!(target: "gtc", parent: None, phase = name, txn = %txn, participant);
}

/// One event of the coordinator.
pub(crate) fn start_phase(name: &'static str, open: usize) {
    tracing::debug!(target: "gtc", parent: None, phase = name, open);
}

/// A participant's name and a transactional.id on it.
type BranchKey = (Arc<str>, Arc<str>);

/// What the core's inputs and outputs leave out: names, and which transaction an id belongs to.
#[derive(Debug)]
pub(crate) struct Trace {
    names: Vec<Arc<str>>,
    /// By participant and transactional.id.
    decided: HashMap<BranchKey, TransactionId>,
    decided_ids: HashMap<TransactionId, Vec<BranchKey>>,
    asked: HashMap<(TransactionId, ParticipantId), Instant>,
    commits: HashMap<TransactionId, Instant>,
}

impl Trace {
    pub(crate) fn new(names: Vec<Arc<str>>) -> Self {
        Self {
            names,
            decided: HashMap::new(),
            decided_ids: HashMap::new(),
            asked: HashMap::new(),
            commits: HashMap::new(),
        }
    }

    pub(crate) fn name(&self, participant: ParticipantId) -> Arc<str> {
        let name = self.names.get(usize::from(participant.0));
        name.cloned().unwrap_or_else(|| Arc::from("?"))
    }

    /// A record was read at the start, or is about to be appended.
    pub(crate) fn record(&mut self, record: &Record) {
        match record {
            Record::Decided {
                transaction,
                branches,
                ..
            } => {
                let keys: Vec<BranchKey> = branches
                    .iter()
                    .map(|branch| {
                        let id = branch.identity.transactional_id.clone();
                        (branch.participant.clone(), id)
                    })
                    .collect();
                let owners = keys.iter().map(|key| (key.clone(), *transaction));
                self.decided.extend(owners);
                self.decided_ids.insert(*transaction, keys);
            }
            Record::Completed { transaction, .. } => {
                for key in self.decided_ids.remove(transaction).into_iter().flatten() {
                    // The slot may belong to a later transaction already.
                    if self.decided.get(&key) == Some(transaction) {
                        self.decided.remove(&key);
                    }
                }
            }
            _ => {}
        }
    }

    pub(crate) fn begun(&self, transaction: TransactionId) {
        ::metrics::counter!(table::BEGUN).increment(1);
        phase("begun", transaction);
    }

    pub(crate) fn asked_to_enlist(&mut self, key: (TransactionId, ParticipantId)) {
        self.asked.insert(key, Instant::now());
    }

    pub(crate) fn waits_for_slot(&self, participant: ParticipantId) {
        let name = self.name(participant).to_string();
        ::metrics::counter!(table::SLOT_WAITS, "participant" => name).increment(1);
    }

    pub(crate) fn asked_to_commit(&mut self, transaction: TransactionId) {
        self.commits.insert(transaction, Instant::now());
    }

    /// An action is about to run. The transaction of a branch that it ends, if one is known.
    pub(crate) fn action(&self, action: &Action) -> Option<TransactionId> {
        match action {
            Action::Append { records, .. } => {
                decided(records).for_each(|txn| phase("deciding", txn));
                None
            }
            Action::Prepare {
                transaction,
                participant,
                ..
            } => {
                branch_phase("preparing", *transaction, &self.name(*participant));
                None
            }
            Action::CloseSlot { participant, .. } => {
                let name = self.name(*participant).to_string();
                ::metrics::counter!(table::SLOTS_RETIRED, "participant" => name).increment(1);
                None
            }
            Action::EndByWriter { transaction, .. } => Some(*transaction),
            Action::EndTransaction {
                participant,
                branch,
                ..
            } => {
                let key = (self.name(*participant), branch.transactional_id.clone());
                self.decided.get(&key).copied()
            }
            _ => None,
        }
    }

    /// What only the core counts.
    pub(crate) fn counters(&self, counters: &gtc_core::Counters) {
        // A gauge loses nothing that people compare; the core counts far below 2^53.
        ::metrics::gauge!(table::LATE_RESPONSES).set(counters.late_responses as f64);
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Enlisted {
                transaction,
                participant,
                ..
            } => {
                let name = self.name(*participant);
                branch_phase("enlisted", *transaction, &name);
                if let Some(asked) = self.asked.remove(&(*transaction, *participant)) {
                    let name = name.to_string();
                    ::metrics::histogram!(table::SLOT_WAIT_SECONDS, "participant" => name)
                        .record(asked.elapsed());
                }
            }
            Event::EnlistRefused {
                transaction,
                participant,
                ..
            } => {
                self.asked.remove(&(*transaction, *participant));
            }
            Event::Ended {
                transaction,
                outcome,
            } => self.ended(*transaction, outcome),
            Event::Heuristic(transaction, branch) => heuristic(*transaction, branch),
            Event::Participant(participant, status) => {
                standing(&self.name(*participant), status);
            }
            Event::Recovered => start_phase("recovered", 0),
            Event::Foreign(branch) => tracing::warn!(
                target: "gtc",
                participant = branch.participant,
                transactional_id = %branch.transactional_id,
                "an open branch of another log under this coordinator's id: in doubt until an \
                 operator resolves it"
            ),
            Event::Stopped(reason) => {
                tracing::error!(target: "gtc", %reason, "the coordinator stopped");
            }
            _ => {}
        }
    }

    fn ended(&mut self, txn: TransactionId, outcome: &Outcome) {
        let asked = self.commits.remove(&txn);
        self.asked.retain(|(owner, _), _| *owner != txn);
        match outcome {
            Outcome::Committed => {
                phase("completed", txn);
                ::metrics::counter!(table::COMMITTED).increment(1);
                if let Some(asked) = asked {
                    ::metrics::histogram!(table::COMMIT_SECONDS).record(asked.elapsed());
                }
            }
            Outcome::Aborted(reason) => {
                tracing::debug!(target: "gtc", parent: None, phase = "aborted", txn = %txn, %reason);
                let label = abort_label(reason);
                ::metrics::counter!(table::ABORTED, "reason" => label).increment(1);
            }
            Outcome::InDoubt(why) => {
                tracing::warn!(target: "gtc", parent: None, phase = "in-doubt", txn = %txn, why);
                ::metrics::counter!(table::IN_DOUBT).increment(1);
            }
            Outcome::Mixed {
                decision,
                heuristic,
            } => {
                let outcome = verdict::mixed(*decision, heuristic);
                tracing::error!(target: "gtc", parent: None, phase = "mixed", txn = %txn, outcome);
            }
            _ => {}
        }
    }
}

/// The transactions whose decision is among `records`.
pub(crate) fn decided(records: &[Record]) -> impl Iterator<Item = TransactionId> {
    records.iter().filter_map(|record| match record {
        Record::Decided { transaction, .. } => Some(*transaction),
        _ => None,
    })
}

/// The step of a record in crash points.
pub(crate) fn record_step(record: &Record) -> &'static str {
    match record {
        Record::Started { .. } => "append-started",
        Record::ClusterBound { .. } => "append-cluster-bound",
        Record::Names { .. } => "append-names",
        Record::NamesGone { .. } => "append-names-gone",
        Record::OwnEnlisted { .. } => "append-own-enlisted",
        Record::Decided { .. } => "append-decided",
        Record::Acknowledged { .. } => "append-acknowledged",
        Record::Heuristic { .. } => "append-heuristic",
        Record::Completed { .. } => "append-completed",
        Record::Discarded { .. } => "append-discarded",
        Record::Forgotten { .. } => "append-forgotten",
        _ => "append-other",
    }
}

/// The answer to an action arrived.
pub(crate) fn answered(
    participant: &str,
    (action, txn): (&Action, Option<TransactionId>),
    response: &Response,
    took: Duration,
) {
    match (action, response) {
        (
            Action::Append {
                records,
                durability,
            },
            Response::Appended,
        ) => {
            decided(records).for_each(|txn| phase("decided", txn));
            let label = match durability {
                Durability::Forced => "forced",
                Durability::Lazy => "lazy",
            };
            ::metrics::histogram!(table::LOG_APPEND_SECONDS, "durability" => label).record(took);
        }
        (Action::Prepare { .. }, _) => {
            let name = participant.to_owned();
            ::metrics::histogram!(table::PREPARE_SECONDS, "participant" => name).record(took);
        }
        (
            Action::EndByWriter { decision, .. } | Action::EndTransaction { decision, .. },
            Response::Ended(answer),
        ) => ended_branch(participant, txn, *decision, answer),
        _ => {}
    }
}

fn ended_branch(
    participant: &str,
    txn: Option<TransactionId>,
    decision: Decision,
    answer: &EndAnswer,
) {
    match (answer, decision, txn) {
        (EndAnswer::Acknowledged, Decision::Commit, Some(txn)) => {
            branch_phase("acknowledged", txn, participant);
        }
        (EndAnswer::Acknowledged, ..) => {}
        _ => {
            tracing::debug!(target: "gtc", participant, ?answer, "a branch is not ended yet");
            let name = participant.to_owned();
            ::metrics::counter!(table::RETRIES, "participant" => name).increment(1);
        }
    }
}

fn heuristic(txn: TransactionId, branch: &gtc_core::HeuristicBranch) {
    tracing::error!(
        target: "gtc",
        txn = %txn,
        participant = branch.participant,
        kind = %branch.kind,
        detail = branch.detail,
        "a branch ended otherwise than decided, or may have"
    );
    let name = branch.participant.clone();
    ::metrics::counter!(table::HEURISTIC, "participant" => name).increment(1);
}

fn standing(participant: &str, status: &ParticipantStatus) {
    match status {
        ParticipantStatus::Verified => tracing::info!(target: "gtc", participant, "verified"),
        ParticipantStatus::Unavailable(why) => {
            tracing::warn!(target: "gtc", participant, why, "unavailable; tried again");
        }
        ParticipantStatus::Stopped(why) => {
            tracing::error!(target: "gtc", participant, why, "stopped until a restart");
        }
        _ => {}
    }
    let up = f64::from(u8::from(matches!(status, ParticipantStatus::Verified)));
    ::metrics::gauge!(table::PARTICIPANT_UP, "participant" => participant.to_owned()).set(up);
}

fn abort_label(reason: &AbortReason) -> &'static str {
    match reason {
        AbortReason::Requested(_) => "requested",
        AbortReason::VotedNo { .. } => "voted-no",
        AbortReason::DeadlinePassed { .. } => "deadline",
        AbortReason::TimedOut => "timed-out",
        AbortReason::LogFull(_) => "log-full",
        AbortReason::BrokerAborted { .. } => "broker-aborted",
        AbortReason::Closed => "closed",
        AbortReason::Presumed => "presumed",
        _ => "other",
    }
}
