//! The settings of a consumer: what gtc sets itself, and what a user may choose.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::ClientConfig;

use crate::arguments::{self, Flaw};
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::properties::Properties;

/// How often librdkafka tells positions and lag.
const STATISTICS_INTERVAL_MS: &str = "200";
/// How soon a new topic that matches a pattern is found.
const TOPIC_REFRESH_MS: &str = "10000";

/// What happens to a partition whose position the cluster does not have.
///
/// Without a committed offset, `Earliest` and `Fail` begin at the beginning and `Latest` at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OffsetReset {
    /// Report, and go on at the beginning.
    #[default]
    Earliest,
    /// Report, and go on at the end.
    Latest,
    /// Report, and wait until it is resumed.
    Fail,
}

/// When a batch is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Records.
    pub records_max: usize,
    /// Bytes of keys, values and headers; the last record may go beyond it.
    pub bytes_max: usize,
    /// How long the first record waits for company.
    pub linger: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            records_max: 10_000,
            bytes_max: 16 * 1024 * 1024,
            linger: Duration::from_millis(20),
        }
    }
}

/// What a consumer is made of.
pub struct ConsumerSettings {
    /// The consumer group.
    pub group: Arc<str>,
    /// A name for this member alone, by which it takes its own place in the group again when it
    /// comes back; without it the group waits for the session of its predecessor to end.
    pub instance: Option<Arc<str>>,
    /// Topic names, or patterns that begin with `^`.
    pub topics: Vec<String>,
    /// What happens where the cluster does not have a position.
    pub reset: OffsetReset,
    /// When a batch is full.
    pub limits: BatchLimits,
    /// The participant's properties.
    pub properties: Properties,
}

impl ConsumerSettings {
    pub(super) fn participant(&self) -> Arc<str> {
        self.properties.participant().into()
    }

    pub(super) fn client_config(&self) -> Result<ClientConfig, DataError> {
        self.refuse_unusable()?;
        let mut config = self.properties.client_config();
        config
            .set("group.id", self.group.as_ref())
            .set("group.protocol", "classic")
            .set("isolation.level", "read_committed")
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            // The reader answers itself, so that nothing is skipped without a word.
            .set("auto.offset.reset", "error")
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
        if let Some(instance) = &self.instance {
            config.set("group.instance.id", instance.as_ref());
        }
        let refresh = "topic.metadata.refresh.interval.ms";
        let has_pattern = self.topics.iter().any(|topic| topic.starts_with('^'));
        if has_pattern && config.get(refresh).is_none() {
            config.set(refresh, TOPIC_REFRESH_MS);
        }
        Ok(config)
    }

    /// With other protocols a partition is kept over a rebalance while its batches become stale.
    fn refuse_unusable(&self) -> Result<(), DataError> {
        let refuse = |what: &str| {
            Err(DataError::new(
                self.properties.participant(),
                DataErrorKind::Config,
                what,
            ))
        };
        if self.topics.is_empty() {
            return refuse("a consumer needs topics to read");
        }
        if let Err(flaw) = self.check_names() {
            return refuse(&flaw.problem);
        }
        let strategy = self.properties.get("partition.assignment.strategy");
        if strategy.is_some_and(|strategy| strategy.contains("cooperative")) {
            return refuse("partition.assignment.strategy must be range or roundrobin");
        }
        if self
            .properties
            .get("group.protocol")
            .is_some_and(|protocol| protocol != "classic")
        {
            return refuse("group.protocol must be classic");
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Flaw> {
        arguments::name("name of the group", &self.group)?;
        if let Some(instance) = &self.instance {
            arguments::name("name of the instance", instance)?;
        }
        let mut topics = self.topics.iter();
        topics.try_for_each(|topic| arguments::topic_or_pattern(topic))
    }

    pub(super) fn error(&self, kind: DataErrorKind, what: &str) -> DataError {
        let group = &self.group;
        DataError::new(
            self.properties.participant(),
            kind,
            format!("consumer of group {group}: {what}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchLimits, ConsumerSettings, OffsetReset};
    use crate::kafka::error::DataErrorKind;
    use crate::kafka::properties::Properties;

    fn settings(properties: &[(&str, &str)]) -> ConsumerSettings {
        let all = [("bootstrap.servers", "127.0.0.1:9")];
        let all = all.iter().chain(properties);
        let values = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ConsumerSettings {
            group: "mirror".into(),
            instance: Some("mirror-1".into()),
            topics: vec!["^orders.*".to_owned()],
            reset: OffsetReset::Fail,
            limits: BatchLimits::default(),
            properties: Properties::parse("eu", values.collect()).expect("both planes take it"),
        }
    }

    #[test]
    fn it_reads_committed_records_and_commits_nothing_by_itself() {
        let config = settings(&[]).client_config().expect("allowed");
        assert_eq!(config.get("isolation.level"), Some("read_committed"));
        assert_eq!(config.get("enable.auto.commit"), Some("false"));
        assert_eq!(config.get("auto.offset.reset"), Some("error"));
        assert_eq!(config.get("group.instance.id"), Some("mirror-1"));
        config.create_native_config().expect("librdkafka takes it");
    }

    #[test]
    fn a_group_without_a_name_is_refused() {
        let mut settings = settings(&[]);
        settings.group = "".into();
        let error = settings.client_config().expect_err("refused");
        assert!(error.to_string().contains("name of the group"), "{error}");
    }

    #[test]
    fn names_that_no_cluster_can_have_are_refused_before_one_is_asked() {
        let mut nul = settings(&[]);
        nul.instance = Some("a\0b".into());
        let error = nul.client_config().expect_err("refused");
        assert!(error.to_string().contains("instance"), "{error}");
        for topic in ["", "a\0b", "two words"] {
            let mut settings = settings(&[]);
            settings.topics.push(topic.to_owned());
            let error = settings.client_config().expect_err("refused");
            assert_eq!(error.kind(), DataErrorKind::Config, "{error}");
        }
    }

    #[test]
    fn protocols_that_keep_partitions_over_a_rebalance_are_refused() {
        for property in [
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("group.protocol", "consumer"),
        ] {
            let error = settings(&[property]).client_config().expect_err("refused");
            assert!(error.to_string().contains(property.0), "{error}");
        }
    }
}
