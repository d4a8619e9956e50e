//! One cluster that a mirror reads from or writes to: who it is, and its topics.

use std::collections::BTreeMap;

use gtc::ParticipantConfig;
use gtc::kafka::control::{ControlClient, OffsetQuery, TopicMetadata};

use super::admin::Admin;
use super::loss::{SourceLog, TopicId};
use crate::failure::Failure;

/// A cluster with the clients that ask it about topics.
pub(crate) struct Site {
    name: String,
    cluster_id: String,
    control: ControlClient,
    admin: Admin,
}

/// A topic as a site has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    /// Its id.
    pub(crate) id: TopicId,
    /// How many partitions it has.
    pub(crate) partitions: i32,
}

/// The topics of a site, by name.
pub(crate) type Topics = BTreeMap<String, Topic>;

impl Site {
    /// Connects to a participant.
    pub(crate) async fn open(participant: &ParticipantConfig) -> Result<Self, Failure> {
        let properties = participant.kafka_properties().map_err(Failure::config)?;
        let control = ControlClient::open(&properties).map_err(Failure::config)?;
        let cluster_id = control.cluster_id().await.map_err(Failure::from_error)?;
        let admin = Admin::new(participant.name(), &properties.client_config())?;
        Ok(Self {
            name: participant.name().to_owned(),
            cluster_id,
            control,
            admin,
        })
    }

    /// The participant's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The cluster.id.
    pub(crate) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// What changes topics.
    pub(crate) fn admin(&self) -> &Admin {
        &self.admin
    }

    /// All topics that the principal may see.
    pub(crate) async fn topics(&self) -> Result<Topics, Failure> {
        let topics = self.control.topics().await.map_err(Failure::from_error)?;
        Ok(topics
            .iter()
            .map(|topic| (topic.name.clone(), Topic::from(topic)))
            .collect())
    }

    /// One topic; `None` if there is none of that name.
    pub(crate) async fn topic(&self, name: &str) -> Result<Option<Topic>, Failure> {
        let found = self
            .control
            .topic(name)
            .await
            .map_err(Failure::from_error)?;
        Ok(found.as_ref().map(Topic::from))
    }

    /// Starts and ends of the partitions of a topic, as a read_committed reader sees them.
    pub(crate) async fn logs(&self, topic: &str) -> Result<BTreeMap<i32, SourceLog>, Failure> {
        // The id is asked before and after, so that it belongs to the offsets between.
        loop {
            let before = self.topic(topic).await?;
            let starts = self.offsets(topic, OffsetQuery::Earliest).await?;
            let ends = self.offsets(topic, OffsetQuery::Latest).await?;
            let after = self.topic(topic).await?;
            match (before, after) {
                (Some(before), Some(after)) if before.id == after.id => {
                    return Ok(join(before.id, &starts, &ends));
                }
                (_, Some(_)) => {}
                (_, None) => return Ok(BTreeMap::new()),
            }
        }
    }

    /// The ends of the partitions of a topic, before open transactions.
    pub(crate) async fn ends(&self, topic: &str) -> Result<BTreeMap<i32, i64>, Failure> {
        self.offsets(topic, OffsetQuery::LatestCommitted).await
    }

    async fn offsets(
        &self,
        topic: &str,
        query: OffsetQuery,
    ) -> Result<BTreeMap<i32, i64>, Failure> {
        self.control
            .list_offsets(topic, query)
            .await
            .map_err(Failure::from_error)
    }
}

impl From<&TopicMetadata> for Topic {
    fn from(topic: &TopicMetadata) -> Self {
        // A count of partitions fits a partition's number.
        let partitions = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        Self {
            id: TopicId(u128::from_be_bytes(topic.id)),
            partitions,
        }
    }
}

fn join(
    topic_id: TopicId,
    starts: &BTreeMap<i32, i64>,
    ends: &BTreeMap<i32, i64>,
) -> BTreeMap<i32, SourceLog> {
    let both = starts.iter().filter_map(|(partition, start)| {
        let end = *ends.get(partition)?;
        Some((
            *partition,
            SourceLog {
                topic_id,
                start: *start,
                end,
            },
        ))
    });
    both.collect()
}
