//! Cases of consumed batches: offsets move with the records made of them, or not at all.

use std::path::PathBuf;
use std::time::Duration;

use gtc::{
    Batch, Config, ConsumerEvent, ConsumerOptions, Coordinator, ErrorKind, Transaction,
    TransactionalConsumer,
};
use rustix::process::Signal;

use crate::child::{self, Child};
use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{world, write};

async fn next_batch(consumer: &TransactionalConsumer) -> Result<Batch> {
    let found = async {
        loop {
            match consumer.next().await? {
                ConsumerEvent::Batch(batch) if !batch.records.is_empty() => return Ok(batch),
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await?
}

/// A transaction that holds the batch's records for `us`.
async fn copy(coordinator: &Coordinator, topic: &str, batch: &Batch) -> Result<Transaction> {
    let transaction = coordinator.begin()?;
    for found in &batch.records {
        let value = found.value.clone().unwrap_or_default();
        transaction.send("us", record(topic, value)).await?;
    }
    Ok(transaction)
}

/// Copies batches until so many records are committed.
async fn copy_all(
    coordinator: &Coordinator,
    consumer: &TransactionalConsumer,
    topic: &str,
    count: usize,
) -> Result {
    let mut copied = 0;
    while copied < count {
        let batch = next_batch(consumer).await?;
        let transaction = copy(coordinator, topic, &batch).await?;
        transaction.send_offsets(consumer, batch.offsets()).await?;
        transaction.commit().await?;
        copied += batch.done().len();
    }
    Ok(())
}

async fn positions(consumer: &TransactionalConsumer) -> Result<Vec<i64>> {
    let found = consumer.committed().await?;
    Ok(found.iter().map(|place| place.offset).collect())
}

/// As [`positions`], of a member that may have lost its partition for as long as another one lived.
async fn positions_once_assigned(consumer: &TransactionalConsumer) -> Result<Vec<i64>> {
    let asked = async {
        loop {
            let found = positions(consumer).await?;
            if !found.is_empty() {
                return Ok(found);
            }
            // It takes part in the group while it is asked for more.
            let _ = tokio::time::timeout(Duration::from_millis(200), consumer.next()).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asked).await?
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_batch() -> Result {
    let world = world().await?;
    world.topic("slow").await?;
    write(&world.eu, "slow", &["a", "b"]).await?;
    let setup = Setup::new("slow", world)
        .setting("transaction_timeout_ms = 20000")
        .setting("margin_ms = 12000");
    let coordinator = setup.open().await?;
    let consumer = coordinator
        .consumer("eu", ConsumerOptions::new("slow", ["slow"]))
        .await?;

    let batch = next_batch(&consumer).await?;
    let transaction = copy(&coordinator, "slow", &batch).await?;
    transaction.send_offsets(&consumer, batch.offsets()).await?;
    // This batch takes longer than a commit can be promised, and less than the time-out.
    tokio::time::sleep(Duration::from_millis(8_500)).await;
    let error = transaction.commit().await.expect_err("it came too late");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    assert!(error.problem().contains("time-out"), "{error}");
    assert!(error.remedy().contains("time-out"));
    consumer.rewind(batch).await?;
    assert_eq!(positions(&consumer).await?, [0_i64; 0]);

    copy_all(&coordinator, &consumer, "slow", 2).await?;
    assert_eq!(committed(&world.us, "slow").await?, ["a", "b"]);
    assert_eq!(positions(&consumer).await?, [2]);
    consumer.close().await;
    Ok(coordinator.close().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_group_metadata() -> Result {
    let world = world().await?;
    world.topic("foreign-group").await?;
    write(&world.eu, "foreign-group", &["a"]).await?;
    let setup = Setup::new("foreign-group", world);
    let coordinator = setup.open().await?;
    let options = ConsumerOptions::new("foreign-group", ["foreign-group"]);
    let consumer = coordinator.consumer("eu", options).await?;
    let batch = next_batch(&consumer).await?;
    let transaction = copy(&coordinator, "foreign-group", &batch).await?;
    let sent = transaction.send_offsets_to("us", batch.offsets()).await;
    let error = sent.expect_err("the group is one of eu");
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in ["foreign-group", "`eu`", "`us`", "send them to"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // The mistake has touched nothing: the right call still works.
    transaction.send_offsets_to("eu", batch.offsets()).await?;
    transaction.commit().await?;
    batch.done();
    assert_eq!(positions(&consumer).await?, [1]);
    consumer.close().await;
    Ok(coordinator.close().await?)
}

/// Short, so that the group gives a stopped member up soon.
const SESSION_MS: &str = "3000";

#[tokio::test(flavor = "multi_thread")]
async fn group_moved() -> Result {
    if let Some(file) = child::config_file() {
        return be_stopped_between_reading_and_commit(file).await;
    }
    let world = world().await?;
    world.topic("moved").await?;
    write(&world.eu, "moved", &["a", "b", "c"]).await?;
    let short = |setup: Setup| setup.property("eu", "session.timeout.ms", SESSION_MS);
    let zombie = short(Setup::new("moved-zombie", world));
    let mut child = Child::start("batches::group_moved", &zombie, None)?;
    assert_eq!(child.says()?, "read");
    child.signal(Signal::STOP)?;

    let setup = short(Setup::new("moved-owner", world));
    let owner = setup.open().await?;
    let options = ConsumerOptions::new("moved", ["moved"]);
    let consumer = owner.consumer("eu", options).await?;
    copy_all(&owner, &consumer, "moved", 3).await?;
    child.signal(Signal::CONT)?;
    child.tell("commit")?;
    let result = child.says()?;
    assert!(
        result.starts_with("refused"),
        "the zombie's offsets were taken: {result}"
    );
    assert_eq!(child.says()?, "aborted");
    assert_eq!(committed(&world.us, "moved").await?, ["a", "b", "c"]);
    assert_eq!(positions_once_assigned(&consumer).await?, [3]);
    consumer.close().await;
    Ok(owner.close().await?)
}

async fn be_stopped_between_reading_and_commit(file: PathBuf) -> Result {
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let options = ConsumerOptions::new("moved", ["moved"]);
    let consumer = coordinator.consumer("eu", options).await?;
    let batch = next_batch(&consumer).await?;
    let transaction = copy(&coordinator, "moved", &batch).await?;
    child::say("read")?;
    child::told().await?;
    match transaction.send_offsets(&consumer, batch.offsets()).await {
        Ok(()) => child::say("taken")?,
        Err(error) => child::say(format!("refused: {error}"))?,
    }
    match transaction.commit().await {
        Err(error) if error.kind() == ErrorKind::Aborted => child::say("aborted")?,
        other => child::say(format!("{other:?}"))?,
    }
    Ok(())
}
