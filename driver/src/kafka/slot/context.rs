//! What librdkafka tells a slot: deliveries, errors, statistics and log lines.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gtc_core::WriteReport;
use rdkafka::Message;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::producer::{DeliveryResult, ProducerContext};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::arguments::Flaw;
use crate::kafka::error::DataErrorKind;
use crate::kafka::failure;
use crate::kafka::log::forward;
use crate::kafka::record::OutgoingRecord;
use crate::kafka::statistics::StatisticsTap;

/// The counts of one lease.
#[derive(Default)]
pub(super) struct Counts {
    sent: AtomicU64,
    offsets_sent: AtomicU64,
    offsets_failed: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
    /// Of the failed ones, those that never left this process.
    unsent: AtomicU64,
    fenced: AtomicBool,
    /// A call of librdkafka whose outcome nobody knows.
    unanswered: AtomicBool,
    detail: Mutex<Option<String>>,
    /// The first refusal that another attempt would meet again.
    never_accepted: Mutex<Option<Flaw>>,
    /// Where the first record was to go that the producer found no place for.
    misplaced: Mutex<Option<Place>>,
}

/// A topic, and the partition where one was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
}

impl Place {
    /// Where a record is to go.
    pub(crate) fn of(record: &OutgoingRecord) -> Self {
        Self {
            topic: record.topic.to_string(),
            partition: record.partition,
        }
    }
}

impl Counts {
    /// Counts a record; it counts as failed too unless the attempt succeeds.
    pub(super) fn attempt_record(&self) -> Attempt<'_> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        Attempt::new(self, What::Record)
    }

    /// Counts a call with offsets; it counts as failed too unless the attempt succeeds.
    pub(super) fn attempt_offsets(&self) -> Attempt<'_> {
        self.offsets_sent.fetch_add(1, Ordering::SeqCst);
        Attempt::new(self, What::Offsets)
    }

    /// The outcome of a call is not known, so what it sent may still arrive.
    pub(super) fn leave_unanswered(&self) {
        self.unanswered.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::SeqCst)
    }

    /// Keeps the first error for people.
    pub(super) fn note(&self, why: &str) {
        let mut detail = self.detail.lock().unwrap_or_else(PoisonError::into_inner);
        detail.get_or_insert_with(|| why.to_owned());
    }

    fn note_never_accepted(&self, kind: DataErrorKind, why: &str) {
        let mut noted = self
            .never_accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert_with(|| Flaw {
            problem: why.to_owned(),
            remedy: kind.remedy(),
        });
    }

    pub(super) fn never_accepted(&self) -> Option<Flaw> {
        self.never_accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note_misplaced(&self, place: Place) {
        let mut noted = self
            .misplaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert(place);
    }

    pub(super) fn misplaced(&self) -> Option<Place> {
        self.misplaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.fenced.load(Ordering::SeqCst)
    }

    /// Why the slot must not be used again, as far as the counts tell.
    pub(super) fn blemish(&self) -> Option<String> {
        if self.is_fenced() {
            return Some("its producer is fenced".to_owned());
        }
        if self.is_unanswered() {
            return Some("a call was not answered".to_owned());
        }
        let unsent = self.unsent.load(Ordering::SeqCst);
        (self.failed.load(Ordering::SeqCst) > unsent).then(|| "a delivery failed".to_owned())
    }

    pub(super) fn report(&self) -> WriteReport {
        WriteReport {
            sent: self.sent.load(Ordering::SeqCst),
            delivered: self.delivered.load(Ordering::SeqCst),
            failed: self.failed.load(Ordering::SeqCst),
            offsets_sent: self.offsets_sent.load(Ordering::SeqCst),
            offsets_failed: self.offsets_failed.load(Ordering::SeqCst),
            stated_delivered: false,
            fenced: self.is_fenced(),
            detail: self
                .detail
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }

    /// Forgets the lease. A fence and an unanswered call are for ever.
    pub(super) fn reset(&self) {
        let counters = [
            &self.sent,
            &self.offsets_sent,
            &self.offsets_failed,
            &self.delivered,
            &self.failed,
            &self.unsent,
        ];
        for counter in counters {
            counter.store(0, Ordering::SeqCst);
        }
        forget(&self.detail);
        forget(&self.never_accepted);
        forget(&self.misplaced);
    }

    fn open(&self) -> u64 {
        let reported = self.delivered.load(Ordering::SeqCst) + self.failed.load(Ordering::SeqCst);
        self.sent.load(Ordering::SeqCst).saturating_sub(reported)
    }
}

fn forget<T>(noted: &Mutex<Option<T>>) {
    *noted.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Record,
    Offsets,
}

/// One thing that was asked for. Dropped without success, as by a caller that gave its future up,
/// it is a failure, so that nothing that was asked for is left out of a yes vote.
pub(super) struct Attempt<'a> {
    counts: &'a Counts,
    what: What,
    succeeded: bool,
}

impl<'a> Attempt<'a> {
    fn new(counts: &'a Counts, what: What) -> Self {
        Self {
            counts,
            what,
            succeeded: false,
        }
    }

    pub(super) fn succeed(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.succeeded {
            return;
        }
        match self.what {
            What::Record => {
                self.counts.unsent.fetch_add(1, Ordering::SeqCst);
                self.counts.failed.fetch_add(1, Ordering::SeqCst);
            }
            What::Offsets => {
                self.counts.offsets_failed.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.counts.note("a write was given up by its caller");
    }
}

/// The context of one producer instance.
pub(super) struct SlotContext {
    pub(super) counts: Counts,
    pub(super) statistics: StatisticsTap,
    participant: Arc<str>,
    pub(super) transactional_id: Arc<str>,
    reported: Notify,
}

impl SlotContext {
    pub(super) fn new(participant: Arc<str>, transactional_id: Arc<str>) -> Self {
        Self {
            counts: Counts::default(),
            statistics: StatisticsTap::default(),
            participant,
            transactional_id,
            reported: Notify::new(),
        }
    }

    /// Waits until each record was reported.
    pub(super) async fn all_reported(&self, deadline: Instant) {
        loop {
            let mut reported = std::pin::pin!(self.reported.notified());
            // Registered before the check, so that the last report is not missed.
            reported.as_mut().enable();
            if self.counts.open() == 0 || timeout_at(deadline, reported).await.is_err() {
                return;
            }
        }
    }

    /// Takes note of an error of the producer.
    pub(super) fn notice(&self, code: Option<RDKafkaErrorCode>, why: &str) {
        if code.is_some_and(failure::is_fence) {
            self.counts.fenced.store(true, Ordering::SeqCst);
        }
        if let Some(kind) = code.and_then(failure::lasting) {
            self.counts.note_never_accepted(kind, why);
        }
        self.counts.note(why);
    }

    /// Takes note of where a record was to go that was not taken.
    pub(super) fn notice_place(
        &self,
        code: Option<RDKafkaErrorCode>,
        place: impl FnOnce() -> Place,
    ) {
        if code.is_some_and(failure::is_misplaced) {
            self.counts.note_misplaced(place());
        }
    }
}

impl ClientContext for SlotContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        forward(level, facility, message, &self.participant);
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.statistics.put(statistics);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let (participant, transactional_id) = (&self.participant, &self.transactional_id);
        tracing::debug!(%participant, %transactional_id, %error, reason, "producer error");
        if error.rdkafka_error_code().is_some_and(failure::is_fence) {
            self.notice(error.rdkafka_error_code(), reason);
        }
    }
}

impl ProducerContext for SlotContext {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => {
                self.counts.delivered.fetch_add(1, Ordering::SeqCst);
            }
            Err((error, record)) => self.delivery_failed(error, record),
        }
        if self.counts.open() == 0 {
            self.reported.notify_waiters();
        }
    }
}

impl SlotContext {
    fn delivery_failed(&self, error: &KafkaError, record: &BorrowedMessage<'_>) {
        let code = error.rdkafka_error_code();
        self.notice_place(code, || Place {
            topic: record.topic().to_owned(),
            // Negative where none was chosen.
            partition: Some(record.partition()).filter(|partition| *partition >= 0),
        });
        if code == Some(RDKafkaErrorCode::PurgeQueue) {
            self.counts.unsent.fetch_add(1, Ordering::SeqCst);
        }
        self.notice(code, &failure::describe(error));
        self.counts.failed.fetch_add(1, Ordering::SeqCst);
    }
}
