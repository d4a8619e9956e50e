//! A lane that consumes from one cluster and produces to another: offsets and records move together.

use std::sync::Arc;
use std::time::Duration;

use gtc::{Batch, BatchLimits, ConsumerEvent, ConsumerOptions, Error, TransactionalConsumer};

use crate::World;
use crate::journal::{Line, Plan};
use crate::lane::{end, record};

const BREATH: Duration = Duration::from_millis(400);
const LIMITS: BatchLimits = BatchLimits {
    records_max: 25,
    bytes_max: 1 << 20,
    linger: Duration::from_millis(60),
};

/// Runs until the world ends. A new consumer is made after every outcome that is neither committed nor aborted.
pub(crate) async fn run(world: Arc<World>, lane: u32) {
    while !world.is_ending() {
        let options = ConsumerOptions::new(&*world.setup.group, [&*world.setup.topic]);
        let source = &world.setup.source;
        match world
            .coordinator
            .consumer(source, options.limits(LIMITS))
            .await
        {
            Ok(consumer) => {
                if let Err(error) = consume(&world, lane, &consumer).await {
                    eprintln!("consumer: {error}");
                }
                consumer.close().await;
            }
            Err(error) => eprintln!("consumer: {error}"),
        }
        tokio::time::sleep(BREATH).await;
    }
}

async fn consume(world: &World, lane: u32, consumer: &TransactionalConsumer) -> Result<(), Error> {
    while !world.is_ending() {
        let Ok(event) = tokio::time::timeout(BREATH, consumer.next()).await else {
            continue;
        };
        let batch = match event? {
            ConsumerEvent::Batch(batch) => batch,
            ConsumerEvent::OutOfRange(lost) => {
                eprintln!("out of range: {lost:?}");
                continue;
            }
            _ => continue,
        };
        let tx = world.name(lane);
        match copy(world, &tx, consumer, &batch).await {
            "committed" => drop(batch.done()),
            "aborted" => consumer.rewind(batch).await?,
            _ => {
                // Reading on before it is settled could only be refused, or wait.
                while world.doubts.has(&tx) && !world.is_ending() {
                    tokio::time::sleep(BREATH).await;
                }
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One record for each of the batch, in the partition of the same number, and the offsets.
async fn copy(
    world: &World,
    tx: &str,
    consumer: &TransactionalConsumer,
    batch: &Batch,
) -> &'static str {
    let plan = plan(world, batch);
    world.journal.write(&Line::Planned { tx, plan: &plan });
    let transaction = match world.begin(tx, true) {
        Ok(transaction) => transaction,
        Err(error) => {
            world.journal.told(tx, Err(&error));
            tokio::time::sleep(BREATH).await;
            // Nothing has begun, so nothing can have committed.
            return "aborted";
        }
    };
    let written = async {
        for (k, source) in batch.records.iter().enumerate() {
            let (partition, offset) = (source.partition, source.offset);
            let value = format!("tx={tx};k={k};src={partition}:{offset}");
            let partition = u64::try_from(partition).unwrap_or_default();
            let copy = record(world.setup.copies.clone(), partition, value);
            transaction.send(&world.setup.target, copy).await?;
        }
        transaction.send_offsets(consumer, batch.offsets()).await
    };
    let written = written.await;
    end(world, transaction, (tx, &plan), written).await
}

fn plan(world: &World, batch: &Batch) -> Plan {
    let mut plan = Plan {
        keyed: true,
        ends: "commit",
        ..Plan::default()
    };
    for source in &batch.records {
        let (partition, offset) = (source.partition, source.offset);
        plan.sources.push(format!("{partition}:{offset}"));
        let counts = plan.writes.entry(world.setup.target.clone()).or_default();
        let counts = counts.entry(world.setup.copies.clone()).or_default();
        let partition = u64::try_from(partition).unwrap_or_default();
        *counts.entry(partition).or_default() += 1;
    }
    for place in batch.offsets().positions() {
        plan.positions.insert(place.partition, place.offset);
    }
    plan
}
