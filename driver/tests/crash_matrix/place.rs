//! Topics of the clusters, and what a read_committed reader sees there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

use crate::job::{Member, Result};

const PATIENCE: Duration = Duration::from_secs(60);

/// Makes a topic with a partition for each row.
pub async fn create_topic(member: &Member, topic: &str, partitions: i32) -> Result {
    let admin: AdminClient<DefaultClientContext> = client(member).create()?;
    let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    for made in admin.create_topics([&new], &options).await? {
        made.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    Ok(())
}

fn client(member: &Member) -> ClientConfig {
    member.properties.clone().into_iter().collect()
}

fn reader(member: &Member, isolation: &str) -> Result<BaseConsumer> {
    let mut config = client(member);
    config
        .set("group.id", "crash-matrix-reader")
        .set("enable.auto.commit", "false")
        .set("isolation.level", isolation)
        .set("enable.partition.eof", "true")
        // At the end of a partition the broker would wait half a second before it says so.
        .set("fetch.wait.max.ms", "20");
    Ok(config.create()?)
}

/// What one partition shows.
#[derive(Debug, Default)]
pub struct Shown {
    pub values: Vec<String>,
    /// Readers are held back before its end.
    pub stuck: bool,
}

/// All that the partitions of a topic show. Markers that are under way get time to arrive.
pub fn read(member: &Member, topic: &str, partitions: i32) -> Result<BTreeMap<i32, Shown>> {
    let committed = reader(member, "read_committed")?;
    let every = reader(member, "read_uncommitted")?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut shown = loop {
        let (stable, high) = (
            ends(&committed, topic, partitions)?,
            ends(&every, topic, partitions)?,
        );
        let both = stable.into_iter().zip(high);
        let shown: BTreeMap<i32, Shown> = both
            .map(|((partition, stable), (_, high))| {
                let (values, stuck) = (Vec::new(), stable < high);
                (partition, Shown { values, stuck })
            })
            .collect();
        if !shown.values().any(|shown| shown.stuck) || Instant::now() >= deadline {
            break shown;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    read_values(&committed, topic, &mut shown)?;
    Ok(shown)
}

/// The end of each partition, as this consumer may read it: one question for all of the hundreds.
fn ends(consumer: &BaseConsumer, topic: &str, partitions: i32) -> Result<BTreeMap<i32, i64>> {
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions {
        // In the place of a point in time it stands for the latest.
        list.add_partition_offset(topic, partition, Offset::End)?;
    }
    let found = consumer.offsets_for_times(list, PATIENCE)?;
    let elements = found.elements().into_iter();
    let ends = elements.map(|element| {
        element.error()?;
        let end = element
            .offset()
            .to_raw()
            .ok_or("a partition without an end")?;
        Ok((element.partition(), end))
    });
    ends.collect()
}

fn read_values(consumer: &BaseConsumer, topic: &str, shown: &mut BTreeMap<i32, Shown>) -> Result {
    let mut list = TopicPartitionList::new();
    for partition in shown.keys() {
        list.add_partition_offset(topic, *partition, Offset::Beginning)?;
    }
    consumer.assign(&list)?;
    let mut unread: BTreeSet<i32> = shown.keys().copied().collect();
    let deadline = Instant::now() + PATIENCE;
    while !unread.is_empty() {
        if Instant::now() > deadline {
            return Err(format!("{topic}: no end of partitions {unread:?}").into());
        }
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => {
                let value = message.payload().unwrap_or_default().to_vec();
                let partition = shown.entry(message.partition()).or_default();
                partition.values.push(String::from_utf8(value)?);
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                unread.remove(&partition);
            }
            Some(Err(error)) => return Err(error.into()),
            None => {}
        }
    }
    Ok(())
}
