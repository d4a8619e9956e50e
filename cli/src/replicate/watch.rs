//! Watches for records that are gone at the source before they were mirrored, and applies the
//! policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc::{Batch, OutOfRange, PartitionOffset, TransactionalConsumer};

use super::loss::{self, Cause, Committed, Loss, SourceLog, TopicId};
use super::memory::Memory;
use super::reporter::Reporter;
use super::site::Site;
use crate::args::OnLoss;
use crate::failure::{Exit, Failure};

/// A topic and a partition.
type Place = (Arc<str>, i32);

/// What the positions that are read now belong to.
pub(crate) struct Watch {
    policy: OnLoss,
    reporter: Reporter,
    memory: Memory,
    assigned: Vec<Place>,
    /// The topic that each position is one of.
    ids: BTreeMap<Arc<str>, TopicId>,
    /// Positions that were given up since the assignment; a late report about them is no news.
    given_up: BTreeMap<Place, i64>,
}

impl Watch {
    /// Watches nothing yet.
    pub(crate) fn new(policy: OnLoss, reporter: Reporter, memory: Memory) -> Self {
        Self {
            policy,
            reporter,
            memory,
            assigned: Vec::new(),
            ids: BTreeMap::new(),
            given_up: BTreeMap::new(),
        }
    }

    /// The text beside the offset of a topic.
    pub(crate) fn metadata(&self, topic: &str) -> String {
        self.ids
            .get(topic)
            .map_or_else(String::new, |id| loss::to_metadata(*id))
    }

    /// Nothing is read any more.
    pub(crate) fn revoked(&mut self) {
        self.assigned.clear();
        self.given_up.clear();
    }

    /// Compares the topics of newly assigned partitions with those that the offsets were committed
    /// for.
    pub(crate) async fn assigned(
        &mut self,
        places: Vec<Place>,
        source: &Site,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        self.revoked();
        self.assigned = places;
        let committed = consumer.committed().await.map_err(Failure::from_error)?;
        let mut logs = BTreeMap::new();
        for (topic, _) in &self.assigned {
            if !logs.contains_key(topic) {
                logs.insert(topic.clone(), source.logs(topic).await?);
            }
        }
        for place in committed {
            let log = logs
                .get(&place.topic)
                .and_then(|logs| logs.get(&place.partition));
            let Some(log) = log else { continue };
            self.compare(&place, *log, consumer).await?;
        }
        for (topic, partitions) in &logs {
            let Some(log) = partitions.values().next() else {
                continue;
            };
            let was_another = self.memory.get(topic).is_some_and(|id| id != log.topic_id);
            if was_another {
                self.recreated(topic, log.topic_id, source, consumer)
                    .await?;
            }
            self.memory.set(topic, log.topic_id)?;
            self.ids.insert(topic.clone(), log.topic_id);
        }
        Ok(())
    }

    async fn compare(
        &mut self,
        place: &PartitionOffset,
        log: SourceLog,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        let topic_id = loss::from_metadata(&place.metadata);
        let committed = Committed {
            offset: place.offset,
            topic_id,
        };
        match loss::find(Some(committed), log) {
            // The consumer itself finds the other losses, and waits to be resumed.
            Some(found) if found.cause == Cause::Recreated => {
                let at = (place.topic.clone(), place.partition);
                self.go_over(at, place.offset, found, consumer).await
            }
            _ => Ok(()),
        }
    }

    /// The cluster no longer has a position.
    pub(crate) async fn out_of_range(
        &mut self,
        event: OutOfRange,
        source: &Site,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        let place = (event.topic.clone(), event.partition);
        if self.given_up.get(&place) == Some(&event.position) {
            return Ok(());
        }
        let now = source.topic(&event.topic).await?;
        let known = self.ids.get(&event.topic).copied();
        let Some(topic_id) = now.map(|topic| topic.id).or(known) else {
            return Ok(());
        };
        let committed = Committed {
            offset: event.position,
            topic_id: known,
        };
        let log = SourceLog {
            topic_id,
            start: event.low,
            end: event.high,
        };
        match loss::find(Some(committed), log) {
            Some(found) if found.cause == Cause::Recreated => {
                self.given_up.retain(|(name, _), _| *name != event.topic);
                self.recreated(&event.topic, topic_id, source, consumer)
                    .await
            }
            Some(found) => self.go_over(place, event.position, found, consumer).await,
            // It is back in range: a leader that had lagged behind.
            None => resume(consumer, &place, event.position).await,
        }
    }

    /// Whether the records of a batch are of the topics that they are taken for. To be asked after
    /// they were read and before they are committed.
    pub(crate) async fn is_current(&self, batch: &Batch, source: &Site) -> Result<bool, Failure> {
        for topic in topics_of(batch) {
            let now = source.topic(topic).await?;
            // A topic that is gone cannot be another one: its records are still its own.
            if now.is_some_and(|now| self.ids.get(topic) != Some(&now.id)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes over to the new topics under the names of a batch that [`Watch::is_current`] denied.
    pub(crate) async fn renew(
        &mut self,
        topics: Vec<Arc<str>>,
        source: &Site,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        for topic in topics {
            if let Some(now) = source.topic(&topic).await?
                && self.ids.get(&topic) != Some(&now.id)
            {
                self.given_up.retain(|(name, _), _| *name != topic);
                self.recreated(&topic, now.id, source, consumer).await?;
            }
        }
        Ok(())
    }

    async fn recreated(
        &mut self,
        topic: &Arc<str>,
        id: TopicId,
        source: &Site,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        let logs = source.logs(topic).await?;
        let positions = consumer.lag();
        let places: Vec<Place> = self
            .assigned
            .iter()
            .filter(|(name, _)| name == topic)
            .cloned()
            .collect();
        for place in places {
            // Its offset told the same.
            if self.given_up.contains_key(&place) {
                continue;
            }
            let start = logs.get(&place.1).map_or(0, |log| log.start);
            let shown = positions
                .iter()
                .find(|lag| lag.topic == place.0 && lag.partition == place.1);
            let from = shown.and_then(|lag| lag.position).unwrap_or(0);
            let found = Loss {
                cause: Cause::Recreated,
                from,
                to: None,
                resume: start,
            };
            self.go_over(place, from, found, consumer).await?;
        }
        self.memory.set(topic, id)?;
        self.ids.insert(topic.clone(), id);
        Ok(())
    }

    async fn go_over(
        &mut self,
        place: Place,
        position: i64,
        found: Loss,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        let (topic, partition) = &place;
        let text = format!(
            "participant `{}`: {topic}-{partition}: {found}",
            consumer.participant()
        );
        if self.policy == OnLoss::Fail {
            return Err(Failure::with(
                Exit::Loss,
                format!(
                    "{text}; find out why, then go on with what is there by --on-loss continue, or \
                     restore the source"
                ),
            ));
        }
        tracing::warn!(resume = found.resume, "lost: {text}; going on");
        self.reporter.lost(found.records().unwrap_or(0));
        resume(consumer, &place, found.resume).await?;
        self.given_up.insert(place, position);
        Ok(())
    }
}

/// The topics that a batch has records of.
pub(crate) fn topics_of(batch: &Batch) -> Vec<&Arc<str>> {
    let mut topics: Vec<&Arc<str>> = batch
        .offsets()
        .positions()
        .iter()
        .map(|place| &place.topic)
        .collect();
    topics.sort();
    topics.dedup();
    topics
}

async fn resume(
    consumer: &TransactionalConsumer,
    (topic, partition): &Place,
    offset: i64,
) -> Result<(), Failure> {
    consumer
        .resume_at(topic, *partition, offset)
        .await
        .map_err(Failure::from_error)
}
