//! Cases of an application's own producer that failed to deliver: its deliveries are its vote.

use std::time::Duration;

use gtc::{Coordinator, Error, ErrorKind, OwnBranch, Reuse, TransactionOptions, VersionClass};
use gtc_clusters::Cluster;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use crate::java::JavaProducer;
use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{client, create_topic, world};

const TOPIC: &str = "failed-send";
const ABORTED: &str = "failed-abort";
const NOTHING: [&str; 0] = [];

/// A record that the topic does not take, by its size.
fn too_large() -> String {
    "x".repeat(4_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_send_then_flush() -> Result {
    let world = world().await?;
    for cluster in world.clusters() {
        create_topic(cluster, TOPIC, &[("max.message.bytes", "1000")]).await?;
    }
    let setup = Setup::new("failed-send", world);
    let coordinator = setup.open().await?;
    rust_producer(&coordinator, &world.eu).await?;
    java_producer(&coordinator, &world.eu).await?;
    silence(&coordinator, &world.eu).await?;
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, TOPIC).await?, NOTHING);
    }
    Ok(coordinator.close().await?)
}

/// Commits the own branch and one of gtc's own, and returns the error.
async fn vote(
    coordinator: &Coordinator,
    (id, class): (&str, VersionClass),
    write: impl AsyncFnOnce(&OwnBranch) -> Result,
) -> Result<Error> {
    let transaction = coordinator.begin()?;
    transaction.send("us", record(TOPIC, "us")).await?;
    let own = transaction.enlist("eu", id, class).await?;
    write(&own).await?;
    let error = transaction.commit().await.expect_err("the vote is no");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    assert!(error.problem().contains("eu voted no"), "{error}");
    Ok(error)
}

async fn rust_producer(coordinator: &Coordinator, cluster: &Cluster) -> Result {
    let producer = initialised(cluster, "failed-rust")?;
    let write = async |own: &OwnBranch| {
        producer.begin_transaction()?;
        count(&producer, own, (TOPIC, "small")).await;
        count(&producer, own, (TOPIC, &too_large())).await;
        // It proves nothing, whatever it returns.
        let _ = producer.flush(PATIENCE);
        Ok(())
    };
    let own = ("failed-rust", VersionClass::V1);
    let error = vote(coordinator, own, write).await?;
    assert!(error.problem().contains("MessageSizeTooLarge"), "{error}");
    Ok(())
}

fn initialised(cluster: &Cluster, id: &str) -> Result<FutureProducer> {
    let producer: FutureProducer = client(cluster).set("transactional.id", id).create()?;
    producer.init_transactions(PATIENCE)?;
    Ok(producer)
}

/// Sends a record, and tells the branch what became of it.
async fn count(producer: &FutureProducer, own: &OwnBranch, (topic, value): (&str, &str)) {
    own.sent();
    let record = FutureRecord::<(), str>::to(topic).payload(value);
    match producer.send(record, PATIENCE).await {
        Ok(_) => own.delivered(),
        Err((error, _)) => own.failed(error),
    }
}

async fn java_producer(coordinator: &Coordinator, cluster: &Cluster) -> Result {
    let mut producer = JavaProducer::open(&cluster.bootstrap(), "failed-java")?;
    let write = async |own: &OwnBranch| {
        producer.call("begin")?;
        producer.call(&format!("send {TOPIC} 0 small"))?;
        // Apart: the client would split a batch of both, again and again.
        producer.call("flush")?;
        producer.call(&format!("send {TOPIC} 0 {}", too_large()))?;
        // The flush itself returns normally; the program compares what its callbacks counted.
        let error = producer.call("flush").expect_err("one of two is delivered");
        assert!(error.to_string().contains("1 of 2 delivered"), "{error}");
        own.state_failed(error);
        Ok(())
    };
    let own = ("failed-java", VersionClass::V2);
    let error = vote(coordinator, own, write).await?;
    assert!(error.problem().contains("1 of 2 delivered"), "{error}");
    Ok(())
}

/// Everything was delivered, and nobody said so.
async fn silence(coordinator: &Coordinator, cluster: &Cluster) -> Result {
    let producer = initialised(cluster, "failed-silent")?;
    let write = async |_: &OwnBranch| {
        producer.begin_transaction()?;
        let record = FutureRecord::<(), str>::to(TOPIC).payload("small");
        let sent = producer.send(record, PATIENCE).await;
        sent.map_err(|(error, _)| error)?;
        Ok(())
    };
    vote(coordinator, ("failed-silent", VersionClass::V1), write).await?;
    Ok(())
}

/// Nobody is asked to commit: an abort asks what became of the deliveries, and who is not asked, as the transaction's own time-out
/// passes, is not trusted (R3).
#[tokio::test(flavor = "multi_thread")]
async fn failed_send_then_abort() -> Result {
    let world = world().await?;
    create_topic(&world.eu, ABORTED, &[("max.message.bytes", "1000")]).await?;
    let setup = Setup::new(ABORTED, world);
    let coordinator = setup.open().await?;
    for (fails, aborts, reuse) in [
        (false, true, Reuse::Reuse),
        (true, true, Reuse::Discard),
        (false, false, Reuse::Discard),
    ] {
        coordinator.settle("eu", ABORTED).await?;
        let producer = initialised(&world.eu, ABORTED)?;
        let options = match aborts {
            true => TransactionOptions::new(),
            false => TransactionOptions::new().timeout(Duration::from_secs(3)),
        };
        let transaction = coordinator.begin_with(options)?;
        let own = transaction.enlist("eu", ABORTED, VersionClass::V1).await?;
        producer.begin_transaction()?;
        count(&producer, &own, (ABORTED, "small")).await;
        if fails {
            count(&producer, &own, (ABORTED, &too_large())).await;
        }
        if aborts {
            transaction.abort("a test").await?;
        }
        assert_eq!(own.finished().await?, reuse, "{fails} {aborts}");
        assert_taken_again(&coordinator, reuse).await?;
    }
    assert_eq!(committed(&world.eu, ABORTED).await?, NOTHING);
    Ok(coordinator.close().await?)
}

/// Whoever has to be discarded cannot be enlisted with the same identity.
async fn assert_taken_again(coordinator: &Coordinator, reuse: Reuse) -> Result {
    let next = coordinator.begin()?;
    match next.enlist("eu", ABORTED, VersionClass::V1).await {
        Ok(own) => {
            assert_eq!(reuse, Reuse::Reuse);
            own.state_delivered();
        }
        Err(error) => {
            assert_eq!(reuse, Reuse::Discard, "{error}");
            assert!(error.problem().contains("was to be discarded"), "{error}");
        }
    }
    Ok(next.abort("a test").await?)
}
