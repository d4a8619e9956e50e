//! Watches for records that are gone at the source before they were mirrored, and applies the
//! policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc::{Batch, OutOfRange, PartitionLag, PartitionOffset, TransactionalConsumer};

use super::loss::{self, Cause, Committed, Loss, SourceLog, TopicId};
use super::memory::{Memory, Seen};
use super::reporter::Reporter;
use super::site::{Site, Topics};
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
    /// Where each partition was mirrored up to in this run.
    mirrored: BTreeMap<Place, i64>,
    /// How each partition was seen while its topic was known to be the same.
    noted: BTreeMap<Place, Seen>,
    /// Positions that were given up since the assignment; a late report about them is no news.
    given_up: BTreeMap<Place, i64>,
    /// The group's name, until it is known whether it has offsets.
    untold_group: Option<String>,
}

impl Watch {
    /// Watches nothing yet for a group of this name.
    pub(crate) fn new(policy: OnLoss, reporter: Reporter, (memory, group): (Memory, &str)) -> Self {
        Self {
            untold_group: Some(group.to_owned()),
            policy,
            reporter,
            memory,
            assigned: Vec::new(),
            ids: BTreeMap::new(),
            mirrored: BTreeMap::new(),
            noted: BTreeMap::new(),
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
        self.tell_if_new(&committed);
        let mut logs = BTreeMap::new();
        for (topic, _) in &self.assigned {
            if !logs.contains_key(topic) {
                logs.insert(topic.clone(), source.logs(topic).await?);
            }
        }
        let mut found = self.by_committed(&committed, &logs);
        for (topic, partitions) in &logs {
            let known = self.memory.get(topic);
            let now = partitions.values().next().map(|log| log.topic_id);
            if now.is_some() && known.is_some_and(|known| Some(known) != now) {
                let others = self.made_again(topic, partitions, consumer);
                let told: Vec<Place> = found.iter().map(|one| one.place.clone()).collect();
                found.extend(others.into_iter().filter(|one| !told.contains(&one.place)));
            }
        }
        self.go_over(found, consumer).await?;
        for (topic, partitions) in &logs {
            if let Some(log) = partitions.values().next() {
                self.take_for(topic, log.topic_id)?;
            }
        }
        Ok(())
    }

    /// Once a run: what a group without offsets mirrors may be there already, by another group.
    fn tell_if_new(&mut self, committed: &[PartitionOffset]) {
        if self.assigned.is_empty() {
            return;
        }
        if let Some(group) = self.untold_group.take()
            && committed.is_empty()
        {
            tracing::info!(
                group,
                "the group has no offsets at the source: everything there is mirrored from its beginning, \
                 once more where another group has mirrored it"
            );
        }
    }

    /// From now on the records under this name are of the topic with this id.
    fn take_for(&mut self, topic: &Arc<str>, id: TopicId) -> Result<(), Failure> {
        if self.ids.insert(topic.clone(), id) != Some(id) {
            self.mirrored.retain(|(name, _), _| name != topic);
            self.noted.retain(|(name, _), _| name != topic);
        }
        self.memory.set(topic, id)
    }

    /// What the ids beside the committed offsets tell.
    fn by_committed(
        &self,
        committed: &[PartitionOffset],
        logs: &BTreeMap<Arc<str>, BTreeMap<i32, SourceLog>>,
    ) -> Vec<Found> {
        let compare = |place: &PartitionOffset| {
            let log = logs.get(&place.topic)?.get(&place.partition)?;
            let topic_id = loss::from_metadata(&place.metadata);
            let offset = place.offset;
            let mut loss = loss::find(Some(Committed { offset, topic_id }), *log)?;
            // The consumer itself finds the other losses, and waits to be resumed.
            if loss.cause != Cause::Recreated {
                return None;
            }
            let at = (place.topic.clone(), place.partition);
            loss.to = self.seen(&at).map(|seen| seen.end);
            Some(Found {
                place: at,
                position: offset,
                loss,
            })
        };
        committed.iter().filter_map(compare).collect()
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
            Some(loss) if loss.cause == Cause::Recreated => {
                self.recreated(&event.topic, topic_id, source, consumer)
                    .await
            }
            Some(loss) => {
                let position = event.position;
                let found = Found {
                    place,
                    position,
                    loss,
                };
                self.go_over(vec![found], consumer).await
            }
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
        self.given_up.retain(|(name, _), _| name != topic);
        let logs = source.logs(topic).await?;
        let found = self.made_again(topic, &logs, consumer);
        self.go_over(found, consumer).await?;
        self.take_for(topic, id)
    }

    /// All partitions of a topic that was made again, with what is known of the old one.
    fn made_again(
        &self,
        topic: &Arc<str>,
        logs: &BTreeMap<i32, SourceLog>,
        consumer: &TransactionalConsumer,
    ) -> Vec<Found> {
        let positions = consumer.lag();
        let find = |place: &Place| {
            let mut shown = positions.iter();
            let shown = shown.find(|lag| lag.topic == place.0 && lag.partition == place.1);
            let seen = self.seen(place);
            let mirrored = self.mirrored.get(place).copied();
            Found {
                place: place.clone(),
                position: shown.and_then(|lag| lag.position).unwrap_or(0),
                loss: Loss {
                    cause: Cause::Recreated,
                    from: mirrored.max(seen.map(|seen| seen.mirrored)),
                    to: seen.map(|seen| seen.end),
                    resume: logs.get(&place.1).map_or(0, |log| log.start),
                },
            }
        };
        let places = self.assigned.iter().filter(|(name, _)| name == topic);
        places.map(find).collect()
    }

    fn seen(&self, place: &Place) -> Option<Seen> {
        let noted = self.noted.get(place).copied();
        noted.or_else(|| self.memory.seen(&place.0, place.1))
    }

    /// These offsets are committed, as [`Watch::is_current`] had allowed.
    pub(crate) fn committed(&mut self, positions: &[PartitionOffset]) {
        for position in positions {
            let place = (position.topic.clone(), position.partition);
            self.mirrored.insert(place, position.offset);
        }
    }

    /// Notes how partitions are seen, given topics of the source that were asked for after that: where
    /// one is still the same, what was seen was its own.
    pub(crate) fn note(&mut self, lines: &[PartitionLag], topics: &Topics) {
        for line in lines {
            let now = topics.get(line.topic.as_ref()).map(|topic| topic.id);
            let seen = line.open.or(line.position).map(|mirrored| Seen {
                mirrored,
                end: line.end,
            });
            if let Some(seen) = seen
                && now.is_some()
                && self.ids.get(&line.topic) == now.as_ref()
            {
                let place = (line.topic.clone(), line.partition);
                self.noted.insert(place, seen);
            }
        }
    }

    /// Notes the ends of partitions, given topics of the source that were asked for after that.
    pub(crate) fn note_ends(&mut self, ends: Vec<(Arc<str>, BTreeMap<i32, i64>)>, topics: &Topics) {
        for (topic, ends) in ends {
            let now = topics.get(topic.as_ref()).map(|topic| topic.id);
            if now.is_none() || self.ids.get(&topic) != now.as_ref() {
                continue;
            }
            for (partition, end) in ends {
                let place = (topic.clone(), partition);
                let seen = self.seen(&place).map(|seen| seen.mirrored);
                if let Some(mirrored) = seen.max(self.mirrored.get(&place).copied()) {
                    self.noted.insert(place, Seen { mirrored, end });
                }
            }
        }
    }

    /// The topics that are read.
    pub(crate) fn topics(&self) -> Vec<Arc<str>> {
        self.ids.keys().cloned().collect()
    }

    /// Nothing is left to mirror before these offsets.
    pub(crate) fn reached<'a>(&mut self, ends: impl Iterator<Item = (&'a (String, i32), i64)>) {
        for ((topic, partition), end) in ends {
            let place = (Arc::from(topic.as_str()), *partition);
            let mirrored = self.mirrored.entry(place).or_insert(end);
            *mirrored = end.max(*mirrored);
        }
    }

    /// Remembers what was noted, for a topic that is made again before the next start.
    pub(crate) fn remember(&self) -> Result<(), Failure> {
        let noted = self.noted.iter().map(|((topic, partition), seen)| {
            let place = (topic.clone(), *partition);
            let mirrored = self.mirrored.get(&place).copied().unwrap_or(i64::MIN);
            let seen = Seen {
                mirrored: seen.mirrored.max(mirrored),
                ..*seen
            };
            ((topic.as_ref().to_owned(), *partition), seen)
        });
        self.memory.see(noted)
    }

    /// Applies the policy to all of them at once, so that each is named.
    async fn go_over(
        &mut self,
        found: Vec<Found>,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        if found.is_empty() {
            return Ok(());
        }
        let participant = consumer.participant();
        let texts = found.iter().map(|one| {
            let ((topic, partition), loss) = (&one.place, &one.loss);
            format!("participant `{participant}`: {topic}-{partition}: {loss}")
        });
        let texts: Vec<String> = texts.collect();
        if self.policy == OnLoss::Fail {
            return Err(Failure::with(
                Exit::Loss,
                format!(
                    "{}; find out why, then go on with what is there by --on-loss continue, or \
                     restore the source",
                    texts.join("\n  ")
                ),
            ));
        }
        for (one, text) in found.into_iter().zip(texts) {
            tracing::warn!(resume = one.loss.resume, "lost: {text}; going on");
            self.reporter.lost(one.loss.records().unwrap_or(0));
            resume(consumer, &one.place, one.loss.resume).await?;
            self.given_up.insert(one.place, one.position);
        }
        Ok(())
    }
}

/// A loss, and where.
struct Found {
    place: Place,
    /// Where the reader stood.
    position: i64,
    loss: Loss,
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
