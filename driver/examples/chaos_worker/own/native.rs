//! A producer of librdkafka, which speaks class v1: it must not go on with its epoch while a request of it may still be
//! under way, and the only witness of that is its statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use rdkafka::statistics::Statistics;

use super::PATIENCE;
use crate::Failure;
use crate::setup::Site;

/// A time-out far above any outage of a run.
const LONG_MS: u64 = 600_000;
const STATISTICS_MS: u64 = 200;

/// What the callbacks count.
#[derive(Default)]
struct Counts {
    delivered: AtomicU64,
    failed: AtomicU64,
    /// How often statistics came, and the breaks of connections that they have told of.
    reports: AtomicU64,
    breaks: AtomicI64,
}

#[derive(Clone, Default)]
struct Context(Arc<Counts>);

impl ClientContext for Context {
    fn stats(&self, statistics: Statistics) {
        let breaks = statistics.brokers.values().map(|broker| {
            let disconnects = broker.disconnects.unwrap_or(0);
            disconnects + i64::try_from(broker.req_timeouts).unwrap_or(i64::MAX)
        });
        self.0.breaks.store(breaks.sum(), Ordering::SeqCst);
        self.0.reports.fetch_add(1, Ordering::SeqCst);
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let counter = match result {
            Ok(_) => &self.0.delivered,
            Err(_) => &self.0.failed,
        };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) struct Producer {
    producer: ThreadedProducer<Context>,
    counts: Arc<Counts>,
    breaks_before: i64,
}

impl Producer {
    /// Makes and initialises it, which aborts what its id has open.
    pub(super) fn open(site: &Site, id: &str) -> Result<Self, Failure> {
        let context = Context::default();
        let counts = context.0.clone();
        let producer: ThreadedProducer<Context> = ClientConfig::new()
            .set("bootstrap.servers", &site.bootstrap)
            .set("transactional.id", id)
            .set(
                "transaction.timeout.ms",
                site.timeout_ms.min(LONG_MS).to_string(),
            )
            .set("message.timeout.ms", "8000")
            .set("socket.timeout.ms", "8000")
            .set("statistics.interval.ms", STATISTICS_MS.to_string())
            .set("linger.ms", "1")
            .set_log_level(RDKafkaLogLevel::Critical)
            .create_with_context(context)?;
        producer.init_transactions(PATIENCE)?;
        Ok(Self {
            producer,
            counts,
            breaks_before: 0,
        })
    }

    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        self.breaks_before = self.counts.breaks.load(Ordering::SeqCst);
        Ok(self.producer.begin_transaction()?)
    }

    pub(super) fn write(&mut self, records: &[(String, u64, String)]) -> Result<(), Failure> {
        let done = || {
            let failed = self.counts.failed.load(Ordering::SeqCst);
            (
                self.counts.delivered.load(Ordering::SeqCst) + failed,
                failed,
            )
        };
        let (before, failed_before) = done();
        for (topic, partition, value) in records {
            let record = BaseRecord::<(), str>::to(topic)
                .partition(i32::try_from(*partition)?)
                .payload(value);
            self.producer.send(record).map_err(|(error, _)| error)?;
        }
        let wanted = before + records.len() as u64;
        wait(|| done().0 >= wanted)?;
        match done().1 - failed_before {
            0 => Ok(()),
            count => Err(format!("{count} deliveries failed").into()),
        }
    }

    /// Ends its transaction, and proves that no request of it is left under way.
    pub(super) fn end(&mut self, commits: bool) -> Result<(), Failure> {
        match commits {
            true => self.producer.commit_transaction(PATIENCE)?,
            false => self.producer.abort_transaction(PATIENCE)?,
        }
        let reports = self.counts.reports.load(Ordering::SeqCst);
        // The first one may have been made before the call returned.
        wait(|| self.counts.reports.load(Ordering::SeqCst) >= reports + 2)?;
        match self.counts.breaks.load(Ordering::SeqCst) == self.breaks_before {
            true => Ok(()),
            false => Err("a connection broke: a request may still be under way".into()),
        }
    }
}

fn wait(reached: impl Fn() -> bool) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        if Instant::now() > deadline {
            return Err("it took too long".into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
