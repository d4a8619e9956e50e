//! Coordinators and readers over the shared test clusters.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gtc::{Config, ParticipantConfig, Record};
use gtc_clusters::{Cluster, shared};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long anything may take that a broker does.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A directory of its own, removed at the end of a test that passes.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = base.join(format!("{name}-{}-{unique}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the target directory is writable");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Two clusters that all tests share.
pub async fn two() -> Result<Vec<&'static Cluster>> {
    show_events();
    // Starting them blocks for seconds.
    Ok(tokio::task::spawn_blocking(|| shared::plain(2)).await??)
}

/// A participant of this name on a cluster.
pub fn participant(name: &str, cluster: &Cluster) -> ParticipantConfig {
    let properties = cluster.client_properties().into_iter();
    properties.fold(
        ParticipantConfig::kafka(name).slots(4),
        |config, (key, value)| config.property(key, value),
    )
}

/// A coordinator of two clusters that are called `eu` and `us`.
pub fn config(id: &str, directory: &Directory, clusters: &[&Cluster]) -> Config {
    Config::new(id, directory.0.join("log"))
        .participant(participant("eu", clusters[0]))
        .participant(participant("us", clusters[1]))
}

/// A record that is known by its value.
pub fn record(topic: &str, value: impl Into<Vec<u8>>) -> Record {
    Record {
        value: Some(value.into().into()),
        ..Record::to(topic)
    }
}

/// Makes a topic with one partition.
pub async fn create_topic(cluster: &Cluster, topic: &str) -> Result {
    let admin: AdminClient<DefaultClientContext> = client(cluster).create()?;
    let new = NewTopic::new(topic, 1, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    for made in admin.create_topics([&new], &options).await? {
        made.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    Ok(())
}

/// The properties of a cluster.
pub fn client(cluster: &Cluster) -> ClientConfig {
    cluster.client_properties().into_iter().collect()
}

/// All values of a topic's partition that a read_committed reader sees, up to the end of the
/// partition. Fails if the last stable offset does not reach that end.
pub async fn committed(cluster: &Cluster, topic: &str) -> Result<Vec<String>> {
    let config = client(cluster);
    let topic = topic.to_owned();
    tokio::task::spawn_blocking(move || read(config, &topic)).await?
}

fn read(mut config: ClientConfig, topic: &str) -> Result<Vec<String>> {
    let high = high_watermark(&config, topic)?;
    let consumer: BaseConsumer = config
        .set("group.id", "reader")
        .set("enable.auto.commit", "false")
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true")
        // At the end of a partition the broker would wait half a second before it says so.
        .set("fetch.wait.max.ms", "20")
        .create()?;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, 0, Offset::Beginning)?;
    consumer.assign(&list)?;
    let deadline = Instant::now() + PATIENCE;
    let mut values = Vec::new();
    while Instant::now() < deadline {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                let value = message.payload().unwrap_or_default();
                values.push(String::from_utf8(value.to_vec())?);
            }
            Some(Err(KafkaError::PartitionEOF(_))) if is_at(&consumer, topic, high)? => {
                return Ok(values);
            }
            Some(Err(KafkaError::PartitionEOF(_))) | None => {}
            Some(Err(error)) => return Err(error.into()),
        }
    }
    Err(format!("the last stable offset of {topic} is stuck before {high}: {values:?}").into())
}

/// The end of the partition with all that is open there. A read_committed client would be told
/// the last stable offset instead.
fn high_watermark(config: &ClientConfig, topic: &str) -> Result<i64> {
    let consumer: BaseConsumer = config
        .clone()
        .set("isolation.level", "read_uncommitted")
        .create()?;
    Ok(consumer.fetch_watermarks(topic, 0, PATIENCE)?.1)
}

fn is_at(consumer: &BaseConsumer, topic: &str, high: i64) -> Result<bool> {
    let position = consumer.position()?;
    let found = position
        .find_partition(topic, 0)
        .map(|found| found.offset());
    Ok(match found {
        Some(Offset::Offset(offset)) => offset >= high,
        _ => high == 0,
    })
}

/// Shows the events of gtc where `GTC_LOG` asks for them.
pub fn show_events() {
    let filter = tracing_subscriber::EnvFilter::from_env("GTC_LOG");
    // A second test of the same program finds it set.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_test_writer()
        .try_init();
}

/// Writes records outside of any transaction.
pub async fn write(cluster: &Cluster, topic: &str, values: &[&str]) -> Result {
    let producer: FutureProducer = client(cluster).create()?;
    for value in values {
        let record = FutureRecord::<(), str>::to(topic).payload(*value);
        producer
            .send(record, PATIENCE)
            .await
            .map_err(|(error, _)| error)?;
    }
    Ok(())
}

/// A configuration file of a coordinator of two clusters, its log beside it.
pub fn configuration(id: &str, clusters: &[&Cluster]) -> Result<String> {
    let mut text = format!("[coordinator]\nid = {id:?}\nlog = \"log\"\n");
    for (name, cluster) in ["eu", "us"].into_iter().zip(clusters) {
        writeln!(text, "[participants.{name}]\nkind = \"kafka\"")?;
        for (property, value) in cluster.client_properties() {
            writeln!(text, "{property:?} = {value:?}")?;
        }
    }
    Ok(text)
}
