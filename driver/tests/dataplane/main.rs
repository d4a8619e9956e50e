//! The data plane against real brokers.

mod consumer;
mod faults;
mod slot;
mod static_member;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gtc::kafka::consumer::{
    Batch, BatchLimits, ConsumerEvent, ConsumerSettings, OffsetReset, TransactionalConsumer,
};
use gtc::kafka::properties::Properties;
use gtc::kafka::record::OutgoingRecord;
use gtc::kafka::slot::{SlotInstance, SlotSettings};
use gtc_clusters::{Cluster, ClusterOptions};
use gtc_core::SlotCondition;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// The ceiling of the clusters' transaction time-outs.
const CEILING_MS: i32 = 900_000;
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The cluster of all tests that do it no harm.
fn shared() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(options("dataplane")).expect("a cluster"))
}

fn options(name: &str) -> ClusterOptions {
    ClusterOptions::new(name)
        .property("transaction.max.timeout.ms", CEILING_MS.to_string())
        .property("group.min.session.timeout.ms", "1000")
}

fn properties(participant: &str, cluster: &Cluster, more: &[(&str, &str)]) -> Properties {
    let mut values: BTreeMap<String, String> = cluster.client_properties();
    for (name, value) in more {
        values.insert((*name).to_owned(), (*value).to_owned());
    }
    Properties::parse(participant, values).expect("valid properties")
}

/// A slot of participant `eu`.
///
/// A cluster that makes its transaction topic just then sends clients from one coordinator to
/// another, which spoils the witness of R6; a name is retired for it, and the next one is used.
async fn open(cluster: &Cluster, id: &str, more: &[(&str, &str)]) -> SlotInstance {
    for attempt in 0..5 {
        let settings = settings("eu", cluster, &format!("{id}.{attempt}"), more);
        let (slot, producer, condition) = SlotInstance::open(settings).await.expect("an open slot");
        assert!(producer.producer_id >= 0);
        match condition {
            SlotCondition::Clean => return slot,
            SlotCondition::Unproven(why) => eprintln!("retired {id}.{attempt}: {why}"),
        }
        slot.close().await;
    }
    panic!("no slot of {id} was initialised at the first attempt")
}

fn settings(participant: &str, cluster: &Cluster, id: &str, more: &[(&str, &str)]) -> SlotSettings {
    SlotSettings {
        transactional_id: id.into(),
        timeout_ms: 60_000,
        properties: properties(participant, cluster, more),
    }
}

/// A consumer of participant `eu` that hands out what comes within 50 ms.
async fn reader(
    cluster: &Cluster,
    group: &str,
    topic: &str,
    records_max: usize,
) -> TransactionalConsumer {
    open_reader(cluster, group, topic, records_max, &[]).await
}

async fn open_reader(
    cluster: &Cluster,
    group: &str,
    topic: &str,
    records_max: usize,
    more: &[(&str, &str)],
) -> TransactionalConsumer {
    let mut settings = reader_settings(cluster, group, topic, more);
    settings.limits.records_max = records_max;
    TransactionalConsumer::open(settings)
        .await
        .expect("a consumer")
}

fn reader_settings(
    cluster: &Cluster,
    group: &str,
    topic: &str,
    more: &[(&str, &str)],
) -> ConsumerSettings {
    ConsumerSettings {
        instance: None,
        group: group.into(),
        topics: vec![topic.to_owned()],
        reset: OffsetReset::Fail,
        limits: BatchLimits {
            linger: Duration::from_millis(50),
            ..BatchLimits::default()
        },
        properties: properties("eu", cluster, more),
    }
}

async fn event(consumer: &TransactionalConsumer) -> ConsumerEvent {
    tokio::time::timeout(PATIENCE, consumer.next())
        .await
        .expect("an event in time")
        .expect("a working consumer")
}

/// The next batch; assignments pass by.
async fn batch(consumer: &TransactionalConsumer) -> Batch {
    loop {
        match event(consumer).await {
            ConsumerEvent::Batch(batch) => return batch,
            ConsumerEvent::Assigned(_) | ConsumerEvent::Revoked => {}
            other => panic!("{other:?} where a batch was expected"),
        }
    }
}

async fn create_topic(cluster: &Cluster, name: &str, settings: &[(&str, &str)]) {
    let admin = admin(cluster);
    let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
    let topic = settings
        .iter()
        .fold(topic, |topic, (key, value)| topic.set(key, value));
    let results = admin
        .create_topics([&topic], &patiently())
        .await
        .expect("an answer");
    results[0].as_ref().expect("a topic");
    // Its leader may be chosen a moment later.
    let deadline = Instant::now() + PATIENCE;
    while admin
        .inner()
        .fetch_watermarks(name, 0, Duration::from_secs(5))
        .is_err()
    {
        assert!(Instant::now() < deadline, "{name} has no leader");
    }
}

fn admin(cluster: &Cluster) -> AdminClient<DefaultClientContext> {
    plain_config(cluster).create().expect("an admin client")
}

fn patiently() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE))
}

fn plain_config(cluster: &Cluster) -> ClientConfig {
    cluster.client_properties().into_iter().collect()
}

fn record(topic: &str, value: &str) -> OutgoingRecord {
    OutgoingRecord {
        value: Some(Bytes::from(value.to_owned())),
        ..OutgoingRecord::to(topic)
    }
}

/// All committed values of partition 0, read by a client that knows nothing of gtc.
fn committed_values(cluster: &Cluster, topic: &str) -> Vec<String> {
    let mut config = plain_config(cluster);
    config
        .set("group.id", "judge")
        .set("isolation.level", "read_committed");
    config
        .set("enable.partition.eof", "true")
        // At the end of a partition the broker would wait half a second before it says so.
        .set("fetch.wait.max.ms", "20")
        .set("enable.auto.commit", "false");
    let consumer: BaseConsumer = config.create().expect("a consumer");
    let mut from = TopicPartitionList::new();
    from.add_partition_offset(topic, 0, Offset::Beginning)
        .expect("a valid offset");
    consumer.assign(&from).expect("assigned");
    let mut values = Vec::new();
    loop {
        match consumer.poll(PATIENCE).expect("something in time") {
            Ok(message) => {
                let value = message.payload().unwrap_or_default();
                values.push(String::from_utf8_lossy(value).into_owned());
            }
            Err(rdkafka::error::KafkaError::PartitionEOF(_)) => return values,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Keeps tests that start a cluster of their own from running at once: memory is short.
async fn one_more_cluster() -> tokio::sync::MutexGuard<'static, ()> {
    static TURN: OnceLock<Arc<tokio::sync::Mutex<()>>> = OnceLock::new();
    TURN.get_or_init(Arc::default).lock().await
}
