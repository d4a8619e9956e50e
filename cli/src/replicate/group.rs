//! How far the source's group has come, asked without being a member of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gtc::ParticipantConfig;
use gtc::kafka::consumer::committed_offsets;
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::failure::Failure;

/// How long a question to the cluster may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked why there is no answer yet.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// The group whose offsets record what is mirrored.
#[derive(Clone)]
pub(crate) struct Group {
    name: String,
    config: ClientConfig,
}

impl Group {
    /// A group of this participant.
    pub(crate) fn new(source: &ParticipantConfig, name: &str) -> Result<Self, Failure> {
        let properties = source.kafka_properties().map_err(Failure::config)?;
        let mut config = properties.client_config();
        config
            .set("group.id", name)
            .set("isolation.level", "read_committed")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "earliest");
        Ok(Self {
            name: name.to_owned(),
            config,
        })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A client that asks for it.
    pub(crate) fn client(&self) -> Result<BaseConsumer, KafkaError> {
        self.config.create()
    }

    /// The partitions of a topic in which it has come further than the very beginning, and how far.
    pub(crate) async fn passed(
        &self,
        topic: &str,
        partitions: i32,
    ) -> Result<BTreeMap<i32, i64>, Failure> {
        let (group, asked) = (self.clone(), topic.to_owned());
        let passed = tokio::task::spawn_blocking(move || group.ask(&asked, partitions)).await;
        let failed = |why: String| {
            Failure::error(format!(
                "asking how far group {} has come in topic {topic}: {why}; see that the source is \
                 reachable, that the principal may Read the group there, and that no open transaction holds \
                 its offsets (`gtc list`)",
                self.name
            ))
        };
        let passed = passed.map_err(|error| failed(error.to_string()))?;
        passed.map_err(|error| failed(error.to_string()))
    }

    fn ask(&self, topic: &str, partitions: i32) -> Result<BTreeMap<i32, i64>, KafkaError> {
        let mut asked = TopicPartitionList::new();
        for partition in 0..partitions {
            asked.add_partition(topic, partition);
        }
        let committed = committed_or_why(&self.client()?, &asked)?;
        let passed = committed
            .elements()
            .into_iter()
            .filter_map(|place| match place.offset() {
                Offset::Offset(offset) if offset > 0 => Some((place.partition(), offset)),
                _ => None,
            });
        Ok(passed.collect())
    }
}

/// What is committed. A group that the principal may not read is asked for over and over by librdkafka, which
/// tells the refusal to nobody but who polls: it is the error, and not that there was no answer in time.
fn committed_or_why(
    client: &BaseConsumer,
    asked: &TopicPartitionList,
) -> Result<TopicPartitionList, KafkaError> {
    let deadline = Instant::now() + PATIENCE;
    let mut refusal = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let silence = match committed_offsets(client, asked, left.min(LOOK_INTERVAL)) {
            Err(error) if is_silence(&error) => error,
            told => return told,
        };
        // Nothing is assigned to it, so that no record comes.
        while let Some(Err(error)) = client.poll(Duration::ZERO) {
            refusal = Some(error);
        }
        if left <= LOOK_INTERVAL {
            return Err(refusal.unwrap_or(silence));
        }
    }
}

fn is_silence(error: &KafkaError) -> bool {
    error.rdkafka_error_code() == Some(RDKafkaErrorCode::OperationTimedOut)
}
