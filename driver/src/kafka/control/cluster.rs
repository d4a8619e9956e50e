//! The cluster itself: its id, brokers, topics, features, settings and offsets.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeConfigsRequest, DescribeConfigsResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse,
};
use kafka_protocol::protocol::StrBytes;
use tokio::time::Instant;

use super::client::{ControlClient, Target};
use super::error::{ControlError, Failure};
use crate::kafka::properties::Endpoint;

const RESOURCE_TOPIC: i8 = 2;
const RESOURCE_BROKER: i8 = 4;
const NO_REPLICA: i32 = -1;

/// A cluster as one of its brokers sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The cluster.id.
    pub id: String,
    /// Its brokers.
    pub brokers: Vec<BrokerNode>,
}

/// One broker of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerNode {
    /// The node id.
    pub id: i32,
    /// The host that it advertises.
    pub host: String,
    /// The port that it advertises.
    pub port: u16,
}

impl BrokerNode {
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: self.host.clone(),
            port: self.port,
        }
    }
}

/// A topic and its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicMetadata {
    /// The name.
    pub name: String,
    /// The id, which a topic of the same name does not have after it was made again.
    pub id: [u8; 16],
    /// Made by the brokers for themselves.
    pub is_internal: bool,
    /// The partitions in their order.
    pub partitions: Vec<PartitionMetadata>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The number.
    pub index: i32,
    /// The node id of the leader; `None` while there is none.
    pub leader: Option<i32>,
    /// The node ids of the replicas.
    pub replicas: Vec<i32>,
}

/// What [`ControlClient::describe_configs`] asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigResource {
    /// A broker, by its node id.
    Broker(i32),
    /// A topic, by its name.
    Topic(String),
}

/// The features of a cluster with their finalised levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalizedFeatures(BTreeMap<String, i16>);

impl FinalizedFeatures {
    /// The finalised level of a feature; 0 where the cluster has none.
    #[must_use]
    pub fn level(&self, feature: &str) -> i16 {
        self.0.get(feature).copied().unwrap_or(0)
    }

    /// The finalised level of `transaction.version`: 2 is what version class v2 needs.
    #[must_use]
    pub fn transaction_version(&self) -> i16 {
        self.level("transaction.version")
    }
}

/// Which offset of a partition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffsetQuery {
    /// The first one that is still kept.
    Earliest,
    /// The end of the partition, open transactions included.
    Latest,
    /// The end of what a read_committed reader sees: the last stable offset.
    LatestCommitted,
}

impl OffsetQuery {
    fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => -2,
            Self::Latest | Self::LatestCommitted => -1,
        }
    }

    fn isolation_level(self) -> i8 {
        i8::from(self == Self::LatestCommitted)
    }
}

impl ControlClient {
    /// Asks whether any broker answers within `patience`.
    pub(crate) async fn reach(&self, patience: Duration) -> Result<(), ControlError> {
        let request = MetadataRequest::default().with_topics(Some(Vec::new()));
        let deadline = Instant::now() + patience;
        let answered = self.read(Target::Any, &request, deadline, |_| Ok(()));
        answered
            .await
            .map_err(|failure| self.error("ask whether it answers", failure))
    }

    /// The cluster.id and the brokers.
    ///
    /// # Errors
    /// No answer in time, or a cluster that tells no id.
    pub async fn cluster(&self) -> Result<Cluster, ControlError> {
        let request = MetadataRequest::default().with_topics(Some(Vec::new()));
        self.read(Target::Any, &request, self.deadline(), |answer| {
            cluster(&answer)
        })
        .await
        .map_err(|failure| self.error("ask for the cluster's metadata", failure))
    }

    /// The cluster.id.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster).
    pub async fn cluster_id(&self) -> Result<String, ControlError> {
        self.cluster().await.map(|cluster| cluster.id)
    }

    /// All topics that this principal may see.
    ///
    /// # Errors
    /// No answer in time, or an error code of a topic.
    pub async fn topics(&self) -> Result<Vec<TopicMetadata>, ControlError> {
        let request = MetadataRequest::default().with_topics(None);
        self.read(Target::Any, &request, self.deadline(), |answer| {
            answer.topics.iter().map(topic).collect()
        })
        .await
        .map_err(|failure| self.error("list topics", failure))
    }

    /// One topic; `None` if there is none of that name. It is never created by asking.
    ///
    /// # Errors
    /// No answer in time, or another error code than UNKNOWN_TOPIC_OR_PARTITION.
    pub async fn topic(&self, name: &str) -> Result<Option<TopicMetadata>, ControlError> {
        let wanted = MetadataRequestTopic::default().with_name(Some(text(name).into()));
        let request = MetadataRequest::default()
            .with_topics(Some(vec![wanted]))
            .with_allow_auto_topic_creation(false);
        self.read(
            Target::Any,
            &request,
            self.deadline(),
            |answer| match &answer.topics[..] {
                [one] if one.error_code == UNKNOWN_TOPIC_OR_PARTITION => Ok(None),
                [one] => topic(one).map(Some),
                _ => Err(Failure::protocol("Metadata was answered for other topics")),
            },
        )
        .await
        .map_err(|failure| self.error("describe a topic", failure))
    }

    /// The finalised features of the cluster.
    ///
    /// # Errors
    /// No answer in time.
    pub async fn finalized_features(&self) -> Result<FinalizedFeatures, ControlError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("gtc"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        self.read(
            Target::Any,
            &request,
            self.deadline(),
            |answer| match answer.error_code {
                0 => Ok(FinalizedFeatures(
                    answer
                        .finalized_features
                        .iter()
                        .map(|feature| (feature.name.to_string(), feature.max_version_level))
                        .collect(),
                )),
                code => Err(Failure::code(code)),
            },
        )
        .await
        .map_err(|failure| self.error("ask for the cluster's features", failure))
    }

    /// The settings of a broker or a topic, defaults included. Values that the broker keeps secret
    /// are left out.
    ///
    /// # Errors
    /// No answer in time, or the broker's error code.
    pub async fn describe_configs(
        &self,
        resource: &ConfigResource,
    ) -> Result<BTreeMap<String, String>, ControlError> {
        const OPERATION: &str = "describe settings";
        let (kind, name) = match resource {
            ConfigResource::Broker(id) => (RESOURCE_BROKER, id.to_string()),
            ConfigResource::Topic(name) => (RESOURCE_TOPIC, name.clone()),
        };
        // A broker answers for its own settings only.
        let endpoint = match resource {
            ConfigResource::Broker(id) => Some(self.endpoint_of(*id, OPERATION).await?),
            ConfigResource::Topic(_) => None,
        };
        let wanted = DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(&name))
            .with_configuration_keys(None);
        let request = DescribeConfigsRequest::default().with_resources(vec![wanted]);
        let target = endpoint.as_ref().map_or(Target::Any, Target::Broker);
        self.read(target, &request, self.deadline(), |answer| configs(&answer))
            .await
            .map_err(|failure| self.error(OPERATION, failure))
    }

    /// One offset of each of a topic's partitions, in the partitions' order.
    ///
    /// # Errors
    /// No answer in time from a leader, an unknown topic, or an error code of a partition.
    pub async fn list_offsets(
        &self,
        topic: &str,
        query: OffsetQuery,
    ) -> Result<BTreeMap<i32, i64>, ControlError> {
        const OPERATION: &str = "list offsets";
        let metadata = self
            .topic(topic)
            .await?
            .ok_or_else(|| self.error(OPERATION, Failure::code(UNKNOWN_TOPIC_OR_PARTITION)))?;
        let mut by_leader: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for partition in &metadata.partitions {
            let leader = partition.leader.ok_or_else(|| {
                self.error(OPERATION, Failure::unavailable("a partition has no leader"))
            })?;
            by_leader.entry(leader).or_default().push(partition.index);
        }
        let mut offsets = BTreeMap::new();
        for (leader, partitions) in by_leader {
            let endpoint = self.endpoint_of(leader, OPERATION).await?;
            let request = offsets_request(topic, &partitions, query);
            let found = self
                .read(
                    Target::Broker(&endpoint),
                    &request,
                    self.deadline(),
                    |answer| offsets_of(&answer, &partitions),
                )
                .await
                .map_err(|failure| self.error(OPERATION, failure))?;
            offsets.extend(found);
        }
        Ok(offsets)
    }

    async fn endpoint_of(
        &self,
        id: i32,
        operation: &'static str,
    ) -> Result<Endpoint, ControlError> {
        let brokers = self.cluster().await?.brokers;
        brokers
            .iter()
            .find(|node| node.id == id)
            .map(BrokerNode::endpoint)
            .ok_or_else(|| {
                let message = format!("the cluster has no live broker with the node id {id}");
                self.error(operation, Failure::unavailable(message))
            })
    }
}

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn cluster(answer: &MetadataResponse) -> Result<Cluster, Failure> {
    if answer.error_code != 0 {
        return Err(Failure::code(answer.error_code));
    }
    let id = answer
        .cluster_id
        .as_ref()
        .ok_or_else(|| Failure::protocol("the broker tells no cluster.id"))?;
    let brokers = answer.brokers.iter().map(|broker| {
        let port =
            u16::try_from(broker.port).map_err(|_| Failure::protocol("a broker's port is none"))?;
        Ok(BrokerNode {
            id: broker.node_id.0,
            host: broker.host.to_string(),
            port,
        })
    });
    Ok(Cluster {
        id: id.to_string(),
        brokers: brokers.collect::<Result<_, Failure>>()?,
    })
}

fn topic(answer: &MetadataResponseTopic) -> Result<TopicMetadata, Failure> {
    if answer.error_code != 0 {
        return Err(Failure::code(answer.error_code));
    }
    let name = answer
        .name
        .as_ref()
        .ok_or_else(|| Failure::protocol("a topic has no name"))?;
    let mut partitions: Vec<_> = answer
        .partitions
        .iter()
        .map(|partition| PartitionMetadata {
            index: partition.partition_index,
            leader: Some(partition.leader_id.0).filter(|leader| *leader >= 0),
            replicas: partition.replica_nodes.iter().map(|node| node.0).collect(),
        })
        .collect();
    partitions.sort_by_key(|partition| partition.index);
    Ok(TopicMetadata {
        name: name.to_string(),
        id: answer.topic_id.into_bytes(),
        is_internal: answer.is_internal,
        partitions,
    })
}

fn configs(answer: &DescribeConfigsResponse) -> Result<BTreeMap<String, String>, Failure> {
    let result = answer
        .results
        .first()
        .ok_or_else(|| Failure::protocol("DescribeConfigs was answered without a resource"))?;
    if result.error_code != 0 {
        return Err(Failure::code(result.error_code));
    }
    let settings = result.configs.iter().filter(|config| !config.is_sensitive);
    Ok(settings
        .filter_map(|config| Some((config.name.to_string(), config.value.as_ref()?.to_string())))
        .collect())
}

fn offsets_request(topic: &str, partitions: &[i32], query: OffsetQuery) -> ListOffsetsRequest {
    let partitions = partitions.iter().map(|index| {
        ListOffsetsPartition::default()
            .with_partition_index(*index)
            .with_timestamp(query.timestamp())
    });
    let topic = ListOffsetsTopic::default()
        .with_name(text(topic).into())
        .with_partitions(partitions.collect());
    ListOffsetsRequest::default()
        .with_replica_id(NO_REPLICA.into())
        .with_isolation_level(query.isolation_level())
        .with_topics(vec![topic])
}

fn offsets_of(answer: &ListOffsetsResponse, wanted: &[i32]) -> Result<Vec<(i32, i64)>, Failure> {
    let mut offsets = Vec::with_capacity(wanted.len());
    for partition in answer.topics.iter().flat_map(|topic| &topic.partitions) {
        if partition.error_code != 0 {
            return Err(Failure::code(partition.error_code));
        }
        offsets.push((partition.partition_index, partition.offset));
    }
    let complete = wanted
        .iter()
        .all(|index| offsets.iter().any(|(found, _)| found == index));
    if complete && offsets.len() == wanted.len() {
        Ok(offsets)
    } else {
        Err(Failure::protocol(
            "ListOffsets was answered for other partitions",
        ))
    }
}
