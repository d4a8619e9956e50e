//! Topics at the clusters: their settings, and what a plan changes.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigEntry, ConfigSource, NewPartitions, NewTopic,
    ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::types::RDKafkaErrorCode;

use super::plan::{SourceTopic, Step};
use crate::failure::Failure;

/// How long a cluster may take for a change.
const PATIENCE: Duration = Duration::from_secs(30);

/// The replication factor that means: what the cluster has as its default.
const CLUSTER_DEFAULT: TopicReplication<'static> = TopicReplication::Fixed(-1);

/// Settings that describe the source's brokers rather than the topic's data. Time stamps are kept
/// as they are, so that a destination must not set or check them either.
const NOT_COPIED: [&str; 5] = [
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "remote.storage.enable",
];
const NOT_COPIED_PREFIX: &str = "message.timestamp.";

/// Reads and changes the topics of one cluster.
pub(crate) struct Admin {
    participant: String,
    client: AdminClient<DefaultClientContext>,
}

impl Admin {
    /// A client of the participant with these properties.
    pub(crate) fn new(participant: &str, config: &ClientConfig) -> Result<Self, Failure> {
        let client = config.create().map_err(|error| {
            Failure::usage(format!(
                "participant `{participant}`: making an admin client: {error}"
            ))
        })?;
        Ok(Self {
            participant: participant.to_owned(),
            client,
        })
    }

    /// The settings of each topic that differ from the cluster's defaults and are worth copying; not of
    /// topics whose settings the principal may not see.
    pub(crate) async fn settings(
        &self,
        topics: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, Failure> {
        let resources: Vec<_> = topics
            .iter()
            .map(|topic| ResourceSpecifier::Topic(topic))
            .collect();
        let described = self.client.describe_configs(&resources, &options()).await;
        let described = described.map_err(|error| self.failure("describe topics", "", error))?;
        let mut settings = BTreeMap::new();
        for (topic, result) in topics.iter().zip(described) {
            let resource = result.map_err(|code| self.failure("describe topic", topic, code))?;
            // rdkafka tells a refusal by nothing but this: every topic has settings.
            if !resource.entries.is_empty() {
                settings.insert((*topic).to_owned(), copied(&resource.entries));
            }
        }
        Ok(settings)
    }

    /// Carries a plan out.
    pub(crate) async fn carry_out(&self, steps: &[Step]) -> Result<(), Failure> {
        for step in steps {
            match step {
                Step::Create(topic) => self.create(topic).await?,
                Step::Extend { topic, partitions } => self.extend(topic, *partitions).await?,
            }
        }
        Ok(())
    }

    async fn create(&self, topic: &SourceTopic) -> Result<(), Failure> {
        let Some(settings) = &topic.settings else {
            return Err(Failure::error(format!(
                "topic {} is missing on participant `{}`, and the source does not show its settings, so \
                 that it cannot be made alike; allow DescribeConfigs on it at the source, or create it",
                topic.name, self.participant
            )));
        };
        let mut new = NewTopic::new(&topic.name, topic.partitions, CLUSTER_DEFAULT);
        for (name, value) in settings {
            new = new.set(name, value);
        }
        let results = self.client.create_topics([&new], &options()).await;
        let results = results.map_err(|error| self.failure("create topic", &topic.name, error))?;
        for result in results {
            match result {
                // Another instance was faster; its topic is checked like any other.
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((_, code)) => return Err(self.failure("create topic", &topic.name, code)),
            }
        }
        tracing::info!(
            participant = self.participant,
            topic = topic.name,
            partitions = topic.partitions,
            ?settings,
            "created a topic"
        );
        Ok(())
    }

    async fn extend(&self, topic: &str, partitions: i32) -> Result<(), Failure> {
        // A count of partitions is positive.
        let count = usize::try_from(partitions).unwrap_or(0);
        let new = NewPartitions::new(topic, count);
        let results = self.client.create_partitions([&new], &options()).await;
        let results = results.map_err(|error| self.failure("add partitions to", topic, error))?;
        for result in results {
            result.map_err(|(_, code)| self.failure("add partitions to", topic, code))?;
        }
        tracing::info!(
            participant = self.participant,
            topic,
            partitions,
            "added partitions"
        );
        Ok(())
    }

    fn failure(&self, operation: &str, topic: &str, cause: impl std::fmt::Display) -> Failure {
        Failure::error(format!(
            "{operation} {topic} on participant `{}`: {cause}; check that the cluster is \
            reachable and that the principal may Create, Alter and DescribeConfigs on the topic",
            self.participant
        ))
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(PATIENCE))
        .operation_timeout(Some(PATIENCE))
}

fn copied(entries: &[ConfigEntry]) -> BTreeMap<String, String> {
    let own = entries
        .iter()
        .filter(|entry| entry.source == ConfigSource::DynamicTopic);
    let copied = own.filter(|entry| is_copied(&entry.name));
    copied
        .filter_map(|entry| Some((entry.name.clone(), entry.value.clone()?)))
        .collect()
}

fn is_copied(setting: &str) -> bool {
    !NOT_COPIED.contains(&setting) && !setting.starts_with(NOT_COPIED_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, source: ConfigSource) -> ConfigEntry {
        ConfigEntry {
            name: name.to_owned(),
            value: Some("1".to_owned()),
            source,
            is_read_only: false,
            is_default: false,
            is_sensitive: false,
        }
    }

    #[test]
    fn only_the_topic_s_own_settings_about_its_data_are_copied() {
        let entries = [
            entry("retention.ms", ConfigSource::DynamicTopic),
            entry("cleanup.policy", ConfigSource::DynamicTopic),
            entry("segment.bytes", ConfigSource::StaticBroker),
            entry("compression.type", ConfigSource::Default),
            entry("min.insync.replicas", ConfigSource::DynamicTopic),
            entry("message.timestamp.type", ConfigSource::DynamicTopic),
            entry(
                "leader.replication.throttled.replicas",
                ConfigSource::DynamicTopic,
            ),
        ];
        let names: Vec<String> = copied(&entries).into_keys().collect();
        assert_eq!(names, ["cleanup.policy", "retention.ms"]);
    }
}
