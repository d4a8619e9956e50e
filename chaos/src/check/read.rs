//! Reading a cluster as a read_committed consumer does, from the beginning to the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

use super::{ClusterView, PartitionView, Seen};
use crate::error::{Context, Error, Result};
use crate::journal::{Entry, Journal};
use crate::kafka::{Connection, Isolation, QUESTION_TIMEOUT, patiently};
use crate::record::Record;

/// The group of readers, which never commits anything.
const READER: &str = "gtc-chaos-checker";

/// After this long without a record or an end of a partition, a reading has failed.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(60);

/// Where readers of a partition come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The last stable offset.
    pub stable: i64,
    /// The high watermark.
    pub high: i64,
}

/// Reads all that `topic` shows. Where readers are held back it first waits for up to `settle`: a marker that is
/// under way is no anomaly, one that does not come is.
///
/// # Errors
/// The cluster does not answer, or has no such topic.
pub fn read_cluster(connection: &Connection, topic: &str, settle: Duration) -> Result<ClusterView> {
    let mut view = ClusterView {
        cluster: connection.name.clone(),
        ..ClusterView::default()
    };
    let ends = ends(connection, topic, settle)?;
    for (partition, Ends { stable, high }) in &ends {
        let shown = PartitionView {
            records: Vec::new(),
            stable: *stable,
            high: *high,
        };
        view.partitions.insert(*partition, shown);
    }
    read_records(connection, topic, ends.keys().copied(), &mut |message| {
        if let Some(shown) = view.partitions.get_mut(&message.partition()) {
            shown.records.push(seen(message));
        }
    })?;
    Ok(view)
}

/// The ends of all partitions of `topic`. Where readers are held back it waits for up to `settle`.
///
/// # Errors
/// The cluster does not answer, or has no such topic.
pub fn ends(connection: &Connection, topic: &str, settle: Duration) -> Result<BTreeMap<i32, Ends>> {
    let consumer = connection.consumer(Isolation::Committed, READER)?;
    let every = connection.consumer(Isolation::Uncommitted, READER)?;
    let deadline = Instant::now() + settle;
    let partitions = connection.partitions(topic)?;
    loop {
        let ask = |consumer| ends_for(connection, consumer, (topic, &partitions));
        let (stable, high) = (ask(&consumer)?, ask(&every)?);
        // Asked one after the other: a commit in between moves the second only.
        let both = stable.into_iter().zip(high);
        let ends: BTreeMap<i32, Ends> = both
            .map(|((partition, stable), (_, high))| {
                let high = high.max(stable);
                (partition, Ends { stable, high })
            })
            .collect();
        let held_back = ends.values().any(|end| end.stable < end.high);
        if !held_back || Instant::now() >= deadline {
            return Ok(ends);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The end of each partition, as this consumer may read it: one question for all, as a topic of groups has fifty.
fn ends_for(
    connection: &Connection,
    consumer: &BaseConsumer,
    (topic, partitions): (&str, &[i32]),
) -> Result<BTreeMap<i32, i64>> {
    let doing = format!("{}: ask for the ends of {topic}", connection.name);
    let mut list = TopicPartitionList::new();
    for partition in partitions {
        // In the place of a point in time it stands for the latest.
        list.add_partition_offset(topic, *partition, Offset::End)
            .context(&doing)?;
    }
    let answered = patiently(|| {
        let found = consumer.offsets_for_times(list.clone(), QUESTION_TIMEOUT)?;
        let offsets = found.elements().into_iter().map(|element| {
            element.error()?;
            Ok((element.partition(), element.offset().to_raw()))
        });
        offsets.collect::<std::result::Result<Vec<_>, KafkaError>>()
    });
    let mut ends = BTreeMap::new();
    for (partition, end) in answered.context(&doing)? {
        let end = end.ok_or_else(|| Error::new(format!("{doing}: none for {partition}")))?;
        ends.insert(partition, end);
    }
    Ok(ends)
}

/// Hands over what a read_committed consumer gets of these partitions, from the beginning to the end.
///
/// # Errors
/// The cluster does not answer.
pub fn read_records(
    connection: &Connection,
    topic: &str,
    partitions: impl Iterator<Item = i32>,
    take: &mut dyn FnMut(&BorrowedMessage<'_>),
) -> Result<()> {
    let doing = format!("{}: read {topic}", connection.name);
    let consumer = connection.consumer(Isolation::Committed, READER)?;
    let mut unread: BTreeSet<i32> = partitions.collect();
    let mut list = TopicPartitionList::new();
    for partition in &unread {
        list.add_partition_offset(topic, *partition, Offset::Beginning)
            .context(&doing)?;
    }
    consumer.assign(&list).context(&doing)?;
    let mut last_progress = Instant::now();
    while !unread.is_empty() {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => take(&message),
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                unread.remove(&partition);
            }
            // Errors of transport heal by themselves, or else no progress is made.
            Some(Err(_)) | None => {
                if last_progress.elapsed() > PROGRESS_TIMEOUT {
                    return Err(Error::new(format!(
                        "{doing}: no end of partitions {unread:?}"
                    )));
                }
                continue;
            }
        }
        last_progress = Instant::now();
    }
    Ok(())
}

fn seen(message: &BorrowedMessage<'_>) -> Seen {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        let owned = |header: rdkafka::message::Header<'_, &[u8]>| {
            (header.key.to_owned(), header.value.map(<[u8]>::to_vec))
        };
        headers.iter().map(owned).collect()
    });
    let record = Record {
        partition: message.partition(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers,
        timestamp_ms: message.timestamp().to_millis().unwrap_or(-1),
    };
    Seen {
        id: record.id(),
        digest: record.digest(),
        offset: message.offset(),
    }
}

/// The committed offsets of `group`.
///
/// # Errors
/// The cluster does not answer; also when offsets of an open transaction hold the answer back.
pub fn group_offsets(
    connection: &Connection,
    topic: &str,
    group: &str,
) -> Result<BTreeMap<i32, Option<i64>>> {
    let doing = format!("{}: ask where group {group} stands", connection.name);
    let consumer = connection.consumer(Isolation::Committed, group)?;
    let mut list = TopicPartitionList::new();
    for partition in connection.partitions(topic)? {
        list.add_partition(topic, partition);
    }
    let committed =
        patiently(|| consumer.committed_offsets(list.clone(), QUESTION_TIMEOUT)).context(&doing)?;
    let mut offsets = BTreeMap::new();
    for element in committed.elements() {
        element.error().context(&doing)?;
        let offset = match element.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        };
        offsets.insert(element.partition(), offset);
    }
    Ok(offsets)
}

/// A journal made of what the origin itself shows, for clusters whose loader kept none.
#[must_use]
pub fn journal_of(view: &ClusterView) -> Journal {
    let mut journal = Journal::new(view.cluster.clone());
    for (partition, shown) in &view.partitions {
        let entry = |seen: &Seen| {
            let (digest, offset) = (seen.digest, seen.offset);
            Some(Entry {
                id: seen.id.clone()?,
                digest,
                offset,
            })
        };
        journal
            .partitions
            .insert(*partition, shown.records.iter().filter_map(entry).collect());
    }
    journal
}
