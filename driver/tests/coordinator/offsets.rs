//! Consumed offsets travel with the records that were made of them, and to no other cluster.

use gtc::{Batch, ConsumerEvent, ConsumerOptions, Coordinator, ErrorKind, TransactionalConsumer};

use crate::support::{
    Directory, PATIENCE, Result, committed, config, create_topic, record, two, write,
};

#[tokio::test(flavor = "multi_thread")]
async fn offsets_move_with_the_records_and_foreign_group_metadata_is_refused() -> Result {
    let clusters = two().await?;
    for cluster in &clusters {
        create_topic(cluster, "offsets").await?;
    }
    write(clusters[0], "offsets", &["a", "b", "c"]).await?;
    let directory = Directory::new("offsets");
    let coordinator = Coordinator::open(config("offsets", &directory, &clusters)).await?;
    let options = ConsumerOptions::new("offsets-group", ["offsets"]);
    let consumer = coordinator.consumer("eu", options).await?;

    let batch = next_batch(&consumer).await?;
    refuses_a_foreign_group(&coordinator, &batch).await?;
    move_batch(&coordinator, &consumer, &batch)
        .await?
        .abort("a test")
        .await?;
    consumer.rewind(batch).await?;
    assert!(consumer.committed().await?.is_empty());

    let mut moved = 0;
    while moved < 3 {
        let batch = next_batch(&consumer).await?;
        move_batch(&coordinator, &consumer, &batch)
            .await?
            .commit()
            .await?;
        moved += batch.done().len();
    }
    assert_eq!(committed(clusters[1], "offsets").await?, ["a", "b", "c"]);
    let offsets: Vec<_> = consumer.committed().await?;
    assert_eq!(
        offsets.iter().map(|place| place.offset).collect::<Vec<_>>(),
        [3]
    );
    consumer.close().await;
    coordinator.close().await?;
    Ok(())
}

async fn refuses_a_foreign_group(coordinator: &Coordinator, batch: &Batch) -> Result {
    let transaction = coordinator.begin()?;
    let sent = transaction.send_offsets_to("us", batch.offsets()).await;
    let error = sent.expect_err("the group is one of eu");
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    for part in ["offsets-group", "`eu`", "`us`", "send them to"] {
        assert!(text.contains(part), "{text}");
    }
    transaction.abort("a test").await?;
    Ok(())
}

async fn move_batch(
    coordinator: &Coordinator,
    consumer: &TransactionalConsumer,
    batch: &Batch,
) -> Result<gtc::Transaction> {
    let transaction = coordinator.begin()?;
    for found in &batch.records {
        let value = found.value.clone().unwrap_or_default();
        transaction.send("us", record("offsets", value)).await?;
    }
    transaction.send_offsets(consumer, batch.offsets()).await?;
    Ok(transaction)
}

async fn next_batch(consumer: &TransactionalConsumer) -> Result<Batch> {
    let found = async {
        loop {
            if let ConsumerEvent::Batch(batch) = consumer.next().await? {
                return Ok(batch);
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await?
}
