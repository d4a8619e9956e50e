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
        .set("enable.partition.eof", "true");
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
    let mut shown = BTreeMap::new();
    for partition in 0..partitions {
        let is_stuck = || -> Result<bool> {
            let (_, stable) = committed.fetch_watermarks(topic, partition, PATIENCE)?;
            let (_, high) = every.fetch_watermarks(topic, partition, PATIENCE)?;
            Ok(stable < high)
        };
        let mut stuck = is_stuck()?;
        while stuck && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(100));
            stuck = is_stuck()?;
        }
        let values = Vec::new();
        shown.insert(partition, Shown { values, stuck });
    }
    read_values(&committed, topic, &mut shown)?;
    Ok(shown)
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
