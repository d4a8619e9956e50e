//! Local transactions by the same client: rdkafka, deliveries awaited, nothing in flight, then commit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gtc_clusters::Cluster;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use super::{Sample, TOPIC, client, spread};

type Failure = Box<dyn std::error::Error>;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Producers of one cluster, used in rotation.
#[derive(Clone)]
struct Ids(Arc<Mutex<VecDeque<FutureProducer>>>);

impl Ids {
    fn open(cluster: &Cluster, count: u32) -> Result<Self, Failure> {
        let mut producers = VecDeque::new();
        for number in 0..count {
            let producer: FutureProducer = client(cluster)
                .set("transactional.id", format!("local.{number}"))
                .set("enable.idempotence", "true")
                .set("socket.timeout.ms", "10000")
                .set("message.timeout.ms", "60000")
                .set("linger.ms", "0")
                .create()?;
            producer.init_transactions(TIMEOUT)?;
            producers.push_back(producer);
        }
        Ok(Self(Arc::new(Mutex::new(producers))))
    }

    fn lease(&self) -> Result<FutureProducer, &'static str> {
        let mut producers = self.0.lock().map_err(|_| "a worker panicked")?;
        producers.pop_front().ok_or("more workers than ids")
    }

    fn release(&self, producer: FutureProducer) -> Result<(), &'static str> {
        self.0
            .lock()
            .map_err(|_| "a worker panicked")?
            .push_back(producer);
        Ok(())
    }

    async fn transaction(&self, records: usize) -> Result<(), String> {
        let producer = self.lease()?;
        producer
            .begin_transaction()
            .map_err(|error| error.to_string())?;
        let payload = [7_u8; 100];
        let mut deliveries = Vec::with_capacity(records);
        for _ in 0..records {
            let record = FutureRecord::<[u8], _>::to(TOPIC).payload(payload.as_slice());
            deliveries.push(
                producer
                    .send_result(record)
                    .map_err(|(error, _)| error.to_string())?,
            );
        }
        for delivery in deliveries {
            let delivered = delivery.await.map_err(|error| error.to_string())?;
            delivered.map_err(|(error, _)| error.to_string())?;
        }
        while producer.in_flight_count() > 0 {
            tokio::task::yield_now().await;
        }
        let committing = producer.clone();
        let committed = tokio::task::spawn_blocking(move || committing.commit_transaction(TIMEOUT));
        committed
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        self.release(producer)?;
        Ok(())
    }
}

/// The producers of two clusters.
pub struct Pair {
    first: Ids,
    second: Ids,
}

impl Pair {
    pub fn open(clusters: &[Cluster], ids: u32) -> Result<Self, Failure> {
        let [first, second] = clusters else {
            return Err("two clusters".into());
        };
        Ok(Self {
            first: Ids::open(first, ids)?,
            second: Ids::open(second, ids)?,
        })
    }

    pub async fn one(&self, transactions: usize, records: usize) -> Result<Sample, Failure> {
        let begun = Instant::now();
        let mut each = Vec::with_capacity(transactions);
        for _ in 0..transactions {
            let one = Instant::now();
            self.first.transaction(records).await?;
            each.push(one.elapsed());
        }
        Ok(Sample::new(each, begun))
    }

    pub async fn both(&self, transactions: usize, records: usize) -> Result<Sample, Failure> {
        let begun = Instant::now();
        let each = pairs(&self.first, &self.second, transactions, records).await?;
        Ok(Sample::new(each, begun))
    }

    pub async fn pipelined(
        &self,
        transactions: usize,
        records: usize,
        workers: usize,
    ) -> Result<Sample, Failure> {
        let work = |share| {
            let (first, second) = (self.first.clone(), self.second.clone());
            async move { pairs(&first, &second, share, records).await }
        };
        spread(workers, transactions, work).await
    }
}

async fn pairs(
    first: &Ids,
    second: &Ids,
    transactions: usize,
    records: usize,
) -> Result<Vec<Duration>, String> {
    let mut each = Vec::with_capacity(transactions);
    for _ in 0..transactions {
        let one = Instant::now();
        let (a, b) = tokio::join!(first.transaction(records), second.transaction(records));
        a.and(b)?;
        each.push(one.elapsed());
    }
    Ok(each)
}
