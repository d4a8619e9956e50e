//! The loader: a plain producer that keeps a journal of what was acknowledged.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};

use crate::error::{Context, Error, Result};
use crate::journal::{Entry, Journal};
use crate::kafka::{Connection, QUESTION_TIMEOUT, patiently};
use crate::record::Record;

/// What a transaction of the loader comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its records count.
    Commit,
    /// Its records must never be seen.
    Abort,
}

type Acknowledged = std::result::Result<(i32, Entry), String>;

/// Collects the answers of one producer, which arrive on a thread of its own.
#[derive(Clone, Default)]
struct Deliveries(Arc<(Mutex<Vec<Acknowledged>>, Condvar)>);

impl Deliveries {
    fn add(&self, answer: Acknowledged) {
        let (answers, arrived) = &*self.0;
        answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(answer);
        arrived.notify_all();
    }

    /// Takes `count` answers: `flush` returns when librdkafka has handed out the last one, and that is before the
    /// callback has run.
    fn take(&self, count: usize) -> Result<Vec<Acknowledged>> {
        let (answers, arrived) = &*self.0;
        let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut answers, timeout) = arrived
            .wait_timeout_while(answers, QUESTION_TIMEOUT, |answers| answers.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            let have = answers.len();
            return Err(Error::new(format!(
                "{have} of {count} records were answered in time"
            )));
        }
        Ok(std::mem::take(&mut *answers))
    }
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<(String, u64)>;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: Self::DeliveryOpaque) {
        let (id, digest) = *opaque;
        let answer = match result {
            Ok(message) => Ok((
                message.partition(),
                Entry {
                    id,
                    digest,
                    offset: message.offset(),
                },
            )),
            Err((error, _)) => Err(format!("record {id}: {error}")),
        };
        self.add(answer);
    }
}

/// A producer to one topic.
pub struct Loader {
    producer: ThreadedProducer<Deliveries>,
    deliveries: Deliveries,
    topic: String,
    name: String,
}

impl Loader {
    /// An idempotent producer; its records count as soon as they are acknowledged.
    ///
    /// # Errors
    /// librdkafka refuses a property.
    pub fn idempotent(connection: &Connection, topic: &str) -> Result<Self> {
        Self::create(connection, topic, &[("enable.idempotence", "true")])
    }

    /// A transactional producer for [`Self::transaction`].
    ///
    /// # Errors
    /// The cluster does not answer or refuses.
    pub fn transactional(connection: &Connection, topic: &str, id: &str) -> Result<Self> {
        let loader = Self::create(connection, topic, &[("transactional.id", id)])?;
        let doing = format!("{}: begin as {id}", connection.name);
        patiently(|| loader.producer.init_transactions(QUESTION_TIMEOUT)).context(doing)?;
        Ok(loader)
    }

    fn create(connection: &Connection, topic: &str, extra: &[(&str, &str)]) -> Result<Self> {
        let deliveries = Deliveries::default();
        let mut config = connection.config();
        // Records beyond the broker's limit must reach the broker: one kind of empty transaction is made that way.
        config
            .set("message.max.bytes", "8000000")
            .set("linger.ms", "5");
        for (name, value) in extra {
            config.set(*name, *value);
        }
        let producer = config
            .create_with_context(deliveries.clone())
            .context(format!("{}: make a producer", connection.name))?;
        Ok(Self {
            producer,
            deliveries,
            topic: topic.into(),
            name: connection.name.clone(),
        })
    }

    /// Writes `records` and waits until all are acknowledged.
    ///
    /// # Errors
    /// One of them was not: then the run means nothing.
    pub fn load(&self, records: &[Record], journal: &mut Journal) -> Result<()> {
        for entry in self.write(records)? {
            let (partition, entry) =
                entry.map_err(|error| Error::new(format!("{}: load: {error}", self.name)))?;
            journal.partitions.entry(partition).or_default().push(entry);
        }
        journal.sort();
        Ok(())
    }

    /// Writes `records` in one transaction; only a committed one goes into the journal.
    ///
    /// # Errors
    /// A record or the transaction failed.
    pub fn transaction(
        &self,
        records: &[Record],
        ending: Ending,
        journal: &mut Journal,
    ) -> Result<()> {
        let doing = format!("{}: load a transaction", self.name);
        self.producer.begin_transaction().context(&doing)?;
        let mut written = Journal::new(journal.origin.clone());
        match ending {
            Ending::Commit => {
                self.load(records, &mut written)?;
                patiently(|| self.producer.commit_transaction(QUESTION_TIMEOUT)).context(&doing)?;
                for (partition, entries) in written.partitions {
                    journal
                        .partitions
                        .entry(partition)
                        .or_default()
                        .extend(entries);
                }
                journal.sort();
            }
            Ending::Abort => {
                // A record that the broker refuses holds others back until the abort purges them.
                self.send_all(records)?;
                patiently(|| self.producer.abort_transaction(QUESTION_TIMEOUT)).context(&doing)?;
                self.deliveries.take(records.len())?;
            }
        }
        Ok(())
    }

    /// Opens a transaction, writes `records` and leaves it open for as long as this loader lives.
    ///
    /// # Errors
    /// A record failed.
    pub fn leave_open(&self, records: &[Record]) -> Result<()> {
        self.producer
            .begin_transaction()
            .context(format!("{}: begin", self.name))?;
        self.load(records, &mut Journal::default())
    }

    fn write(&self, records: &[Record]) -> Result<Vec<Acknowledged>> {
        self.send_all(records)?;
        self.deliveries.take(records.len())
    }

    fn send_all(&self, records: &[Record]) -> Result<()> {
        for record in records {
            self.send(record)?;
        }
        self.producer
            .flush(QUESTION_TIMEOUT)
            .context(format!("{}: wait for the acknowledgements", self.name))
    }

    fn send(&self, record: &Record) -> Result<()> {
        let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
        for (key, value) in &record.headers {
            headers = headers.insert(Header {
                key,
                value: value.as_ref(),
            });
        }
        let opaque = Box::new((record.id().unwrap_or_default(), record.digest()));
        let mut next = BaseRecord::<[u8], [u8], _>::with_opaque_to(&self.topic, opaque)
            .partition(record.partition)
            .timestamp(record.timestamp_ms)
            .headers(headers);
        next.key = record.key.as_deref();
        next.payload = record.value.as_deref();
        loop {
            match self.producer.send(next) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    // The queue empties by acknowledgements, which another thread receives: there is no event to wait on.
                    std::thread::sleep(Duration::from_millis(5));
                    next = back;
                }
                Err((error, _)) => {
                    return Err(Error::new(format!("{}: write: {error}", self.name)));
                }
            }
        }
    }
}
