//! A slot: one rdkafka transactional producer, whose local transactions are branches of global ones.
//!
//! # Threads and connections
//!
//! Each open slot has two threads of gtc's own: a *worker*, on which the calls of librdkafka run
//! that may block (create, begin, offsets, commit, abort, drop), one at a time, and a *poller*,
//! which takes librdkafka's events. librdkafka adds one thread of its own and one per broker it
//! knows, with one connection each to the bootstrap server, the partition leaders and the broker
//! transaction coordinator. Nothing runs on tokio's shared blocking threads, so a cluster that
//! hangs takes nothing from another one; the bound is twice the number of open slots.
//!
//! # A lease, step by step
//!
//! [`SlotInstance::send`] and [`SlotInstance::send_offsets`] begin the local transaction at their
//! first use; [`SlotInstance::settle_deliveries`] waits until nothing is in flight and returns the
//! counts that the vote stands on; [`SlotInstance::commit`] or [`SlotInstance::abort`] ends it, and
//! [`SlotInstance::verify`] asks whether the slot is clean (safety rule R3). After an end that was
//! not acknowledged the instance is good for nothing but [`SlotInstance::close`].

mod context;
mod settings;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gtc_core::{Decision, EndAnswer, ProducerIdentity, SlotCondition, SlotFailure, WriteReport};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::Producer;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::arguments::Flaw;
use crate::kafka::consumer::GroupOffsets;
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::failure;
use crate::kafka::record::OutgoingRecord;
use crate::kafka::statistics::{Judgement, RawEvent};
pub(crate) use context::Place;
use context::{Attempt, SlotContext};
pub use settings::SlotSettings;
use worker::{SlotProducer, Worker};

/// How long a commit or an abort may take before it counts as not answered.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for statistics that prove a slot clean.
const VERIFY_PATIENCE: Duration = Duration::from_secs(5);
/// How often to yield before sleeping while librdkafka releases delivery reports.
const RELEASE_YIELDS: u32 = 64;
/// How long a record waits for room in the producer's queue.
const QUEUE_PATIENCE: Duration = Duration::from_secs(60);
/// How often it looks: librdkafka frees the room after its last signal, and a full queue holds
/// far more than is sent within this time.
const QUEUE_STEP: Duration = Duration::from_millis(2);
/// Beyond the delivery time-out, at which librdkafka itself gives up each record.
const SETTLE_GRACE: Duration = Duration::from_secs(30);

/// One transactional producer of the pool.
pub struct SlotInstance {
    // Dropped before the worker, which thereby holds the last reference and pays for the drop.
    producer: Arc<SlotProducer>,
    worker: Worker,
    participant: Arc<str>,
    delivery_timeout: Duration,
    offsets_timeout: Duration,
    begun: AtomicBool,
    lease: Mutex<Lease>,
}

/// What is true from the first write to the end.
#[derive(Default)]
struct Lease {
    /// The last statistics event that had arrived before the local transaction was begun; it is read once
    /// that has ended, when nobody waits.
    baseline: Option<RawEvent>,
    /// When the ending call had returned.
    ended_us: Option<i64>,
    /// Why the instance can never be used again.
    broken: Option<String>,
}

impl SlotInstance {
    /// Makes a producer, initialises its transactional.id and learns its identity.
    ///
    /// The condition says whether the initialisation was answered at the first attempt (R6).
    ///
    /// # Errors
    /// The producer could not be made or initialised; it is gone.
    pub async fn open(
        settings: SlotSettings,
    ) -> Result<(Self, ProducerIdentity, SlotCondition), SlotFailure> {
        let limits = settings.limits()?;
        let config = settings.client_config(&limits);
        let (worker, opened) = Worker::start(config, settings.context())
            .map_err(|error| settings.failure(format!("no thread for it: {error}")))?;
        let opened = opened
            .await
            .map_err(|_| settings.failure("its thread ended".to_owned()))?;
        let (producer, initialised_us) = opened.map_err(|error| settings.open_failure(&error))?;
        let event = producer
            .context()
            .statistics
            .generated_after(initialised_us, VERIFY_PATIENCE)
            .await
            .map_err(|why| settings.failure(why))?;
        let identity = event
            .identity()
            .ok_or_else(|| settings.failure("librdkafka told no producer id".to_owned()))?;
        let condition = match event.unanswered_since_creation() {
            None => SlotCondition::Clean,
            Some(why) => SlotCondition::Unproven(why),
        };
        let instance = Self {
            producer,
            worker,
            participant: settings.participant(),
            delivery_timeout: limits.delivery_timeout,
            offsets_timeout: limits.offsets_timeout,
            begun: AtomicBool::new(false),
            lease: Mutex::default(),
        };
        Ok((instance, identity, condition))
    }

    /// The participant it writes to.
    #[must_use]
    pub fn participant(&self) -> &Arc<str> {
        &self.participant
    }

    /// Its transactional.id.
    #[must_use]
    pub fn transactional_id(&self) -> &str {
        &self.context().transactional_id
    }

    /// Hands a record to the producer, which copies it; waits while the producer's queue is full.
    ///
    /// # Errors
    /// The record was not taken. It counts as failed, so the vote will be no.
    pub async fn send(&self, record: &OutgoingRecord) -> Result<(), DataError> {
        let attempt = self.context().counts.attempt_record();
        let outcome = match self.begin().await {
            Ok(()) => self.enqueue(record).await,
            Err(error) => Err(error),
        };
        self.conclude(attempt, outcome, || {
            format!("cannot write to topic {}", record.topic)
        })
    }

    /// Sends a consumer's offsets into the transaction.
    ///
    /// # Errors
    /// The offsets were not accepted. It counts as failed, so the vote will be no.
    pub async fn send_offsets(&self, offsets: &GroupOffsets) -> Result<(), DataError> {
        let attempt = self.context().counts.attempt_offsets();
        let outcome = self.try_send_offsets(offsets).await;
        let what = || format!("cannot send the offsets of {}", offsets.group());
        self.conclude(attempt, outcome, what)
    }

    /// Whether anything was handed to the producer in this lease.
    #[must_use]
    pub fn has_written(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Waits until every record is reported and released, and tells what was counted.
    ///
    /// It ends by itself: librdkafka gives each record up after `message.timeout.ms`.
    pub async fn settle_deliveries(&self) -> WriteReport {
        let deadline = Instant::now() + self.delivery_timeout + SETTLE_GRACE;
        self.context().all_reported(deadline).await;
        self.all_released(deadline).await;
        let fatal = self.producer.client().fatal_error();
        if let Some((code, why)) = fatal {
            self.context().notice(Some(code), &why);
        }
        self.context().counts.report()
    }

    /// What the cluster or the library refuses for good, of what was written in this lease.
    pub(crate) fn never_accepted(&self) -> Option<Flaw> {
        self.context().counts.never_accepted()
    }

    /// Where a record of this lease was to go that the producer found no place for.
    pub(crate) fn misplaced(&self) -> Option<Place> {
        self.context().counts.misplaced()
    }

    /// Commits what was written. Without a write there is nothing to do: committing an empty
    /// transaction can be fatal to the producer.
    pub async fn commit(&self) -> EndAnswer {
        self.end(Decision::Commit).await
    }

    /// Aborts what was written.
    pub async fn abort(&self) -> EndAnswer {
        self.end(Decision::Abort).await
    }

    /// Asks whether every request of the lease was answered (R3), and readies the slot if so.
    pub async fn verify(&self) -> SlotCondition {
        let mut lease = self.lease.lock().await;
        match self.prove(&lease).await {
            Ok(()) => {
                *lease = Lease::default();
                self.context().counts.reset();
                SlotCondition::Clean
            }
            Err(why) => SlotCondition::Unproven(why),
        }
    }

    /// Throws the instance away. An open transaction stays open at the broker.
    pub async fn close(self) {
        let Self {
            producer, worker, ..
        } = self;
        drop(producer);
        worker.finish().await;
    }

    fn context(&self) -> &SlotContext {
        self.producer.context()
    }

    fn conclude(
        &self,
        attempt: Attempt<'_>,
        outcome: Result<(), Refused>,
        what: impl FnOnce() -> String,
    ) -> Result<(), DataError> {
        match outcome {
            Ok(()) => {
                attempt.succeed();
                Ok(())
            }
            Err((kind, why)) => {
                self.context().counts.note(&why);
                Err(DataError::new(
                    &self.participant,
                    kind,
                    format!("{}: {why}", what()),
                ))
            }
        }
    }

    async fn begin(&self) -> Result<(), Refused> {
        if self.begun.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut lease = self.lease.lock().await;
        if self.begun.load(Ordering::SeqCst) {
            return Ok(());
        }
        if let Some(why) = &lease.broken {
            return Err((DataErrorKind::Unavailable, why.clone()));
        }
        if lease.ended_us.is_some() {
            let why = "the slot was not verified since its last transaction".to_owned();
            return Err((DataErrorKind::InvalidState, why));
        }
        lease.baseline = self.context().statistics.latest();
        // Until it has returned nobody knows whether it began; an abandoned call leaves this.
        lease.broken = Some("beginning a transaction was abandoned".to_owned());
        let outcome = self
            .worker
            .call(|producer| producer.begin_transaction())
            .await;
        match self.judged(outcome) {
            Ok(()) => {
                lease.broken = None;
                self.begun.store(true, Ordering::SeqCst);
                Ok(())
            }
            Err((kind, why)) => {
                lease.broken = Some(format!("beginning a transaction failed: {why}"));
                Err((kind, why))
            }
        }
    }

    async fn enqueue(&self, record: &OutgoingRecord) -> Result<(), Refused> {
        let deadline = Instant::now() + QUEUE_PATIENCE;
        loop {
            match worker::enqueue(&self.producer, record) {
                Err(error) if is_full(&error) && Instant::now() < deadline => {
                    tokio::time::sleep(QUEUE_STEP).await;
                }
                outcome => {
                    let code = outcome
                        .as_ref()
                        .err()
                        .and_then(KafkaError::rdkafka_error_code);
                    self.context().notice_place(code, || Place::of(record));
                    return self.judged(Some(outcome));
                }
            }
        }
    }

    async fn try_send_offsets(&self, offsets: &GroupOffsets) -> Result<(), Refused> {
        offsets.check_for(&self.participant)?;
        let list = offsets
            .to_list()
            .map_err(|error| (DataErrorKind::Config, failure::describe(&error)))?;
        self.begin().await?;
        let (membership, patience) = (offsets.membership(), self.offsets_timeout);
        let outcome = self.worker.call(move |producer| {
            let sent = producer.send_offsets_to_transaction(&list, membership.metadata(), patience);
            // Here, because the caller may have gone away.
            if sent.as_ref().is_err_and(is_unanswered) {
                producer.context().counts.leave_unanswered();
            }
            sent
        });
        self.judged(outcome.await)
    }

    async fn end(&self, decision: Decision) -> EndAnswer {
        let mut lease = self.lease.lock().await;
        if let Some(why) = lease
            .broken
            .clone()
            .filter(|_| decision == Decision::Commit)
        {
            return EndAnswer::NotSent(why);
        }
        if !self.begun.load(Ordering::SeqCst) {
            self.context().counts.reset();
            return EndAnswer::Acknowledged;
        }
        let earlier = lease
            .broken
            .replace("ending the transaction was abandoned".to_owned());
        let failed_before = earlier.is_some() || self.context().counts.is_fenced();
        let outcome = self
            .worker
            .call(move |producer| end_blocking(producer, decision))
            .await;
        let Some((outcome, ended_us)) = outcome else {
            return EndAnswer::NoAnswer("the slot's thread ended".to_owned());
        };
        let answer = end_answer(outcome, failed_before);
        lease.ended_us = Some(ended_us);
        lease.broken = match &answer {
            EndAnswer::Acknowledged => earlier,
            _ => Some("its last transaction was not ended by itself".to_owned()),
        };
        if lease.broken.is_none() {
            self.begun.store(false, Ordering::SeqCst);
        }
        answer
    }

    async fn prove(&self, lease: &Lease) -> Result<(), String> {
        if let Some(why) = &lease.broken {
            return Err(why.clone());
        }
        if self.begun.load(Ordering::SeqCst) {
            return Err("its transaction is still open".to_owned());
        }
        if let Some(why) = self.context().counts.blemish() {
            return Err(why);
        }
        let Some(ended_us) = lease.ended_us else {
            return Ok(());
        };
        let Some(baseline) = &lease.baseline else {
            return Err("no statistics had arrived before the first write".to_owned());
        };
        let baseline = baseline.parse()?;
        let deadline = Instant::now() + VERIFY_PATIENCE;
        let mut after_us = ended_us;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self
                .context()
                .statistics
                .generated_after(after_us, left)
                .await?;
            match event.judge(&baseline) {
                Judgement::Answered => return Ok(()),
                Judgement::Unanswered(why) => return Err(why),
                Judgement::Waiting(why) if left.is_zero() => return Err(why),
                Judgement::Waiting(_) => after_us = event.generated_us,
            }
        }
    }

    /// librdkafka releases a report after its callback has returned, and gives no sign of it;
    /// committing before that costs a step of 100 ms.
    async fn all_released(&self, deadline: Instant) {
        let mut yields = 0;
        while self.producer.in_flight_count() > 0 && Instant::now() < deadline {
            if yields < RELEASE_YIELDS {
                yields += 1;
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Notes what an error means for the instance. `None` is a worker that is gone.
    fn judged(&self, outcome: Option<Result<(), KafkaError>>) -> Result<(), Refused> {
        let Some(outcome) = outcome else {
            return Err((DataErrorKind::Closed, "the slot's thread ended".to_owned()));
        };
        outcome.map_err(|error| {
            let code = error.rdkafka_error_code();
            let why = failure::describe(&error);
            self.context().notice(code, &why);
            (kind_of(code), why)
        })
    }
}

/// A kind and a reason; participant and operation are added where they are known.
pub(super) type Refused = (DataErrorKind, String);

/// No broker has answered, as far as the error tells.
fn is_unanswered(error: &KafkaError) -> bool {
    error
        .rdkafka_error_code()
        .and_then(failure::broker_code)
        .is_none()
}

fn is_full(error: &KafkaError) -> bool {
    error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull)
}

fn kind_of(code: Option<RDKafkaErrorCode>) -> DataErrorKind {
    if let Some(lasting) = code.and_then(failure::lasting) {
        return lasting;
    }
    match code {
        Some(code) if failure::is_fence(code) => DataErrorKind::Fenced,
        Some(code) if failure::is_misplaced(code) => DataErrorKind::Misplaced,
        Some(
            RDKafkaErrorCode::IllegalGeneration
            | RDKafkaErrorCode::UnknownMemberId
            | RDKafkaErrorCode::RebalanceInProgress
            | RDKafkaErrorCode::FencedInstanceId,
        ) => DataErrorKind::GroupMoved,
        Some(RDKafkaErrorCode::QueueFull | RDKafkaErrorCode::OperationTimedOut) => {
            DataErrorKind::Timeout
        }
        _ => DataErrorKind::Refused,
    }
}

fn end_blocking(producer: &SlotProducer, decision: Decision) -> (Result<(), KafkaError>, i64) {
    let outcome = match decision {
        Decision::Commit => producer.commit_transaction(END_TIMEOUT),
        Decision::Abort => producer.abort_transaction(END_TIMEOUT),
    };
    (outcome, crate::kafka::statistics::monotonic_us())
}

/// What the broker answered to EndTxn, if it is known that it did.
fn end_answer(outcome: Result<(), KafkaError>, failed_before: bool) -> EndAnswer {
    let Err(error) = outcome else {
        return EndAnswer::Acknowledged;
    };
    let why = failure::describe(&error);
    match error.rdkafka_error_code() {
        // librdkafka repeats an earlier failure here, which is no answer to EndTxn.
        _ if failed_before => EndAnswer::NoAnswer(why),
        // librdkafka's own name for the brokers' 47 and 90.
        Some(RDKafkaErrorCode::Fenced) => EndAnswer::Code(47),
        code => match code.and_then(failure::broker_code) {
            Some(number) => EndAnswer::Code(number),
            None => EndAnswer::NoAnswer(why),
        },
    }
}
