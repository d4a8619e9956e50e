//! Batches and the offsets they stand for.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};

use super::link::{Link, Offsets};
use super::settings::BatchLimits;
use crate::kafka::error::DataErrorKind;
use crate::kafka::record::{ConsumedRecord, PartitionOffset};

/// The group as it was when the partitions were assigned: who, in which generation.
pub(in crate::kafka) struct Membership {
    pub(super) participant: Arc<str>,
    pub(super) group: Arc<str>,
    pub(super) metadata: ConsumerGroupMetadata,
}

/// Records, and the offsets after them.
pub struct Batch {
    /// The records; within a partition in their order.
    pub records: Vec<ConsumedRecord>,
    offsets: GroupOffsets,
    sequence: u64,
}

impl Batch {
    pub(super) fn new(records: Vec<ConsumedRecord>, offsets: GroupOffsets, sequence: u64) -> Self {
        Self {
            records,
            offsets,
            sequence,
        }
    }

    /// The offsets to send into the transaction that holds what was made of the records.
    #[must_use]
    pub fn offsets(&self) -> &GroupOffsets {
        &self.offsets
    }

    /// The offsets, to give them metadata.
    pub fn offsets_mut(&mut self) -> &mut GroupOffsets {
        &mut self.offsets
    }

    /// Whether its offsets would be refused: the group has rebalanced, or an earlier batch is
    /// read again.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.offsets.is_stale()
    }

    /// The transaction with its offsets has committed. Returns the records.
    pub fn done(mut self) -> Vec<ConsumedRecord> {
        self.offsets.link.finish(self.sequence);
        std::mem::take(&mut self.records)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.offsets.link.abandon(self.sequence);
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("records", &self.records.len())
            .field("offsets", &self.offsets.offsets)
            .field("is_stale", &self.is_stale())
            .finish()
    }
}

/// Offsets of a consumer group that gtc reads for, with generation and member.
#[derive(Clone)]
pub struct GroupOffsets {
    offsets: Vec<PartitionOffset>,
    membership: Arc<Membership>,
    link: Arc<Link>,
    epoch: u64,
}

impl GroupOffsets {
    pub(super) fn new(
        offsets: Vec<PartitionOffset>,
        membership: Arc<Membership>,
        link: Arc<Link>,
        epoch: u64,
    ) -> Self {
        Self {
            offsets,
            membership,
            link,
            epoch,
        }
    }

    /// The next offset to read of each partition that the batch moved.
    #[must_use]
    pub fn positions(&self) -> &[PartitionOffset] {
        &self.offsets
    }

    /// The participant that the consumer reads from.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.membership.participant
    }

    /// The consumer group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.membership.group
    }

    /// Sets the text that the group coordinator keeps with each offset.
    pub fn set_metadata(&mut self, text: impl Fn(&str, i32) -> String) {
        for place in &mut self.offsets {
            place.metadata = text(&place.topic, place.partition);
        }
    }

    fn is_stale(&self) -> bool {
        self.link.epoch() != self.epoch
    }

    /// Refuses a writer of another participant, and offsets that are stale already.
    pub(in crate::kafka) fn check_for(
        &self,
        participant: &str,
    ) -> Result<(), (DataErrorKind, String)> {
        let reads_from = self.participant();
        if reads_from != participant {
            let why = format!(
                "the group {} is one of participant {reads_from}, and these offsets were to be \
                 stored in participant {participant}, where no reader of {reads_from} looks",
                self.group()
            );
            return Err((DataErrorKind::ForeignGroup, why));
        }
        if self.is_stale() {
            let why = "the batch is stale: its records are read again, here or elsewhere";
            return Err((DataErrorKind::GroupMoved, why.to_owned()));
        }
        Ok(())
    }

    pub(in crate::kafka) fn to_list(&self) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::with_capacity(self.offsets.len());
        for place in &self.offsets {
            let mut element = list.add_partition(&place.topic, place.partition);
            element.set_offset(Offset::Offset(place.offset))?;
            if !place.metadata.is_empty() {
                element.set_metadata(&place.metadata);
            }
        }
        Ok(list)
    }

    pub(in crate::kafka) fn membership(&self) -> Arc<Membership> {
        self.membership.clone()
    }
}

impl Membership {
    pub(in crate::kafka) fn metadata(&self) -> &ConsumerGroupMetadata {
        &self.metadata
    }
}

/// The batch that is being read.
#[derive(Default)]
pub(super) struct Building {
    pub(super) records: Vec<ConsumedRecord>,
    pub(super) starts: Offsets,
    pub(super) ends: Offsets,
    bytes: usize,
    since: Option<Instant>,
}

impl Building {
    /// Takes a record in, which was expected at `start`.
    pub(super) fn add(&mut self, record: ConsumedRecord, start: i64) {
        let place = (record.topic.clone(), record.partition);
        self.bytes += size(&record);
        self.advance(place, start, record.offset + 1);
        self.records.push(record);
    }

    /// Moves a partition from `start` to `end` without a record.
    pub(super) fn advance(&mut self, place: (Arc<str>, i32), start: i64, end: i64) {
        self.since.get_or_insert_with(Instant::now);
        self.starts.entry(place.clone()).or_insert(start);
        self.ends.insert(place, end);
    }

    pub(super) fn is_due(&self, limits: &BatchLimits) -> bool {
        let waited = |since: Instant| since.elapsed() >= limits.linger;
        self.records.len() >= limits.records_max
            || self.bytes >= limits.bytes_max
            || self.since.is_some_and(waited)
    }

    /// How long until the linger ends; `None` if nothing was read yet.
    pub(super) fn time_left(&self, limits: &BatchLimits) -> Option<std::time::Duration> {
        self.since
            .map(|since| limits.linger.saturating_sub(since.elapsed()))
    }
}

/// What a record occupies, roughly.
fn size(record: &ConsumedRecord) -> usize {
    let length = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
    let headers = record
        .headers
        .iter()
        .map(|(key, value)| key.len() + length(value));
    length(&record.key) + length(&record.value) + headers.sum::<usize>()
}
