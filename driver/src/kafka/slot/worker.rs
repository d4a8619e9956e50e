//! The two threads of a slot: one for calls that block, one that takes librdkafka's events.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::KafkaError;
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use tokio::sync::oneshot;

use super::context::SlotContext;
use crate::kafka::record::{Header, OutgoingRecord};
use crate::kafka::statistics::monotonic_us;

/// How long the initialisation of a transactional.id may take: a new cluster makes the topic of
/// its transactions first.
const INIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the poller waits at a time; events wake it at once, only its end has to wait. rdkafka waits in
/// whole milliseconds and spins through the last part of one, which a longer slice makes rarer: at 200 ms
/// the spinning of 32 idle slots took 8 % of a core.
const POLL_SLICE: Duration = Duration::from_millis(500);

pub(super) type SlotProducer = BaseProducer<SlotContext>;
type Job = Box<dyn FnOnce(&SlotProducer) + Send>;
type Opened = Result<(Arc<SlotProducer>, i64), KafkaError>;

/// The handle of a slot's worker thread; without it the thread ends.
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
    ended: oneshot::Receiver<()>,
}

impl Worker {
    /// Starts the thread, which makes and initialises the producer.
    pub(super) fn start(
        config: ClientConfig,
        context: SlotContext,
    ) -> io::Result<(Self, oneshot::Receiver<Opened>)> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (report, opened) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("gtc-slot".to_owned())
            .spawn(move || {
                run(&config, context, report, &queue);
                // Nobody waits for it unless the slot is closed in an orderly way.
                let _ = end.send(());
            })?;
        Ok((Self { jobs, ended }, opened))
    }

    /// Runs a call on the thread; `None` if the thread is gone.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&SlotProducer) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let job = move |producer: &SlotProducer| {
            // The caller may have gone away; the call was made all the same.
            let _ = reply.send(call(producer));
        };
        self.jobs.send(Box::new(job)).ok()?;
        answer.await.ok()
    }

    /// Lets the thread drop the producer and end.
    pub(super) async fn finish(self) {
        drop(self.jobs);
        // An error means that it has ended already.
        let _ = self.ended.await;
    }
}

fn run(
    config: &ClientConfig,
    context: SlotContext,
    report: oneshot::Sender<Opened>,
    queue: &mpsc::Receiver<Job>,
) {
    let producer = match SlotProducer::from_config_and_context(config, context) {
        Ok(producer) => Arc::new(producer),
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let poller = match start_poller(producer.clone(), stop.clone()) {
        Ok(poller) => poller,
        Err(error) => {
            let why = format!("no thread for its events: {error}");
            let _ = report.send(Err(KafkaError::ClientCreation(why)));
            return;
        }
    };
    serve(&producer, report, queue);
    stop.store(true, Ordering::SeqCst);
    // A poller that panicked has nothing left to say.
    let _ = poller.join();
}

fn serve(
    producer: &Arc<SlotProducer>,
    report: oneshot::Sender<Opened>,
    queue: &mpsc::Receiver<Job>,
) {
    let opened = producer.init_transactions(INIT_TIMEOUT);
    let failed = opened.is_err();
    let opened = opened.map(|()| (producer.clone(), monotonic_us()));
    // A caller that went away drops its clone, and with it the queue.
    let _ = report.send(opened);
    if failed {
        return;
    }
    while let Ok(job) = queue.recv() {
        job(producer);
    }
}

fn start_poller(producer: Arc<SlotProducer>, stop: Arc<AtomicBool>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new()
        .name("gtc-slot-events".to_owned())
        .spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                producer.poll(POLL_SLICE);
            }
        })
}

/// Puts a record into the producer's queue, which copies it.
pub(super) fn enqueue(producer: &SlotProducer, record: &OutgoingRecord) -> Result<(), KafkaError> {
    let handed = BaseRecord {
        topic: &record.topic,
        partition: record.partition,
        payload: record.value.as_deref(),
        key: record.key.as_deref(),
        timestamp: record.timestamp_ms,
        headers: headers(&record.headers),
        delivery_opaque: (),
    };
    producer
        .send::<[u8], [u8]>(handed)
        .map_err(|(error, _)| error)
}

fn headers(headers: &[Header]) -> Option<OwnedHeaders> {
    if headers.is_empty() {
        return None;
    }
    let empty = OwnedHeaders::new_with_capacity(headers.len());
    Some(headers.iter().fold(empty, |built, (key, value)| {
        built.insert(rdkafka::message::Header {
            key,
            value: value.as_deref(),
        })
    }))
}
