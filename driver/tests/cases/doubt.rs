//! A façade consumer whose transaction ends in doubt hands out nothing more, and the next one waits.

use std::time::Duration;

use gtc::facade::{Batch, Consumer, Coordinator, Source};
use gtc::{ConsumerOptions, ErrorKind, KnownOutcome, TransactionId, TransactionOptions};

use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{Fault, wait_until_open, world, write};

const ID: &str = "doubtful-batch";
/// Long for a cluster that would answer.
const A_WHILE: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_in_doubt_is_neither_lost_nor_doubled() -> Result {
    let world = world().await?;
    world.topic(ID).await?;
    write(&world.us, ID, &["a", "b", "c"]).await?;
    let setup = Setup::new(ID, world).limit("report_timeout_ms = 1000");
    let coordinator = Coordinator::open(Source::File(setup.file()?)).await?;
    let consumer = consumer(&coordinator).await?;
    let batch = next(&consumer).await?;
    assert_eq!(batch.records()[0].offset, 0);
    let first = batch.records().len();

    // The offsets are in the transaction on `us`, which does not hear of its end.
    let unheard = Fault::no_end_of(ID);
    let error = copy(&coordinator, &batch).await.expect_err("us is silent");
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    let id = error.transaction().ok_or("it names its transaction")?;
    refuses(&consumer).await;
    consumer.close().await?;

    // Its successor is told no position before the outcome is there.
    let consumer = self::consumer(&coordinator).await?;
    assert!(consumer.next(Some(A_WHILE)).await?.is_none());
    wait_until_open(&world.us, ID, 1).await?;
    drop(unheard);
    let mut copied = first;
    write(&world.us, ID, &["d"]).await?;
    while copied < 4 {
        let batch = next(&consumer).await?;
        if let Some(record) = batch.records().first() {
            assert_eq!(usize::try_from(record.offset)?, copied);
        }
        copy(&coordinator, &batch).await?;
        copied += batch.records().len();
    }
    await_committed(&coordinator, id).await?;
    assert_eq!(committed(&world.eu, ID).await?, ["a", "b", "c", "d"]);
    coordinator.close().await?;
    Ok(())
}

async fn consumer(coordinator: &Coordinator) -> Result<Consumer> {
    Ok(coordinator
        .consumer("us", ConsumerOptions::new(ID, [ID]))
        .await?)
}

/// However often it is asked.
async fn refuses(consumer: &Consumer) {
    for _ in 0..2 {
        let error = consumer.next(Some(PATIENCE)).await.expect_err("in doubt");
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
        assert!(error.remedy().contains("make a new one"), "{error}");
    }
}

/// The reader may know it before the coordinator has its acknowledgement.
async fn await_committed(coordinator: &Coordinator, id: TransactionId) -> Result {
    let told = async {
        loop {
            match coordinator.outcome(id)? {
                KnownOutcome::Committed => return Ok(()),
                KnownOutcome::InDoubt => tokio::time::sleep(Duration::from_millis(20)).await,
                other => return Err(format!("{id} is {other:?}").into()),
            }
        }
    };
    tokio::time::timeout(PATIENCE, told).await?
}

async fn next(consumer: &Consumer) -> Result<Batch> {
    let batch = consumer.next(Some(PATIENCE)).await?;
    Ok(batch.ok_or("no batch in time")?)
}

/// Writes the batch's records to `eu` with its offsets.
async fn copy(coordinator: &Coordinator, batch: &Batch) -> std::result::Result<(), gtc::Error> {
    let transaction = coordinator.begin(TransactionOptions::new())?;
    for found in batch.records() {
        let value = found.value.clone().unwrap_or_default();
        transaction.send("eu", record(ID, value)).await?;
    }
    transaction.send_offsets(batch).await?;
    transaction.commit().await.map(drop)
}
