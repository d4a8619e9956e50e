//! Global transactions over two clusters.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gtc::{Config, Coordinator, ParticipantConfig, Record, Transaction};
use gtc_clusters::Cluster;

use super::{Sample, TOPIC, spread};

type Failure = Box<dyn std::error::Error>;

/// A coordinator over two participants.
pub struct Bench {
    coordinator: Coordinator,
}

impl Bench {
    pub async fn open(clusters: &[Cluster], log: &Path, slots: u32) -> Result<Self, Failure> {
        let mut config = Config::new("bench", log);
        for cluster in clusters {
            let mut participant = ParticipantConfig::kafka(cluster.name()).slots(slots);
            for (name, value) in cluster.client_properties() {
                participant = participant.property(name, value);
            }
            config = config.participant(participant);
        }
        let coordinator = Coordinator::open(config).await?;
        coordinator.recovered().await?;
        Ok(Self { coordinator })
    }

    pub async fn sequential(&self, transactions: usize, records: usize) -> Result<Sample, Failure> {
        let begun = Instant::now();
        let each = transact(&self.coordinator, transactions, records).await?;
        Ok(Sample::new(each, begun))
    }

    pub async fn pipelined(
        &self,
        transactions: usize,
        records: usize,
        workers: usize,
    ) -> Result<Sample, Failure> {
        let work = |share| {
            let coordinator = self.coordinator.clone();
            async move { transact(&coordinator, share, records).await }
        };
        spread(workers, transactions, work).await
    }

    /// Prints what the slots cost, and closes.
    pub async fn close(self) -> Result<(), Failure> {
        let counters = self.coordinator.counters();
        println!();
        println!(
            "commits {}, aborts {}",
            counters.committed, counters.aborted
        );
        println!(
            "slot waits {}, instances replaced {}",
            counters.slot_waits, counters.slots_retired
        );
        self.coordinator.close().await?;
        Ok(())
    }
}

async fn transact(
    coordinator: &Coordinator,
    transactions: usize,
    records: usize,
) -> Result<Vec<Duration>, gtc::Error> {
    let mut each = Vec::with_capacity(transactions);
    for _ in 0..transactions {
        let one = Instant::now();
        let transaction = coordinator.begin()?;
        let (eu, us) = tokio::join!(
            write(&transaction, "eu", records),
            write(&transaction, "us", records)
        );
        eu.and(us)?;
        transaction.commit().await?;
        each.push(one.elapsed());
    }
    Ok(each)
}

async fn write(
    transaction: &Transaction,
    participant: &str,
    records: usize,
) -> Result<(), gtc::Error> {
    for _ in 0..records {
        let record = Record {
            value: Some(Bytes::from_static(&[7; 100])),
            ..Record::to(TOPIC)
        };
        transaction.send(participant, record).await?;
    }
    Ok(())
}
