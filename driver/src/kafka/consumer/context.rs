//! What librdkafka tells a consumer besides records.

use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{
    BaseConsumer, Consumer, ConsumerContext, ConsumerGroupMetadata, Rebalance,
};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::RDKafkaRespErr;

use super::link::{Link, Place};
use crate::kafka::log::forward;

/// A rebalance as the reader has to take it up.
pub(super) enum GroupChange {
    /// Read these, as a member of this generation.
    Assigned(Vec<Place>, ConsumerGroupMetadata),
    /// Read nothing.
    Revoked,
    Failed(String),
}

/// The context of one consumer. Everything in it runs on the reader's thread, inside its poll.
pub(super) struct ReaderContext {
    participant: Arc<str>,
    link: Arc<Link>,
    changes: Mutex<Vec<GroupChange>>,
    statistics: Mutex<Option<Vec<u8>>>,
}

impl ReaderContext {
    pub(super) fn new(participant: Arc<str>, link: Arc<Link>) -> Self {
        Self {
            participant,
            link,
            changes: Mutex::default(),
            statistics: Mutex::default(),
        }
    }

    pub(super) fn take_changes(&self) -> Vec<GroupChange> {
        std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn take_statistics(&self) -> Option<Vec<u8>> {
        self.statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn note(&self, change: GroupChange) {
        self.changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(change);
    }
}

impl ClientContext for ReaderContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        forward(level, facility, message, &self.participant);
    }

    fn stats_raw(&self, statistics: &[u8]) {
        let mut latest = self
            .statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *latest = Some(statistics.to_vec());
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(participant = %self.participant, %error, reason, "consumer error");
    }
}

impl ConsumerContext for ReaderContext {
    /// Takes a rebalance up as a member of an eager group, the only kind that the settings allow. rdkafka's
    /// own way asks librdkafka for the group's protocol first, and a consumer that closes meanwhile may
    /// drop the question: the thread would wait for the answer for ever.
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        code: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let rebalance = match code {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Rebalance::Assign(list),
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS => Rebalance::Revoke(list),
            other => Rebalance::Error(KafkaError::Rebalance(other.into())),
        };
        self.pre_rebalance(consumer, &rebalance);
        let taken_up = match &rebalance {
            Rebalance::Assign(list) => consumer.assign(list),
            Rebalance::Revoke(_) | Rebalance::Error(_) => consumer.unassign(),
        };
        match taken_up {
            Ok(()) => self.post_rebalance(consumer, &rebalance),
            Err(error) => self.note(GroupChange::Failed(error.to_string())),
        }
    }

    fn pre_rebalance(&self, _: &BaseConsumer<Self>, _: &Rebalance<'_>) {
        self.link.invalidate();
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        self.note(match rebalance {
            Rebalance::Assign(list) => {
                let places = list.elements();
                let places = places
                    .iter()
                    .map(|place| (place.topic().into(), place.partition()));
                match (consumer.group_metadata(), consumer.assignment_lost()) {
                    // Taken now, while librdkafka waits for this assignment. One that is lost
                    // already may carry no member at all, and the coordinator would take offsets
                    // from nobody without a check.
                    (Some(metadata), false) => GroupChange::Assigned(places.collect(), metadata),
                    _ => GroupChange::Revoked,
                }
            }
            Rebalance::Revoke(_) => GroupChange::Revoked,
            Rebalance::Error(error) => GroupChange::Failed(error.to_string()),
        });
    }
}
