//! Consume, transform, produce across clusters: flights on one cluster become delays on another.
//!
//! ```text
//! cargo run -p gtc --example transform -- gtc.toml us flights eu delays
//! ```
//!
//! It reads the topic `flights` of participant `us`, writes the arrival delay of each flight to
//! `delays` of `eu` with the same key and partition, and moves the group's offsets on `us` in the
//! same global transaction: each flight has exactly one delay, through any crash. It ends when
//! there is nothing left to read.

use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use gtc::{
    Batch, BatchLimits, Config, ConsumedRecord, ConsumerEvent, ConsumerOptions, Coordinator, Error,
    ErrorKind, Record, Retry, TransactionalConsumer,
};
use tracing_subscriber::EnvFilter;

/// How long nothing is read before the lag is looked at.
const QUIET: Duration = Duration::from_millis(500);

struct Job {
    coordinator: Coordinator,
    consumer: TransactionalConsumer,
    to: String,
    output: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [config, from, input, to, output, batch @ ..] = arguments.as_slice() else {
        eprintln!("usage: transform CONFIG FROM INPUT-TOPIC TO OUTPUT-TOPIC [BATCH-RECORDS]");
        return ExitCode::from(2);
    };
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::from_env("GTC_LOG"))
        .with_writer(std::io::stderr)
        .init();
    let limits = BatchLimits {
        records_max: batch
            .first()
            .and_then(|text| text.parse().ok())
            .unwrap_or(5000),
        ..BatchLimits::default()
    };
    match transform(config, (from, input, limits), (to, output)).await {
        Ok(count) => {
            println!("{count} flights transformed");
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Also when in doubt: the next start finds out, and the group waits for it.
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn transform(
    config: &str,
    (from, input, limits): (&str, &str, BatchLimits),
    (to, output): (&str, &str),
) -> Result<u64, Error> {
    let coordinator = Coordinator::open(Config::from_file(config)?).await?;
    // What a crash left open holds the group's offsets back: it is ended first.
    coordinator.recovered().await?;
    let options = ConsumerOptions::new("transform", [input])
        .instance(coordinator.id())
        .limits(limits);
    let consumer = coordinator.consumer(from, options).await?;
    let job = Job {
        coordinator,
        consumer,
        to: to.to_owned(),
        output: output.to_owned(),
    };
    let count = job.run().await?;
    job.consumer.close().await;
    job.coordinator.close().await?;
    Ok(count)
}

impl Job {
    async fn run(&self) -> Result<u64, Error> {
        let mut count = 0;
        while let Some(batch) = self.next().await? {
            let size = batch.records.len() as u64;
            match self.commit(&batch).await {
                Ok(()) => {
                    batch.done();
                    count += size;
                }
                // Nothing of it is visible, and the offsets stand where they stood: once more.
                Err(error)
                    if error.kind() == ErrorKind::Aborted && error.retry() == Retry::Later =>
                {
                    eprintln!("{error}; the batch is read again");
                    self.consumer.rewind(batch).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// The next batch, or `None` when everything is read.
    async fn next(&self) -> Result<Option<Batch>, Error> {
        loop {
            let Ok(event) = tokio::time::timeout(QUIET, self.consumer.next()).await else {
                if self.consumer.is_caught_up() {
                    return Ok(None);
                }
                continue;
            };
            match event? {
                ConsumerEvent::Batch(batch) => return Ok(Some(batch)),
                ConsumerEvent::Trouble(why) => eprintln!("{why}"),
                ConsumerEvent::OutOfRange(lost) => eprintln!("records were lost: {lost:?}"),
                _ => {}
            }
        }
    }

    async fn commit(&self, batch: &Batch) -> Result<(), Error> {
        let transaction = self.coordinator.begin()?;
        for record in &batch.records {
            transaction.send(&self.to, self.delay(record)).await?;
        }
        transaction
            .send_offsets(&self.consumer, batch.offsets())
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    fn delay(&self, flight: &ConsumedRecord) -> Record {
        Record {
            partition: Some(flight.partition),
            key: flight.key.clone(),
            value: flight.value.as_deref().map(arrival_delay),
            headers: flight.headers.clone(),
            timestamp_ms: flight.timestamp_ms,
            ..Record::to(self.output.as_str())
        }
    }
}

/// The ninth column of a flight: minutes late, or `NA`.
fn arrival_delay(flight: &[u8]) -> Bytes {
    let column = flight
        .split(|byte| *byte == b',')
        .nth(8)
        .unwrap_or_default();
    Bytes::copy_from_slice(column)
}
