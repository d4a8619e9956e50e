//! What the tests do to clusters and see in them, without gtc.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gtc_clusters::Cluster;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders, Timestamp};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// As long as for the program: brokers that share a busy machine with other tests answer late.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// One record, with all that Kafka can tell apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub partition: i32,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub timestamp_ms: i64,
}

static AN_HOUR_AGO_MS: LazyLock<i64> = LazyLock::new(|| {
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since_epoch.as_millis()).unwrap() - 3_600_000
});

impl Row {
    /// A record without headers, written a while ago: old enough to tell a kept time stamp from a
    /// new one, and too young for the brokers' retention.
    pub fn new(partition: i32, key: &str, value: &str) -> Self {
        Self {
            partition,
            key: Some(key.into()),
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp_ms: *AN_HOUR_AGO_MS,
        }
    }

    /// The same record after it left these clusters.
    pub fn after(mut self, cluster_ids: &[&str]) -> Self {
        let hops = cluster_ids
            .iter()
            .map(|id| ("gtc.origin".to_owned(), Some((*id).into())));
        self.headers.extend(hops);
        self
    }
}

/// Numbered records, dealt out to partitions.
pub fn numbered(range: std::ops::Range<usize>, partitions: i32) -> Vec<Row> {
    let partition = |n: usize| i32::try_from(n).unwrap() % partitions;
    range
        .map(|n| Row::new(partition(n), &format!("k{n}"), &format!("v{n}")))
        .collect()
}

pub fn config(cluster: &Cluster) -> ClientConfig {
    cluster.admin_properties().into_iter().collect()
}

fn admin(cluster: &Cluster) -> AdminClient<DefaultClientContext> {
    config(cluster).create().unwrap()
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .operation_timeout(Some(PATIENCE))
        .request_timeout(Some(PATIENCE))
}

/// Runs one future to its end: the tests themselves are no async code.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub fn create_topic(cluster: &Cluster, name: &str, partitions: i32, settings: &[(&str, &str)]) {
    let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    for (setting, value) in settings {
        topic = topic.set(setting, value);
    }
    let created = block_on(admin(cluster).create_topics([&topic], &options())).unwrap();
    created.into_iter().for_each(|result| drop(result.unwrap()));
    await_true("the topic to appear", || {
        partitions_of(cluster, name) == partitions
    });
}

pub fn delete_topic(cluster: &Cluster, name: &str) {
    let deleted = block_on(admin(cluster).delete_topics(&[name], &options())).unwrap();
    deleted.into_iter().for_each(|result| drop(result.unwrap()));
    await_true("the topic to go", || partitions_of(cluster, name) == 0);
}

pub fn add_partitions(cluster: &Cluster, name: &str, partitions: usize) {
    let new = NewPartitions::new(name, partitions);
    let extended = block_on(admin(cluster).create_partitions([&new], &options())).unwrap();
    extended
        .into_iter()
        .for_each(|result| drop(result.unwrap()));
    let wanted = i32::try_from(partitions).unwrap();
    await_true("the partitions to appear", || {
        partitions_of(cluster, name) == wanted
    });
}

/// Deletes the records of a partition before an offset, as retention does.
pub fn delete_records(cluster: &Cluster, topic: &str, partition: i32, before: i64) {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, partition, Offset::Offset(before))
        .unwrap();
    block_on(admin(cluster).delete_records(&list, &options())).unwrap();
}

/// How many partitions a topic has; 0 where there is no such topic.
pub fn partitions_of(cluster: &Cluster, topic: &str) -> i32 {
    let consumer: BaseConsumer = config(cluster).create().unwrap();
    let metadata = consumer.fetch_metadata(None, PATIENCE).unwrap();
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    found.map_or(0, |found| i32::try_from(found.partitions().len()).unwrap())
}

/// The settings that a topic has of its own.
pub fn settings_of(cluster: &Cluster, topic: &str) -> BTreeMap<String, String> {
    use rdkafka::admin::{ConfigSource, ResourceSpecifier};
    let resource = ResourceSpecifier::Topic(topic);
    let described = block_on(admin(cluster).describe_configs([&resource], &options())).unwrap();
    let entries = described.into_iter().next().unwrap().unwrap().entries;
    let own = entries
        .into_iter()
        .filter(|entry| entry.source == ConfigSource::DynamicTopic);
    own.map(|entry| (entry.name, entry.value.unwrap_or_default()))
        .collect()
}

/// Writes records, in one transaction where an id is given.
pub fn produce(cluster: &Cluster, topic: &str, rows: &[Row]) {
    let producer = producer(cluster, None);
    send(&producer, topic, rows);
    flush(&producer);
}

/// A transaction of an application that has nothing to do with gtc.
pub fn produce_transaction(cluster: &Cluster, topic: &str, rows: &[Row], commit: bool) {
    let producer = producer(cluster, Some(&format!("application-{topic}")));
    producer.init_transactions(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, topic, rows);
    flush(&producer);
    match commit {
        true => producer.commit_transaction(PATIENCE).unwrap(),
        false => producer.abort_transaction(PATIENCE).unwrap(),
    }
}

type Plain = ThreadedProducer<Undelivered>;

/// Counts what did not arrive, which no flush tells.
#[derive(Default)]
struct Undelivered(AtomicUsize);

impl ClientContext for Undelivered {}

impl ProducerContext for Undelivered {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        self.0
            .fetch_add(usize::from(result.is_err()), Ordering::SeqCst);
    }
}

fn flush(producer: &Plain) {
    producer.flush(PATIENCE).unwrap();
    assert_eq!(
        producer.context().0.load(Ordering::SeqCst),
        0,
        "records that were not delivered"
    );
}

fn producer(cluster: &Cluster, transactional_id: Option<&str>) -> Plain {
    let mut config = config(cluster);
    config
        .set("linger.ms", "5")
        .set("queue.buffering.max.messages", "1000000");
    config.set("enable.idempotence", "true");
    if let Some(id) = transactional_id {
        config.set("transactional.id", id);
    }
    config.create_with_context(Undelivered::default()).unwrap()
}

fn send(producer: &Plain, topic: &str, rows: &[Row]) {
    for row in rows {
        let mut record = BaseRecord::<[u8], [u8]>::to(topic).partition(row.partition);
        record = record
            .timestamp(row.timestamp_ms)
            .headers(owned_headers(&row.headers));
        if let Some(key) = &row.key {
            record = record.key(key);
        }
        if let Some(value) = &row.value {
            record = record.payload(value);
        }
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
}

fn owned_headers(headers: &[(String, Option<Vec<u8>>)]) -> OwnedHeaders {
    headers
        .iter()
        .fold(OwnedHeaders::new(), |all, (key, value)| {
            all.insert(Header {
                key,
                value: value.as_ref(),
            })
        })
}

/// What a read_committed reader sees now, by partition in the order of the log.
pub fn read(cluster: &Cluster, topic: &str) -> Vec<Row> {
    read_until(cluster, topic, 0)
}

/// Waits until a reader sees so many records, and returns all that it sees then. A commit is
/// answered before its markers are written, so that readers see it a moment later.
pub fn await_rows(cluster: &Cluster, topic: &str, count: usize) -> Vec<Row> {
    await_true("the topic to appear", || partitions_of(cluster, topic) > 0);
    read_until(cluster, topic, count)
}

fn read_until(cluster: &Cluster, topic: &str, count: usize) -> Vec<Row> {
    let partitions = partitions_of(cluster, topic);
    let consumer = reader(cluster, topic, partitions);
    let mut rows = Vec::new();
    let mut at_end = BTreeSet::new();
    let deadline = Instant::now() + 2 * PATIENCE;
    while rows.len() < count || at_end.len() < usize::try_from(partitions).unwrap() {
        match consumer.poll(Duration::from_millis(100)) {
            None => {}
            Some(Ok(message)) => {
                at_end.remove(&message.partition());
                rows.push(row(&message));
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => drop(at_end.insert(partition)),
            Some(Err(error)) if is_passing(&error) => {}
            Some(Err(error)) => panic!("reading {topic}: {error}"),
        }
        if Instant::now() >= deadline {
            let (seen, ends) = (rows.len(), ends(cluster, topic));
            panic!("{topic} has {seen} of {count} records, ends seen of {at_end:?}; {ends}");
        }
    }
    rows.sort_by_key(|row| row.partition);
    rows
}

/// A broker under load closes a connection; the client makes another.
fn is_passing(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure)
    )
}

fn reader(cluster: &Cluster, topic: &str, partitions: i32) -> BaseConsumer {
    let mut config = config(cluster);
    config
        .set("group.id", "independent-reader")
        .set("isolation.level", "read_committed");
    config
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        // At the end of a partition the broker would wait half a second before it says so.
        .set("fetch.wait.max.ms", "20");
    let consumer: BaseConsumer = config.create().unwrap();
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions {
        list.add_partition_offset(topic, partition, Offset::Beginning)
            .unwrap();
    }
    consumer.assign(&list).unwrap();
    consumer
}

fn row(message: &impl Message) -> Row {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        let owned =
            |header: Header<'_, &[u8]>| (header.key.to_owned(), header.value.map(<[u8]>::to_vec));
        headers.iter().map(owned).collect()
    });
    Row {
        partition: message.partition(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers,
        timestamp_ms: match message.timestamp() {
            Timestamp::CreateTime(ms) => ms,
            other => panic!("expected the writer's time stamp, got {other:?}"),
        },
    }
}

/// Asserts that two logs are the same, and shows where they first differ.
#[track_caller]
pub fn assert_same(seen: &[Row], expected: &[Row]) {
    let differs = |(left, right): (&Row, &Row)| left != right;
    if let Some(at) = seen.iter().zip(expected).position(differs) {
        panic!("record {at} differs:\n{:?}\n{:?}", seen[at], expected[at]);
    }
    assert_eq!(seen.len(), expected.len(), "as many records");
}

/// How far readers get in each partition, and how far writers got.
fn ends(cluster: &Cluster, topic: &str) -> String {
    let end_of = |partition| {
        let (stable, high) = (
            end(cluster, topic, partition),
            high_watermark(cluster, topic, partition),
        );
        format!("partition {partition}: last stable offset {stable}, high watermark {high}")
    };
    (0..partitions_of(cluster, topic))
        .map(end_of)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The offset that a group stands at, and the text beside it.
pub fn committed(
    cluster: &Cluster,
    group: &str,
    topic: &str,
    partition: i32,
) -> Option<(i64, String)> {
    let mut config = config(cluster);
    config
        .set("group.id", group)
        .set("isolation.level", "read_committed");
    let consumer: BaseConsumer = config.create().unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition(topic, partition);
    let committed = consumer.committed_offsets(list, PATIENCE).unwrap();
    let element = committed.find_partition(topic, partition).unwrap();
    match element.offset() {
        Offset::Offset(offset) => Some((offset, element.metadata().to_owned())),
        _ => None,
    }
}

/// The end of a partition, as a read_committed reader sees it.
pub fn end(cluster: &Cluster, topic: &str, partition: i32) -> i64 {
    end_as(cluster, topic, partition, "read_committed")
}

/// The end of a partition, open transactions included.
pub fn high_watermark(cluster: &Cluster, topic: &str, partition: i32) -> i64 {
    end_as(cluster, topic, partition, "read_uncommitted")
}

fn end_as(cluster: &Cluster, topic: &str, partition: i32, isolation: &str) -> i64 {
    let mut config = config(cluster);
    config.set("isolation.level", isolation);
    let consumer: BaseConsumer = config.create().unwrap();
    consumer
        .fetch_watermarks(topic, partition, PATIENCE)
        .unwrap()
        .1
}

/// Asks until it is so; a state that somebody else reaches has no event to wait for.
pub fn await_true(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
