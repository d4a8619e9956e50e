//! An application's own rdkafka producer takes part.

use std::time::Duration;

use gtc::{Coordinator, ErrorKind, Reuse, VersionClass};
use gtc_clusters::Cluster;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::support::{
    Directory, PATIENCE, Result, client, committed, config, create_topic, record, two,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_own_producer_commits_with_the_others_and_silence_is_a_no() -> Result {
    let clusters = two().await?;
    for cluster in &clusters {
        create_topic(cluster, "own").await?;
    }
    let directory = Directory::new("own");
    let coordinator = Coordinator::open(config("own", &directory, &clusters)).await?;
    coordinator.settle("eu", "own-producer").await?;
    let producer = producer(clusters[0])?;

    let transaction = coordinator.begin()?;
    let own = transaction
        .enlist("eu", "own-producer", VersionClass::V1)
        .await?;
    produce(&producer, "silent")?;
    transaction.send("us", record("own", "silent")).await?;
    let error = transaction
        .commit()
        .await
        .expect_err("nothing said is a no");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    // A repeat of what the coordinator did. A record that nobody counted may still be on its way,
    // so that a new producer has to take the id over.
    producer.abort_transaction(PATIENCE)?;
    assert_eq!(own.finished().await?, Reuse::Discard);
    drop(producer);
    coordinator.settle("eu", "own-producer").await?;
    let producer = self::producer(clusters[0])?;

    let transaction = coordinator.begin()?;
    let own = transaction
        .enlist("eu", "own-producer", VersionClass::V1)
        .await?;
    produce(&producer, "counted")?;
    own.sent();
    own.delivered();
    transaction.send("us", record("own", "counted")).await?;
    transaction.commit().await?;
    producer.commit_transaction(PATIENCE)?;
    assert_eq!(own.finished().await?, Reuse::Reuse);

    for cluster in &clusters {
        assert_eq!(committed(cluster, "own").await?, ["counted"]);
    }
    coordinator.settle("eu", "own-producer").await?;
    coordinator.close().await?;
    Ok(())
}

fn producer(cluster: &Cluster) -> Result<BaseProducer> {
    let mut config: ClientConfig = client(cluster);
    config.set("transactional.id", "own-producer");
    let producer: BaseProducer = config.create()?;
    producer.init_transactions(PATIENCE)?;
    Ok(producer)
}

fn produce(producer: &BaseProducer, value: &str) -> Result {
    producer.begin_transaction()?;
    let record = BaseRecord::<(), str>::to("own").payload(value);
    producer.send(record).map_err(|(error, _)| error)?;
    producer.flush(Duration::from_secs(30))?;
    Ok(())
}
