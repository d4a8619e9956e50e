//! What the records say: the state that a start recovers from, and that operators read offline.

mod views;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::broken::{Broken, Rules};
use crate::event::{HeuristicKind, TransactionState, TransactionView};
use crate::identity::{BranchIdentity, Incarnation, ProducerIdentity, TransactionId, VersionClass};
use crate::record::{DecidedBranch, Record, RecordError};
use crate::request::Decision;
use crate::rising::Rising;

/// A participant's name and a transactional.id on it.
type BranchKey = (Arc<str>, Arc<str>);

/// What is known of a transaction's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum KnownOutcome {
    /// Every branch committed.
    Committed,
    /// Every branch aborted.
    Aborted,
    /// Still undecided, and its coordinator works on it.
    Undecided,
    /// Decided or perhaps decided, and not yet ended everywhere.
    InDoubt,
    /// Some branches ended otherwise than decided.
    Mixed,
    /// Never begun, aborted, committed in one phase, or older than the retention: the log cannot tell.
    Unknown,
}

/// An own producer's branch without a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OwnEntry {
    pub(crate) producer: ProducerIdentity,
    pub(crate) version_class: VersionClass,
}

/// The slot names of one participant and incarnation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Names {
    /// Numbers below this were made known.
    pub(crate) until: u32,
    /// When the last of them were, and once their incarnation has ended: when its successor started.
    pub(crate) unix_ms: u64,
}

/// A heuristic branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HeuristicEntry {
    pub(crate) kind: HeuristicKind,
    pub(crate) detail: Arc<str>,
}

/// A transaction that is not completed, or not forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OpenEntry {
    pub(crate) decision: Option<Decision>,
    pub(crate) key: Option<Arc<[u8]>>,
    pub(crate) unix_ms: u64,
    pub(crate) branches: Arc<[DecidedBranch]>,
    pub(crate) own: BTreeMap<BranchKey, OwnEntry>,
    pub(crate) acknowledged: Vec<BranchKey>,
    pub(crate) heuristic: BTreeMap<BranchKey, HeuristicEntry>,
    pub(crate) completed: bool,
}

/// A transaction that ended as decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EndedEntry {
    decision: Decision,
    key: Option<Arc<[u8]>>,
    unix_ms: u64,
}

/// What the records of a log say, applied in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    pub(crate) incarnation: Incarnation,
    started_unix_ms: u64,
    pub(crate) clusters: BTreeMap<Arc<str>, Arc<str>>,
    pub(crate) names: BTreeMap<(Arc<str>, Incarnation), Names>,
    /// The last incarnation of each participant whose names were forgotten, as no cluster listed them.
    gone: BTreeMap<Arc<str>, Incarnation>,
    pub(crate) open: Rising<TransactionId, OpenEntry>,
    pub(crate) discarded: BTreeMap<BranchKey, ProducerIdentity>,
    ended: Rising<TransactionId, EndedEntry>,
    ended_order: VecDeque<TransactionId>,
    keys: BTreeSet<(Arc<[u8]>, TransactionId)>,
    outcomes_max: usize,
}

impl Ledger {
    /// An empty ledger that keeps the default number of outcomes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            outcomes_max: crate::Limits::default().outcomes_max,
            ..Self::default()
        }
    }

    /// Keeps at most this many outcomes of ended transactions from now on.
    pub fn set_outcomes_max(&mut self, outcomes_max: usize) {
        self.outcomes_max = outcomes_max;
        self.trim();
    }

    /// The incarnation of the last start.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Takes the next record in.
    ///
    /// # Errors
    /// [`RecordError::Order`] where the record contradicts those before it.
    pub fn apply(&mut self, record: Record) -> Result<(), RecordError> {
        match record {
            Record::Started {
                incarnation,
                unix_ms,
            } => {
                if incarnation <= self.incarnation {
                    return Err(RecordError::Order(format!(
                        "incarnation {} starts after {}",
                        incarnation.0, self.incarnation.0
                    )));
                }
                self.end_names_of(self.incarnation, unix_ms);
                self.incarnation = incarnation;
                self.started_unix_ms = unix_ms;
            }
            Record::ClusterBound {
                participant,
                cluster_id,
            } => {
                self.clusters.insert(participant, cluster_id);
            }
            Record::Names {
                incarnation,
                participant,
                first,
                count,
                unix_ms,
            } => {
                let names = self.names.entry((participant, incarnation)).or_default();
                names.until = names.until.max(first.saturating_add(count));
                names.unix_ms = names.unix_ms.max(unix_ms);
            }
            Record::NamesGone {
                incarnation,
                participant,
            } => {
                self.names.remove(&(participant.clone(), incarnation));
                let gone = self.gone.entry(participant).or_default();
                *gone = incarnation.max(*gone);
            }
            Record::Discarded {
                participant,
                transactional_id,
                producer,
            } => {
                self.discarded
                    .insert((participant, transactional_id), producer);
            }
            Record::DiscardGone {
                participant,
                transactional_id,
                producer,
            } => {
                let key = (participant, transactional_id);
                // Discarded again meanwhile, it is another identity's.
                if self.discarded.get(&key) == Some(&producer) {
                    self.discarded.remove(&key);
                }
            }
            other => self.apply_to_transaction(other)?,
        }
        Ok(())
    }

    fn apply_to_transaction(&mut self, record: Record) -> Result<(), RecordError> {
        match record {
            Record::OwnEnlisted {
                transaction,
                participant,
                transactional_id,
                producer,
                version_class,
            } => {
                let own = OwnEntry {
                    producer,
                    version_class,
                };
                let entry = self.open.get_or_default(transaction);
                entry.own.insert((participant, transactional_id), own);
            }
            Record::Decided {
                transaction,
                key,
                unix_ms,
                branches,
            } => {
                self.decide(transaction, key, unix_ms, branches)?;
            }
            Record::Acknowledged {
                transaction,
                participant,
                transactional_id,
            } => {
                let entry = self
                    .open
                    .get_mut(&transaction)
                    .ok_or_else(|| absent(transaction))?;
                entry.acknowledged.push((participant, transactional_id));
            }
            Record::Heuristic {
                transaction,
                decision,
                participant,
                transactional_id,
                kind,
                detail,
            } => {
                let entry = self.open.get_or_default(transaction);
                entry.decision = Some(decision);
                let heuristic = HeuristicEntry { kind, detail };
                entry
                    .heuristic
                    .insert((participant, transactional_id), heuristic);
            }
            Record::Completed {
                transaction,
                decision,
                key,
                unix_ms,
            } => {
                self.complete(
                    transaction,
                    EndedEntry {
                        decision,
                        key,
                        unix_ms,
                    },
                );
            }
            Record::Forgotten { transaction } => {
                if let Some(entry) = self.open.remove(&transaction) {
                    self.drop_key(entry.key.as_ref(), transaction);
                }
            }
            Record::Started { .. }
            | Record::ClusterBound { .. }
            | Record::Names { .. }
            | Record::NamesGone { .. }
            | Record::Discarded { .. }
            | Record::DiscardGone { .. } => {}
        }
        Ok(())
    }

    fn decide(
        &mut self,
        transaction: TransactionId,
        key: Option<Arc<[u8]>>,
        unix_ms: u64,
        branches: Arc<[DecidedBranch]>,
    ) -> Result<(), RecordError> {
        let decided = |entry: &OpenEntry| entry.decision.is_some();
        if self.open.get(&transaction).is_some_and(decided) || self.ended.contains_key(&transaction)
        {
            return Err(RecordError::Order(format!(
                "{transaction} is decided twice"
            )));
        }
        self.note_key(key.as_ref(), transaction);
        let entry = self.open.get_or_default(transaction);
        entry.decision = Some(Decision::Commit);
        entry.key = key;
        entry.unix_ms = unix_ms;
        entry.branches = branches;
        Ok(())
    }

    fn complete(&mut self, transaction: TransactionId, ended: EndedEntry) {
        if let Some(entry) = self.open.get_mut(&transaction)
            && !entry.heuristic.is_empty()
        {
            entry.completed = true;
            entry.unix_ms = ended.unix_ms;
            entry.key = ended.key.or(entry.key.take());
            let key = entry.key.clone();
            return self.note_key(key.as_ref(), transaction);
        }
        if let Some(entry) = self.open.remove(&transaction) {
            self.drop_key(entry.key.as_ref(), transaction);
        }
        self.note_key(ended.key.as_ref(), transaction);
        if self.ended.insert(transaction, ended).is_none() {
            self.ended_order.push_back(transaction);
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.ended_order.len() > self.outcomes_max {
            if let Some(oldest) = self.ended_order.pop_front()
                && let Some(entry) = self.ended.remove(&oldest)
            {
                self.drop_key(entry.key.as_ref(), oldest);
            }
        }
    }

    fn note_key(&mut self, key: Option<&Arc<[u8]>>, transaction: TransactionId) {
        if let Some(key) = key {
            self.keys.insert((key.clone(), transaction));
        }
    }

    fn drop_key(&mut self, key: Option<&Arc<[u8]>>, transaction: TransactionId) {
        if let Some(key) = key {
            self.keys.remove(&(key.clone(), transaction));
        }
    }

    /// Whether this log made the name known before anybody could initialise it.
    pub(crate) fn knows(&self, participant: &str, incarnation: Incarnation, number: u32) -> bool {
        let forgotten = self.has_forgotten(participant, incarnation);
        let key = (Arc::from(participant), incarnation);
        let names = self.names.get(&key);
        // A coordinator that slept for weeks may bring a forgotten name back: that is no sign of an old copy.
        forgotten || names.is_some_and(|names| number < names.until)
    }

    /// Whether the names of this incarnation were dropped, as no cluster listed them.
    pub(crate) fn has_forgotten(&self, participant: &str, incarnation: Incarnation) -> bool {
        let gone = self.gone.get(participant);
        gone.is_some_and(|gone| incarnation <= *gone)
    }

    /// Whether the records say that a branch of an unfinished transaction needs nothing more.
    pub(crate) fn has_ended(&self, id: TransactionId, key: &BranchKey) -> bool {
        self.open.get(&id).is_some_and(|entry| entry.has_ended(key))
    }

    /// An incarnation initialises names for as long as it lives, its probe with every sweep: what it sent last
    /// may still be under way long after the names were made known (R6).
    fn end_names_of(&mut self, ended: Incarnation, unix_ms: u64) {
        let names = self.names.iter_mut();
        for (_, names) in names.filter(|((_, incarnation), _)| *incarnation == ended) {
            names.unix_ms = names.unix_ms.max(unix_ms);
        }
    }

    /// The records that lead to this state, for a checkpoint.
    pub(crate) fn snapshot(&self, rules: Rules) -> Vec<Record> {
        let mut records = Vec::new();
        records.push(Record::Started {
            incarnation: self.incarnation,
            unix_ms: self.started_unix_ms,
        });
        for (participant, cluster_id) in &self.clusters {
            records.push(Record::ClusterBound {
                participant: participant.clone(),
                cluster_id: cluster_id.clone(),
            });
        }
        for (participant, incarnation) in &self.gone {
            records.push(Record::NamesGone {
                incarnation: *incarnation,
                participant: participant.clone(),
            });
        }
        for ((participant, incarnation), names) in &self.names {
            if rules.lack(Broken::R6Checkpoint) && *incarnation < self.incarnation {
                continue;
            }
            records.push(Record::Names {
                incarnation: *incarnation,
                participant: participant.clone(),
                first: 0,
                count: names.until,
                unix_ms: names.unix_ms,
            });
        }
        for ((participant, transactional_id), producer) in &self.discarded {
            records.push(Record::Discarded {
                participant: participant.clone(),
                transactional_id: transactional_id.clone(),
                producer: *producer,
            });
        }
        for id in &self.ended_order {
            if let Some(ended) = self.ended.get(id) {
                records.push(completed(*id, ended));
            }
        }
        for (id, entry) in self.open.iter() {
            if rules.lack(Broken::CheckpointMixed) && !entry.heuristic.is_empty() {
                continue;
            }
            entry.snapshot(*id, &mut records);
        }
        records
    }

    /// What the records say of a transaction's outcome.
    #[must_use]
    pub fn outcome(&self, id: TransactionId) -> KnownOutcome {
        if let Some(entry) = self.open.get(&id) {
            return match entry.state() {
                TransactionState::Mixed => KnownOutcome::Mixed,
                _ if entry.decision.is_none() => KnownOutcome::Undecided,
                _ => KnownOutcome::InDoubt,
            };
        }
        match self.ended.get(&id).map(|ended| ended.decision) {
            Some(Decision::Commit) => KnownOutcome::Committed,
            Some(Decision::Abort) => KnownOutcome::Aborted,
            None => KnownOutcome::Unknown,
        }
    }

    /// The newest decided transaction with this application key.
    #[must_use]
    pub fn find_key(&self, key: &[u8]) -> Option<TransactionId> {
        let id = |incarnation, sequence| TransactionId {
            incarnation: Incarnation(incarnation),
            sequence,
        };
        let key: Arc<[u8]> = key.into();
        let all = (key.clone(), id(0, 0))..=(key, id(u32::MAX, u64::MAX));
        self.keys.range(all).next_back().map(|(_, id)| *id)
    }

    /// Transactions that are not ended everywhere, or ended otherwise than decided and not forgotten.
    #[must_use]
    pub fn list(&self) -> Vec<TransactionView> {
        self.open
            .iter()
            .map(|(id, entry)| entry.view(*id))
            .collect()
    }

    /// One transaction, also an ended one within the retention.
    #[must_use]
    pub fn describe(&self, id: TransactionId) -> Option<TransactionView> {
        if let Some(entry) = self.open.get(&id) {
            return Some(entry.view(id));
        }
        self.ended.get(&id).map(|ended| TransactionView {
            id,
            key: ended.key.as_ref().map(|key| key.to_vec()),
            state: TransactionState::Ended,
            decision: Some(ended.decision),
            since_unix_ms: ended.unix_ms,
            branches: Vec::new(),
        })
    }
}

fn absent(transaction: TransactionId) -> RecordError {
    RecordError::Order(format!("{transaction} is not open"))
}

fn completed(transaction: TransactionId, ended: &EndedEntry) -> Record {
    Record::Completed {
        transaction,
        decision: ended.decision,
        key: ended.key.clone(),
        unix_ms: ended.unix_ms,
    }
}

impl DecidedBranch {
    fn key(&self) -> BranchKey {
        (
            self.participant.clone(),
            self.identity.transactional_id.clone(),
        )
    }
}

impl OpenEntry {
    fn state(&self) -> TransactionState {
        if !self.heuristic.is_empty() {
            TransactionState::Mixed
        } else if self.decision.is_some() {
            TransactionState::Completing
        } else {
            TransactionState::Active
        }
    }

    fn snapshot(&self, transaction: TransactionId, records: &mut Vec<Record>) {
        for ((participant, transactional_id), own) in &self.own {
            records.push(Record::OwnEnlisted {
                transaction,
                participant: participant.clone(),
                transactional_id: transactional_id.clone(),
                producer: own.producer,
                version_class: own.version_class,
            });
        }
        if self.decision == Some(Decision::Commit) {
            records.push(Record::Decided {
                transaction,
                key: self.key.clone(),
                unix_ms: self.unix_ms,
                branches: self.branches.clone(),
            });
        }
        for (participant, transactional_id) in &self.acknowledged {
            records.push(Record::Acknowledged {
                transaction,
                participant: participant.clone(),
                transactional_id: transactional_id.clone(),
            });
        }
        for ((participant, transactional_id), heuristic) in &self.heuristic {
            records.push(Record::Heuristic {
                transaction,
                decision: self.decision.unwrap_or(Decision::Abort),
                participant: participant.clone(),
                transactional_id: transactional_id.clone(),
                kind: heuristic.kind,
                detail: heuristic.detail.clone(),
            });
        }
        if self.completed {
            records.push(Record::Completed {
                transaction,
                decision: self.decision.unwrap_or(Decision::Abort),
                key: self.key.clone(),
                unix_ms: self.unix_ms,
            });
        }
    }

    /// Whether a record made this branch known.
    pub(crate) fn names(&self, key: &BranchKey) -> bool {
        self.own.contains_key(key) || self.is_decided(key)
    }

    fn is_decided(&self, key: &BranchKey) -> bool {
        self.branches.iter().any(|branch| branch.key() == *key)
    }

    /// Whether the decision to commit says nothing of it: nothing was written.
    fn was_left_out(&self, key: &BranchKey) -> bool {
        self.decision == Some(Decision::Commit) && !self.is_decided(key)
    }

    /// Whether a start would leave this branch alone.
    fn has_ended(&self, key: &BranchKey) -> bool {
        self.was_left_out(key)
            || self.acknowledged.contains(key)
            || self.heuristic.contains_key(key)
    }

    /// The branches that a start has to end, with the identity to end them by.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &DecidedBranch> {
        let branches = self.branches.iter();
        branches.filter(|branch| !self.has_ended(&branch.key()))
    }

    /// The own branches that a start has to abort.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = (Arc<str>, BranchIdentity)> + '_ {
        self.own
            .iter()
            .filter(|(key, _)| self.decision != Some(Decision::Commit) && !self.has_ended(key))
            .map(|((participant, name), own)| {
                let identity = BranchIdentity {
                    transactional_id: name.clone(),
                    producer: own.producer,
                    start_time_ms: -1,
                    timeout_ms: 0,
                    version_class: own.version_class,
                };
                (participant.clone(), identity)
            })
    }
}

#[cfg(test)]
mod tests;
