//! The end of `--until-end`: what the source held at the start, and whether the group is past it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gtc::kafka::consumer::committed_offsets;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::group::Group;
use super::site::Site;
use crate::failure::Failure;

/// How long a question to the cluster may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A topic and a partition.
pub(crate) type Place = (String, i32);

/// Offsets that the group has to reach.
pub(crate) struct Goal {
    group: Group,
    ends: BTreeMap<Place, i64>,
}

impl Goal {
    /// The ends of these topics now.
    pub(crate) async fn now(
        group: &Group,
        source: &Site,
        topics: &[&str],
    ) -> Result<Self, Failure> {
        let mut ends = BTreeMap::new();
        for topic in topics {
            let logs = source.logs(topic).await?;
            for (partition, end) in source.ends(topic).await? {
                // What holds no record needs no position.
                if logs.get(&partition).is_none_or(|log| log.start < end) {
                    ends.insert(((*topic).to_owned(), partition), end);
                }
            }
        }
        Ok(Self {
            group: group.clone(),
            ends,
        })
    }

    /// The offsets that the group has to reach.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&Place, i64)> {
        self.ends.iter().map(|(place, end)| (place, *end))
    }

    /// Whether nothing is left to mirror before the goal. Asks the group, so that instances which
    /// share one end together.
    pub(crate) async fn is_reached(&self) -> Result<bool, Failure> {
        let (group, ends) = (self.group.clone(), self.ends.clone());
        let asked = tokio::task::spawn_blocking(move || is_reached(&group, &ends)).await;
        let asked =
            asked.map_err(|error| Failure::error(format!("looking for the end: {error}")))?;
        asked.or_else(|error| {
            tracing::debug!(%error, "the end is looked for again");
            Ok(false)
        })
    }
}

fn is_reached(group: &Group, ends: &BTreeMap<Place, i64>) -> Result<bool, KafkaError> {
    if ends.is_empty() {
        return Ok(true);
    }
    let consumer = group.client()?;
    let mut asked = TopicPartitionList::new();
    for (topic, partition) in ends.keys() {
        asked.add_partition(topic, *partition);
    }
    let committed = committed_offsets(&consumer, &asked, PATIENCE)?;
    let mut open = TopicPartitionList::new();
    for ((topic, partition), end) in ends {
        let found = committed
            .find_partition(topic, *partition)
            .map(|place| place.offset());
        match found {
            Some(Offset::Offset(offset)) if offset >= *end => {}
            Some(Offset::Offset(offset)) => {
                open.add_partition_offset(topic, *partition, Offset::Offset(offset))?;
            }
            _ => open.add_partition_offset(topic, *partition, Offset::Beginning)?,
        }
    }
    holds_no_record(&consumer, &open)
}

/// Whether a read_committed reader finds nothing but markers and aborted records from there on.
fn holds_no_record(consumer: &BaseConsumer, open: &TopicPartitionList) -> Result<bool, KafkaError> {
    if open.count() == 0 {
        return Ok(true);
    }
    consumer.assign(open)?;
    let deadline = Instant::now() + PATIENCE;
    let mut ended = 0;
    while Instant::now() < deadline {
        match consumer.poll(Duration::from_millis(100)) {
            None => {}
            Some(Ok(_)) => return Ok(false),
            Some(Err(KafkaError::PartitionEOF(_))) => ended += 1,
            Some(Err(error)) => return Err(error),
        }
        // Each partition reports its end once.
        if ended == open.count() {
            return Ok(true);
        }
    }
    Ok(false)
}
