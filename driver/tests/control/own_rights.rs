//! An own producer of another principal, on a topic that gtc's principal may not see.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gtc::{Config, Coordinator, Error, ErrorKind, ParticipantConfig, Reuse, VersionClass};
use gtc_clusters::{Acl, Cluster, Operation, Resource};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::client;
use crate::producer::{Writer, create_topic};

const ID: &str = "own-rights";
const PATIENCE: Duration = Duration::from_secs(30);

/// The vote misses the partitions of what was delivered: it is a no that names the right, and nothing is visible; once the
/// right is granted the same is committed.
pub async fn a_topic_that_is_hidden_is_a_no(cluster: &Cluster) {
    let admin = cluster.admin_properties();
    create_topic(&admin, ID).await;
    let rights = [
        Acl::prefixed(
            Resource::TransactionalId,
            "gtc.own-rights",
            Operation::Write,
        ),
        Acl::literal(Resource::TransactionalId, ID, Operation::Write),
    ];
    cluster.add_acls(&rights).expect("granted");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(ID);
    // What an earlier run left would belong to another cluster.
    let _ = std::fs::remove_dir_all(&directory);
    let coordinator = Coordinator::open(config(cluster, &directory)).await;
    let coordinator = coordinator.expect("a coordinator");

    let error = commit(&coordinator, &admin).await.expect_err("hidden");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    for words in ["own-rights-0", "principal", "grant it Describe"] {
        assert!(error.problem().contains(words), "{words}: {error}");
    }
    assert_eq!(visible(&admin), 0);

    let right = Acl::literal(Resource::Topic, ID, Operation::Describe);
    cluster.add_acls(&[right]).expect("granted");
    let control = client(cluster.client_properties(), 20_000);
    while !matches!(control.topic(ID).await, Ok(Some(_))) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    commit(&coordinator, &admin).await.expect("committed");
    assert_eq!(visible(&admin), 1);
    coordinator.close().await.expect("closed");
    std::fs::remove_dir_all(directory).expect("removed");
}

fn config(cluster: &Cluster, directory: &std::path::Path) -> Config {
    let properties = cluster.client_properties().into_iter();
    let participant = properties.fold(ParticipantConfig::kafka("eu"), |config, (key, value)| {
        config.property(key, value)
    });
    Config::new(ID, directory).participant(participant)
}

/// One transaction of an own producer, which counts with its partition what it delivers.
async fn commit(
    coordinator: &Coordinator,
    properties: &BTreeMap<String, String>,
) -> Result<(), Error> {
    coordinator.settle("eu", ID).await?;
    let writer = Writer::open(properties, ID, 60_000);
    let transaction = coordinator.begin()?;
    let own = transaction.enlist("eu", ID, VersionClass::V1).await?;
    own.sent();
    writer.write(ID).await;
    own.delivered_to(ID, 0);
    let told = transaction.commit().await;
    let reuse = own.finished().await?;
    assert_eq!(reuse == Reuse::Reuse, told.is_ok(), "{told:?}");
    told.map(drop)
}

/// How many records of the topic a read_committed reader gets.
fn visible(properties: &BTreeMap<String, String>) -> usize {
    let mut config = ClientConfig::new();
    config.extend(properties.clone());
    config
        .set("group.id", ID)
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true");
    let consumer: BaseConsumer = config.create().expect("a reader");
    let mut places = TopicPartitionList::new();
    places
        .add_partition_offset(ID, 0, Offset::Beginning)
        .expect("a place");
    tokio::task::block_in_place(|| {
        consumer.assign(&places).expect("assigned");
        let read = std::iter::from_fn(|| consumer.poll(PATIENCE));
        // The first error is the end.
        read.take_while(Result::is_ok).count()
    })
}
