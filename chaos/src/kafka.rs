//! How this crate reaches a cluster: by plain rdkafka clients.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::metadata::MetadataPartition;

use crate::error::{Context, Error, Result};

/// How long one question to a cluster may take.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks again for as long as a question may take: a broker that has just come back, or that is busy, first answers that it
/// leads nothing.
///
/// # Errors
/// The last error.
pub fn patiently<T, E>(
    mut ask: impl FnMut() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let deadline = Instant::now() + QUESTION_TIMEOUT;
    loop {
        match ask() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(250)),
            answer => return answer,
        }
    }
}

/// A cluster's name and the properties of a client of it.
#[derive(Clone)]
pub struct Connection {
    /// The name of the cluster in tables and ids.
    pub name: String,
    /// librdkafka's properties, `bootstrap.servers` among them.
    pub properties: BTreeMap<String, String>,
}

/// Which records a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Committed ones, up to the last stable offset.
    Committed,
    /// All, up to the high watermark.
    Uncommitted,
}

impl Connection {
    /// A connection by these properties.
    pub fn new(name: impl Into<String>, properties: BTreeMap<String, String>) -> Self {
        Self {
            name: name.into(),
            properties,
        }
    }

    /// The properties as a client's configuration, with a quiet log.
    #[must_use]
    pub fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (name, value) in &self.properties {
            config.set(name, value);
        }
        config.set("client.id", "gtc-chaos");
        config.set_log_level(rdkafka::config::RDKafkaLogLevel::Critical);
        config
    }

    /// A consumer that is assigned by hand and commits nothing; `group` is whose offsets it can ask for.
    ///
    /// # Errors
    /// librdkafka refuses a property.
    pub fn consumer(&self, isolation: Isolation, group: &str) -> Result<BaseConsumer> {
        let level = match isolation {
            Isolation::Committed => "read_committed",
            Isolation::Uncommitted => "read_uncommitted",
        };
        self.config()
            .set("isolation.level", level)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            // At the end of a partition the broker would wait half a second before it says so.
            .set("fetch.wait.max.ms", "20")
            .set("check.crcs", "true")
            .create()
            .context(format!("{}: make a consumer", self.name))
    }

    /// The cluster.id.
    ///
    /// # Errors
    /// The cluster does not tell it in time.
    pub fn cluster_id(&self) -> Result<String> {
        let consumer = self.consumer(Isolation::Committed, "gtc-chaos")?;
        let id = consumer.client().fetch_cluster_id(QUESTION_TIMEOUT);
        id.ok_or_else(|| Error::new(format!("{}: it does not tell its cluster.id", self.name)))
    }

    /// The partitions of `topic`.
    ///
    /// # Errors
    /// The cluster does not answer, or has no such topic.
    pub fn partitions(&self, topic: &str) -> Result<Vec<i32>> {
        let consumer = self.consumer(Isolation::Committed, "gtc-chaos")?;
        let metadata = patiently(|| consumer.fetch_metadata(Some(topic), QUESTION_TIMEOUT))
            .context(format!("{}: ask for the partitions of {topic}", self.name))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        match found.filter(|found| found.error().is_none()) {
            Some(found) => Ok(found
                .partitions()
                .iter()
                .map(MetadataPartition::id)
                .collect()),
            None => Err(Error::new(format!(
                "{}: there is no topic {topic}",
                self.name
            ))),
        }
    }

    /// Creates `topic`, whose records live for ever: those of these runs carry timestamps of years ago, which the
    /// usual retention would remove at once.
    ///
    /// # Errors
    /// The cluster does not answer or refuses, for instance because the topic is there.
    pub fn create_topic(&self, topic: &str, partitions: i32) -> Result<()> {
        let doing = format!("{}: create the topic {topic}", self.name);
        let admin: AdminClient<DefaultClientContext> = self.config().create().context(&doing)?;
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1))
            .set("retention.ms", "-1")
            .set("message.timestamp.type", "CreateTime");
        let options = AdminOptions::new().operation_timeout(Some(QUESTION_TIMEOUT));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context(&doing)?;
        let answers = runtime
            .block_on(admin.create_topics([&new], &options))
            .context(&doing)?;
        for answer in answers {
            answer.map_err(|(_, code)| Error::new(format!("{doing}: {code}")))?;
        }
        Ok(())
    }
}
