//! What a check asks through librdkafka, which the records go through.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, TopicPartitionList};

use super::finding::Judgement;
use crate::config::ParticipantConfig;
use crate::kafka::consumer::committed_offsets;

/// How long each question may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Any name will do: that a group has no offset for it is an answer too.
const ANY_TOPIC: &str = "gtc.check";

/// Whether records can go the way that librdkafka takes.
pub(super) async fn judge_reachable(participant: &ParticipantConfig) -> Judgement {
    ask(participant, "gtc.check", |consumer| {
        match consumer.fetch_metadata(None, PATIENCE) {
            Ok(metadata) => {
                let (brokers, topics) = (metadata.brokers().len(), metadata.topics().len());
                Judgement::ok(format!(
                    "librdkafka sees {brokers} brokers and {topics} topics"
                ))
            }
            Err(error) => Judgement::fail(
                format!("librdkafka: {error}"),
                "see the log lines of librdkafka; the control plane did connect",
            ),
        }
    })
    .await
}

/// Whether the group's offsets can be read as the next owner of its partitions reads them.
pub(super) async fn judge_group(participant: &ParticipantConfig, group: &str) -> Judgement {
    let shown = group.to_owned();
    ask(participant, group, move |consumer| {
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(ANY_TOPIC, 0);
        judge_offsets(&shown, committed_offsets(consumer, &wanted, PATIENCE))
    })
    .await
}

fn judge_offsets(group: &str, answer: Result<TopicPartitionList, KafkaError>) -> Judgement {
    const NOT_ALLOWED: RDKafkaErrorCode = RDKafkaErrorCode::GroupAuthorizationFailed;
    let Err(error) = answer else {
        return Judgement::ok(format!("{group} is readable with read_committed"));
    };
    match error.rdkafka_error_code() {
        Some(NOT_ALLOWED) => Judgement::fail(
            format!("{group} may not be read"),
            "allow Read on the group, for the principal that mirrors",
        ),
        Some(RDKafkaErrorCode::OperationTimedOut | RDKafkaErrorCode::UnstableOffsetCommit) => {
            Judgement::warn(
                format!("{group} could not be read in time"),
                "an open transaction may hold its offsets: see `gtc list`, and `gtc recover`",
            )
        }
        _ => Judgement::fail(
            format!("{group}: {error}"),
            "check the group coordinator of the cluster",
        ),
    }
}

async fn ask(
    participant: &ParticipantConfig,
    group: &str,
    question: impl FnOnce(&BaseConsumer) -> Judgement + Send + 'static,
) -> Judgement {
    let mut config = match participant.kafka_properties() {
        Ok(properties) => properties.client_config(),
        Err(error) => {
            let remedy = error.remedy();
            return Judgement::fail(error.problem(), remedy);
        }
    };
    config
        .set("group.id", group)
        .set("isolation.level", "read_committed");
    let answer = tokio::task::spawn_blocking(move || with_consumer(&config, question)).await;
    answer.unwrap_or_else(|error| Judgement::fail(error.to_string(), "report this as a defect"))
}

fn with_consumer(
    config: &ClientConfig,
    question: impl FnOnce(&BaseConsumer) -> Judgement,
) -> Judgement {
    match config.create::<BaseConsumer>() {
        Ok(consumer) => question(&consumer),
        Err(error) => Judgement::fail(error.to_string(), "correct the properties"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn what_a_group_answers() {
        let failed = |code| Err(KafkaError::OffsetFetch(code));
        for (answer, level) in [
            (Ok(TopicPartitionList::new()), Level::Ok),
            (
                failed(RDKafkaErrorCode::GroupAuthorizationFailed),
                Level::Fail,
            ),
            (failed(RDKafkaErrorCode::OperationTimedOut), Level::Warn),
            (
                failed(RDKafkaErrorCode::CoordinatorNotAvailable),
                Level::Fail,
            ),
        ] {
            assert_eq!(judge_offsets("g", answer).level, level);
        }
    }
}
