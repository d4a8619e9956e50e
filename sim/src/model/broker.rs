//! A model of one cluster: its broker transaction coordinator, one topic partition and one consumer group.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{BrokerState, Decision, Inquiry, ListedTransaction, ProducerIdentity, VersionClass};

pub use super::call::{Call, Fate, Reply, Tag, code, control_version, writer_version};
use super::entry::{Effect, Entry, Verdict};
use super::group::Group;
use super::numbers::Numbers;
use super::partition::Partition;

/// `transactional.id.expiration.ms` of a stock broker.
pub const ID_EXPIRATION_US: u64 = 7 * 24 * 3600 * 1_000_000;

/// One cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broker {
    /// It answers.
    pub up: bool,
    /// The finalised feature `transaction.version`.
    pub transaction_version: i16,
    /// `transaction.max.timeout.ms`.
    pub ceiling_ms: i32,
    /// The epoch of a transactional.id at its first initialisation: above 0 it stands for one of old age.
    pub first_epoch: i16,
    /// How far its clock is ahead of the world's.
    pub skew_ms: i64,
    /// How long after the answer markers are written.
    pub marker_delay_us: u64,
    numbers: Numbers,
    entries: BTreeMap<Arc<str>, Entry>,
    /// What became of every transaction that was ever opened here.
    pub fates: BTreeMap<Tag, Fate>,
    starts: BTreeMap<(Arc<str>, i64), Tag>,
    /// The data.
    pub partition: Partition,
    /// The offsets.
    pub group: Group,
}

impl Broker {
    /// A new cluster.
    pub fn new(transaction_version: i16, first_epoch: i16, skew_ms: i64) -> Self {
        Self {
            up: true,
            transaction_version,
            ceiling_ms: 90_000,
            first_epoch,
            skew_ms,
            marker_delay_us: 0,
            numbers: Numbers::from(1000),
            entries: BTreeMap::new(),
            fates: BTreeMap::new(),
            starts: BTreeMap::new(),
            partition: Partition::default(),
            group: Group::default(),
        }
    }

    /// The same cluster, which gives out producer ids from this one on.
    #[must_use]
    pub fn with_ids_from(self, next_id: i64) -> Self {
        let numbers = Numbers::from(next_id);
        Self { numbers, ..self }
    }

    /// The same cluster, whose producer ids and start times do not tell in which order names were used.
    #[must_use]
    pub fn with_numbers_by_name(self) -> Self {
        let numbers = Numbers::by_name();
        Self { numbers, ..self }
    }

    /// The tag that is open under an id.
    pub fn open_tag(&self, id: &str) -> Option<&Tag> {
        let entry = self.entries.get(id)?;
        let ongoing = entry.state == BrokerState::Ongoing;
        entry.open.as_ref().filter(|_| ongoing)
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
        let expires_ms = entry.start_ms - self.skew_ms + i64::from(entry.timeout_ms);
        open.then(|| u64::try_from(expires_ms).unwrap_or(0) * 1000)
    }

    /// A repeat of a committed branch's own AddPartitionsToTxn opened it: there is no record in it.
    pub fn is_empty_repeat(&self, tag: &Tag) -> bool {
        let first = Tag {
            stray: false,
            ..tag.clone()
        };
        tag.stray && self.fates.get(&first) == Some(&Fate::Committed)
    }

    /// Markers of an id are still being written.
    pub fn is_ending(&self, id: &str) -> bool {
        let entry = self.entries.get(id);
        entry.is_some_and(Entry::is_ending)
    }

    /// All tags that are open.
    pub fn open_tags(&self) -> impl Iterator<Item = &Tag> {
        let open = |entry: &&Entry| entry.state == BrokerState::Ongoing;
        let entries = self.entries.values().filter(open);
        entries.filter_map(|entry| entry.open.as_ref())
    }

    /// Executes a request.
    pub fn call(&mut self, call: &Call, now_us: u64) -> Reply {
        let verdict = match call {
            Call::Init { id, timeout_ms } => self.init(id, *timeout_ms, now_us),
            Call::End { .. } => {
                let verdict = self.end(call, now_us);
                verdict.map_err(|found| worded(found, end_words(call)))
            }
            Call::Add { id, producer, tag } => self.join_partition(id, *producer, tag, now_us),
            Call::Write { .. } => self.write(call, now_us),
            Call::Offsets { .. } => self.pend(call, now_us),
        };
        verdict.map_or_else(Reply::Code, Reply::Done)
    }

    /// By the broker's clock.
    fn next_start_ms(&self, id: &Arc<str>, now_us: u64) -> i64 {
        let clock_ms = (now_us / 1000) as i64 + self.skew_ms;
        self.numbers.start_ms(id, clock_ms)
    }

    fn init(
        &mut self,
        id: &Arc<str>,
        timeout_ms: i32,
        now_us: u64,
    ) -> Result<ProducerIdentity, i16> {
        if timeout_ms <= 0 || timeout_ms > self.ceiling_ms {
            return Err(code::INVALID_TRANSACTION_TIMEOUT);
        }
        let fresh_id = self.numbers.fresh_id(id);
        let Some(entry) = self.entries.get_mut(id) else {
            let producer = ProducerIdentity {
                producer_id: fresh_id,
                epoch: self.first_epoch,
            };
            let mut entry = Entry::new(producer, timeout_ms);
            entry.touched_us = now_us;
            self.entries.insert(id.clone(), entry);
            self.numbers.note_id(producer.producer_id);
            return Ok(producer);
        };
        if entry.state == BrokerState::Ongoing {
            entry.fence();
            entry.touched_us = now_us;
            let tag = entry.open.clone();
            self.settle_tag(tag, Fate::Aborted);
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        let (producer, _) = entry.init(timeout_ms, fresh_id)?;
        entry.touched_us = now_us;
        // Kafka 4.0 still shows the start of the transaction before.
        if self.transaction_version >= 2 {
            entry.start_ms = -1;
        }
        self.numbers.note_id(producer.producer_id);
        Ok(producer)
    }

    fn settle_tag(&mut self, tag: Option<Tag>, fate: Fate) {
        if let Some(tag) = tag {
            let before = self.fates.insert(tag.clone(), fate);
            assert_eq!(before, Some(Fate::Open), "model: {tag:?} ended twice");
        }
    }

    fn join(
        &mut self,
        id: &Arc<str>,
        producer: ProducerIdentity,
        tag: &Tag,
        now_us: u64,
    ) -> Result<ProducerIdentity, i16> {
        let start_ms = self.next_start_ms(id, now_us);
        let entry = self.entries.get_mut(id);
        let entry = entry.ok_or(code::INVALID_PRODUCER_ID_MAPPING)?;
        let joined = entry.join(producer);
        let (producer, effect) =
            joined.map_err(|found| worded(found, code::INVALID_PRODUCER_EPOCH))?;
        entry.touched_us = now_us;
        if effect == Effect::Begins {
            entry.start_ms = start_ms;
            entry.open = Some(tag.clone());
            self.numbers.note_start(id, start_ms);
            self.starts
                .insert((id.clone(), entry.start_ms), tag.clone());
            self.fates.insert(tag.clone(), Fate::Open);
        }
        Ok(producer)
    }

    fn join_partition(
        &mut self,
        id: &Arc<str>,
        producer: ProducerIdentity,
        tag: &Tag,
        now_us: u64,
    ) -> Result<ProducerIdentity, i16> {
        self.join(id, producer, tag, now_us)?;
        if let Some(entry) = self.entries.get_mut(id) {
            entry.has_partition = true;
        }
        Ok(producer)
    }

    /// A v1 client's record must find its partition in the transaction; a v2 client's brings it in.
    fn write(&mut self, call: &Call, now_us: u64) -> Result<ProducerIdentity, i16> {
        let Call::Write {
            id,
            producer,
            class,
            tag,
            number,
        } = call
        else {
            unreachable!("only Write is written");
        };
        let other = |open: &Tag| open.transaction != tag.transaction;
        if self.open_tag(id).is_some_and(other)
            && self.producer(id) == Some(*producer)
            && !self.is_awaited(*producer, tag, *number)
        {
            return Err(code::OUT_OF_ORDER_SEQUENCE_NUMBER);
        }
        match class {
            VersionClass::V1 => self.verify(id, *producer)?,
            VersionClass::V2 => {
                self.join_partition(id, *producer, tag, now_us)?;
            }
        }
        self.partition
            .append(producer.producer_id, tag.clone(), *number);
        Ok(*producer)
    }

    /// A late record has the sequence number that is expected of its producer, where nothing was written by it since, in
    /// whatever transaction.
    fn is_awaited(&self, producer: ProducerIdentity, tag: &Tag, number: u64) -> bool {
        let over = self.fates.get(tag).is_some_and(|fate| *fate != Fate::Open);
        over && self.partition.last_number(producer.producer_id) < Some(number)
    }

    fn verify(&self, id: &str, producer: ProducerIdentity) -> Result<(), i16> {
        let entry = self.entries.get(id);
        let entry = entry.ok_or(code::INVALID_TXN_STATE)?;
        if entry.producer.producer_id != producer.producer_id {
            return Err(code::INVALID_TXN_STATE);
        }
        if entry.producer.epoch != producer.epoch {
            return Err(code::INVALID_PRODUCER_EPOCH);
        }
        match entry.state {
            BrokerState::Ongoing if entry.has_partition => Ok(()),
            _ if entry.is_ending() => Err(code::NOT_ENOUGH_REPLICAS),
            _ => Err(code::INVALID_TXN_STATE),
        }
    }

    fn pend(&mut self, call: &Call, now_us: u64) -> Result<ProducerIdentity, i16> {
        let Call::Offsets {
            id,
            producer,
            tag,
            generation,
            offset,
            ..
        } = call
        else {
            unreachable!("only Offsets are pended");
        };
        self.join(id, *producer, tag, now_us)?;
        let pending = (*offset, tag.clone());
        self.group
            .pend(producer.producer_id, *generation, pending)?;
        Ok(*producer)
    }

    fn end(&mut self, call: &Call, now_us: u64) -> Result<ProducerIdentity, i16> {
        let Call::End {
            id,
            producer,
            version,
            decision,
            ..
        } = call
        else {
            unreachable!("only End ends");
        };
        let fresh_id = self.numbers.fresh_id(id);
        let start_ms = self.next_start_ms(id, now_us);
        let entry = self.entries.get_mut(id);
        let entry = entry.ok_or(code::INVALID_PRODUCER_ID_MAPPING)?;
        let verdict: Verdict = if *version >= 5 {
            entry.end_v2(*producer, *decision, fresh_id)
        } else {
            entry.end_v1(*producer, *decision)
        };
        let (next, effect) = verdict?;
        entry.touched_us = now_us;
        if effect == Effect::EndsEmpty {
            entry.start_ms = start_ms;
            self.numbers.note_start(id, start_ms);
        } else if let Effect::Ends(decision) = effect {
            let fate = match decision {
                Decision::Commit => Fate::Committed,
                Decision::Abort => Fate::Aborted,
            };
            let tag = entry.open.clone();
            self.settle_tag(tag, fate);
        }
        self.numbers.note_id(next.producer_id);
        Ok(next)
    }

    /// Markers are written that are due, and what is too old is aborted or forgotten.
    pub fn tick(&mut self, now_us: u64) {
        self.write_markers(now_us.saturating_sub(self.marker_delay_us));
        let clock_ms = (now_us / 1000) as i64 + self.skew_ms;
        let mut expired = Vec::new();
        for entry in self.entries.values_mut() {
            let age_ms = clock_ms - entry.start_ms;
            if entry.state == BrokerState::Ongoing && age_ms >= i64::from(entry.timeout_ms) {
                entry.fence();
                entry.touched_us = now_us;
                expired.push(entry.open.clone());
            }
        }
        for tag in expired {
            self.settle_tag(tag, Fate::Aborted);
        }
        let idle = |entry: &Entry| now_us.saturating_sub(entry.touched_us) >= ID_EXPIRATION_US;
        self.entries
            .retain(|_, entry| entry.state.is_open() || !idle(entry));
    }

    /// The markers of what was ended by then reach the partition and the group: only now do readers see it.
    pub fn write_markers(&mut self, ended_us: u64) {
        let due = |entry: &&mut Entry| entry.is_ending() && entry.touched_us <= ended_us;
        for entry in self.entries.values_mut().filter(due) {
            let committed = entry.complete();
            self.partition.end(entry.ends_id, committed);
            self.group.end(entry.ends_id, committed);
        }
    }

    /// DescribeTransactions.
    pub fn describe(&self, id: &str) -> Inquiry {
        let entry = self.entries.get(id);
        entry.map_or(Inquiry::NotFound, |entry| {
            Inquiry::Described(entry.description())
        })
    }

    /// The producer that an id belongs to now.
    pub fn producer(&self, id: &str) -> Option<ProducerIdentity> {
        self.entries.get(id).map(|entry| entry.producer)
    }

    /// ListTransactions, of the ids with this prefix.
    pub fn list(&self, prefix: &str) -> Vec<ListedTransaction> {
        let from = Arc::from(prefix);
        let entries = self.entries.range::<Arc<str>, _>(from..);
        let entries = entries.take_while(|(id, _)| id.starts_with(prefix));
        entries
            .map(|(id, entry)| ListedTransaction {
                transactional_id: id.clone(),
                producer_id: entry.producer.producer_id,
                state: entry.state,
            })
            .collect()
    }
}

/// How EndTxn calls a fence, by its version.
fn end_words(call: &Call) -> i16 {
    match call {
        Call::End { version, .. } if *version < 2 => code::INVALID_PRODUCER_EPOCH,
        _ => code::PRODUCER_FENCED,
    }
}

/// A fence has several names, by request and version.
fn worded(found: i16, fenced: i16) -> i16 {
    if found == code::PRODUCER_FENCED {
        fenced
    } else {
        found
    }
}
