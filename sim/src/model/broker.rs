//! A model of one cluster's broker transaction coordinator, after the tables of kafka-facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    BrokerState, Decision, Inquiry, ListedTransaction, ProducerIdentity, TransactionDescription,
    TransactionId, VersionClass,
};

/// What a broker transaction was opened for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The global transaction.
    pub transaction: TransactionId,
    /// The participant's index.
    pub participant: usize,
    /// The transactional.id.
    pub name: Arc<str>,
    /// Opened by a request that arrived after its branch was over: must never commit.
    pub stray: bool,
}

/// What became of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    Open,
    Committed,
    Aborted,
}

/// A request that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Init {
        id: Arc<str>,
        timeout_ms: i32,
    },
    End {
        id: Arc<str>,
        producer: ProducerIdentity,
        class: VersionClass,
        decision: Decision,
        /// The transaction that its sender means.
        intent: Option<Tag>,
    },
    Add {
        id: Arc<str>,
        producer: ProducerIdentity,
        tag: Tag,
    },
}

impl Call {
    /// The transactional.id that it is about.
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Init { id, .. } | Self::End { id, .. } | Self::Add { id, .. } => id,
        }
    }

    /// The transaction that its sender means.
    pub fn intent(&self) -> Option<&Tag> {
        match self {
            Self::End { intent, .. } => intent.as_ref(),
            Self::Add { tag, .. } => Some(tag),
            Self::Init { .. } => None,
        }
    }
}

/// The answer to a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    Done(ProducerIdentity),
    Code(i16),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    producer: ProducerIdentity,
    state: BrokerState,
    start_ms: i64,
    timeout_ms: i32,
    began_us: u64,
    open: Option<Tag>,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broker {
    pub up: bool,
    pub transaction_version: i16,
    pub ceiling_ms: i32,
    pub first_epoch: i16,
    skew_ms: i64,
    next_id: i64,
    last_start_ms: i64,
    entries: BTreeMap<Arc<str>, Entry>,
    pub fates: BTreeMap<Tag, Fate>,
    starts: BTreeMap<(Arc<str>, i64), Tag>,
}

const MAX_EPOCH: i16 = i16::MAX - 1;

impl Broker {
    pub fn new(transaction_version: i16, first_epoch: i16, skew_ms: i64) -> Self {
        Self {
            up: true,
            transaction_version,
            ceiling_ms: 90_000,
            first_epoch,
            skew_ms,
            next_id: 1000,
            last_start_ms: 0,
            entries: BTreeMap::new(),
            fates: BTreeMap::new(),
            starts: BTreeMap::new(),
        }
    }

    /// The tag that is open under an id.
    pub fn open_tag(&self, id: &str) -> Option<&Tag> {
        let entry = self.entries.get(id)?;
        entry
            .open
            .as_ref()
            .filter(|_| entry.state == BrokerState::Ongoing)
    }

    /// The tag that began under an id at that time.
    pub fn started_at(&self, id: &Arc<str>, start_ms: i64) -> Option<&Tag> {
        self.starts.get(&(id.clone(), start_ms))
    }

    /// How long a tag stays open if nobody ends it, in microseconds of the world's clock; `None` if it is
    /// not open.
    pub fn expires_us(&self, tag: &Tag) -> Option<u64> {
        let entry = self.entries.get(&tag.name)?;
        let open = entry.state == BrokerState::Ongoing && entry.open.as_ref() == Some(tag);
        open.then(|| entry.began_us + entry.timeout_ms.unsigned_abs() as u64 * 1000)
    }

    /// A repeat of a committed branch's own AddPartitionsToTxn opened it: there is no record in it.
    pub fn is_empty_repeat(&self, tag: &Tag) -> bool {
        let first = Tag {
            stray: false,
            ..tag.clone()
        };
        tag.stray && self.fates.get(&first) == Some(&Fate::Committed)
    }

    /// Seven days without use: every id that is not open is forgotten.
    pub fn expire_idle(&mut self) {
        let used = |entry: &Entry| entry.state.is_open();
        self.entries.retain(|_, entry| used(entry));
    }

    /// All tags that are open.
    pub fn open_tags(&self) -> impl Iterator<Item = &Tag> {
        let open = |entry: &&Entry| entry.state == BrokerState::Ongoing;
        self.entries
            .values()
            .filter(open)
            .filter_map(|entry| entry.open.as_ref())
    }

    pub fn call(&mut self, call: &Call, now_us: u64) -> Reply {
        match call {
            Call::Init { id, timeout_ms } => self.init(id, *timeout_ms),
            Call::End {
                id,
                producer,
                class,
                decision,
                ..
            } => self.end(id, *producer, (*class, *decision)),
            Call::Add { id, producer, tag } => self.add(id, *producer, tag, now_us),
        }
    }

    fn init(&mut self, id: &Arc<str>, timeout_ms: i32) -> Reply {
        if timeout_ms > self.ceiling_ms {
            return Reply::Code(50);
        }
        let fresh = ProducerIdentity {
            producer_id: self.next_id,
            epoch: self.first_epoch,
        };
        let Some(entry) = self.entries.get_mut(id) else {
            self.next_id += 1;
            let entry = Entry {
                producer: fresh,
                state: BrokerState::Empty,
                start_ms: -1,
                timeout_ms,
                began_us: 0,
                open: None,
            };
            self.entries.insert(id.clone(), entry);
            return Reply::Done(fresh);
        };
        match entry.state {
            BrokerState::Ongoing => {
                entry.state = BrokerState::PrepareEpochFence;
                entry.producer.epoch = entry.producer.epoch.saturating_add(1);
                let tag = entry.open.clone();
                self.settle_tag(tag, Fate::Aborted);
                Reply::Code(51)
            }
            BrokerState::PrepareCommit
            | BrokerState::PrepareAbort
            | BrokerState::PrepareEpochFence => Reply::Code(51),
            _ => {
                if entry.producer.epoch >= MAX_EPOCH {
                    entry.producer = ProducerIdentity { epoch: 0, ..fresh };
                    self.next_id += 1;
                } else {
                    entry.producer.epoch += 1;
                }
                entry.state = BrokerState::Empty;
                entry.start_ms = -1;
                entry.timeout_ms = timeout_ms;
                entry.open = None;
                Reply::Done(entry.producer)
            }
        }
    }

    fn settle_tag(&mut self, tag: Option<Tag>, fate: Fate) {
        if let Some(tag) = tag {
            let before = self.fates.insert(tag.clone(), fate);
            assert_eq!(before, Some(Fate::Open), "model: {tag:?} ended twice");
        }
    }

    /// AddPartitionsToTxn, or the first Produce of a v2 client.
    fn add(&mut self, id: &Arc<str>, producer: ProducerIdentity, tag: &Tag, now_us: u64) -> Reply {
        let clock_ms = (now_us / 1000) as i64 + self.skew_ms;
        let start_ms = clock_ms.max(self.last_start_ms + 1);
        let Some(entry) = self.entries.get_mut(id) else {
            return Reply::Code(49);
        };
        if entry.producer != producer {
            return Reply::Code(90);
        }
        match entry.state {
            BrokerState::Ongoing => return Reply::Done(producer),
            BrokerState::PrepareCommit
            | BrokerState::PrepareAbort
            | BrokerState::PrepareEpochFence => return Reply::Code(51),
            _ => {}
        }
        entry.state = BrokerState::Ongoing;
        entry.start_ms = start_ms;
        entry.began_us = now_us;
        entry.open = Some(tag.clone());
        self.last_start_ms = start_ms;
        self.starts.insert((id.clone(), start_ms), tag.clone());
        self.fates.insert(tag.clone(), Fate::Open);
        Reply::Done(producer)
    }

    fn end(
        &mut self,
        id: &Arc<str>,
        producer: ProducerIdentity,
        (class, decision): (VersionClass, Decision),
    ) -> Reply {
        let rolled = ProducerIdentity {
            producer_id: self.next_id,
            epoch: 0,
        };
        let Some(entry) = self.entries.get_mut(id) else {
            return Reply::Code(49);
        };
        let before = entry.producer;
        let same = before == producer;
        let moved = class == VersionClass::V2
            && before.producer_id == producer.producer_id
            && before.epoch == producer.epoch.saturating_add(1);
        if !same && !moved {
            return Reply::Code(fenced(class));
        }
        let commit = decision == Decision::Commit;
        match entry.state {
            BrokerState::Ongoing if same => {
                entry.state = match decision {
                    Decision::Commit => BrokerState::PrepareCommit,
                    Decision::Abort => BrokerState::PrepareAbort,
                };
                if class == VersionClass::V2 {
                    if entry.producer.epoch >= MAX_EPOCH {
                        entry.producer = rolled;
                        self.next_id += 1;
                    } else {
                        entry.producer.epoch += 1;
                    }
                }
                let (next, tag) = (entry.producer, entry.open.clone());
                let fate = if commit {
                    Fate::Committed
                } else {
                    Fate::Aborted
                };
                self.settle_tag(tag, fate);
                Reply::Done(next)
            }
            BrokerState::Ongoing => Reply::Code(fenced(class)),
            BrokerState::PrepareCommit
            | BrokerState::PrepareAbort
            | BrokerState::PrepareEpochFence => Reply::Code(51),
            BrokerState::CompleteCommit if commit => Reply::Done(before),
            BrokerState::CompleteAbort if !commit => Reply::Done(before),
            BrokerState::Empty if !commit && class == VersionClass::V2 => Reply::Done(before),
            _ => Reply::Code(48),
        }
    }

    /// Markers are written, and what is too old is aborted.
    pub fn tick(&mut self, now_us: u64) {
        let mut expired = Vec::new();
        for entry in self.entries.values_mut() {
            entry.state = match entry.state {
                BrokerState::PrepareCommit => BrokerState::CompleteCommit,
                BrokerState::PrepareAbort | BrokerState::PrepareEpochFence => {
                    BrokerState::CompleteAbort
                }
                other => other,
            };
            let age_us = now_us.saturating_sub(entry.began_us);
            let timeout_us = entry.timeout_ms.unsigned_abs() as u64 * 1000;
            if entry.state == BrokerState::Ongoing && age_us >= timeout_us {
                entry.state = BrokerState::PrepareAbort;
                entry.producer.epoch = entry.producer.epoch.saturating_add(1);
                expired.push(entry.open.clone());
            }
        }
        for tag in expired {
            self.settle_tag(tag, Fate::Aborted);
        }
    }

    pub fn describe(&self, id: &str) -> Inquiry {
        self.entries.get(id).map_or(Inquiry::NotFound, |entry| {
            Inquiry::Described(TransactionDescription {
                state: entry.state,
                producer: entry.producer,
                start_time_ms: entry.start_ms,
                timeout_ms: entry.timeout_ms,
            })
        })
    }

    /// The producer that an id belongs to now.
    pub fn producer(&self, id: &str) -> Option<ProducerIdentity> {
        self.entries.get(id).map(|entry| entry.producer)
    }

    pub fn list(&self, prefix: &str) -> Vec<ListedTransaction> {
        let entries = self.entries.iter();
        entries
            .filter(|(id, _)| id.starts_with(prefix))
            .map(|(id, entry)| ListedTransaction {
                transactional_id: id.clone(),
                producer_id: entry.producer.producer_id,
                state: entry.state,
            })
            .collect()
    }
}

fn fenced(class: VersionClass) -> i16 {
    match class {
        VersionClass::V1 => 47,
        VersionClass::V2 => 90,
    }
}
