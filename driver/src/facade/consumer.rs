//! The transactional consumer, as the callers of the façade hold it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use gtc_core::TransactionId;

use super::batch::Batch;
use super::coordinator;
use super::held::Held;
use super::pending::{Abandoned, Pending};
use super::runtime::runtime;
use super::verbs::meaning;
use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::{
    Batch as DriverBatch, ConsumerEvent, OutOfRange, PartitionLag, TransactionalConsumer,
};
use crate::verdict;

const NEXT: &str = "next batch";
/// More notices than this are not kept; the oldest go first.
const NOTICES_MAX: usize = 1000;

/// What kind of thing happened beside the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoticeKind {
    /// These partitions are read from now on.
    Assigned,
    /// No partition is read any more; every batch is stale.
    Revoked,
    /// The cluster no longer has a position: records were lost, or the partition is another one.
    OutOfRange,
    /// The cluster refuses something, or a topic is missing. Reading goes on where it can.
    Trouble,
}

impl NoticeKind {
    /// The name in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Revoked => "revoked",
            Self::OutOfRange => "out-of-range",
            Self::Trouble => "trouble",
        }
    }
}

/// Something that happened beside the batches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// What kind of thing.
    pub kind: NoticeKind,
    /// What happened, for people.
    pub text: String,
    /// The partitions concerned.
    pub partitions: Vec<(Arc<str>, i32)>,
}

impl Notice {
    fn new(kind: NoticeKind, text: String, partitions: Vec<(Arc<str>, i32)>) -> Self {
        Self {
            kind,
            text,
            partitions,
        }
    }
}

/// A consumer whose offsets travel inside global transactions. It hands out one batch after the
/// other; [`next`](Consumer::next) is for one caller at a time.
#[derive(Clone)]
pub struct Consumer {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    held: Held<TransactionalConsumer>,
    participant: Arc<str>,
    coordinator: Weak<coordinator::Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Batch>,
    notices: VecDeque<Notice>,
    /// A transaction that has not told how it ended, with batches that must not be read again.
    doubt: Option<(TransactionId, Vec<DriverBatch>)>,
}

impl Consumer {
    pub(super) fn new(
        consumer: TransactionalConsumer,
        coordinator: Weak<coordinator::Shared>,
    ) -> Self {
        let participant = consumer.participant().clone();
        let over = (
            ErrorKind::Closed,
            "the consumer is closed",
            "make another consumer",
        );
        let shared = Shared {
            held: Held::new(consumer, over),
            participant,
            coordinator,
            state: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The participant it reads from.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.shared.participant
    }

    #[doc = meaning!(consumer next)]
    ///
    /// # Errors
    /// Closed; in-doubt where a transaction with offsets of this consumer has not told how it
    /// ended: close it, and make a new one, which waits for the outcome; invalid-state where a
    /// partition waits for [`resume_at`](Consumer::resume_at); why the consumer cannot go on.
    pub fn next(&self, timeout: Option<Duration>) -> Pending<Option<Batch>> {
        let shared = self.shared.clone();
        let about = (NEXT, Abandoned::Stops);
        Pending::start(about, async move { shared.next(timeout).await })
    }

    #[doc = meaning!(consumer lag)]
    /// Empty before the first statistics, and after its end.
    ///
    /// # Errors
    /// Unsupported in a forked child.
    pub fn lag(&self) -> Result<Vec<PartitionLag>, Error> {
        runtime()?;
        let lag = self.shared.held.peek(TransactionalConsumer::lag);
        Ok(lag.unwrap_or_default())
    }

    #[doc = meaning!(consumer is_caught_up)]
    /// Ask after [`next`](Consumer::next) has found nothing: records may be on their way to it.
    ///
    /// # Errors
    /// Unsupported in a forked child.
    pub fn is_caught_up(&self) -> Result<bool, Error> {
        runtime()?;
        let is_caught_up = self.shared.held.peek(TransactionalConsumer::is_caught_up);
        Ok(is_caught_up.unwrap_or(false))
    }

    #[doc = meaning!(consumer notices)]
    ///
    /// # Errors
    /// Unsupported in a forked child.
    pub fn notices(&self) -> Result<Vec<Notice>, Error> {
        runtime()?;
        Ok(self.shared.lock().notices.drain(..).collect())
    }

    #[doc = meaning!(consumer resume_at)]
    ///
    /// # Errors
    /// Closed, or that the partition is not assigned.
    pub fn resume_at(&self, topic: &str, partition: i32, offset: i64) -> Pending<()> {
        const OPERATION: &str = "resume";
        let (shared, topic) = (self.shared.clone(), topic.to_owned());
        Pending::start((OPERATION, Abandoned::GoesOn), async move {
            let consumer = shared.held.share(OPERATION).await?;
            let resumed = async { Ok(consumer.resume_at(&topic, partition, offset).await?) };
            shared.held.unless_ended(OPERATION, resumed).await
        })
    }

    #[doc = meaning!(consumer close)]
    pub fn close(&self) -> Pending<()> {
        let shared = self.shared.clone();
        let about = ("close consumer", Abandoned::GoesOn);
        Pending::start(about, async move {
            shared.close().await;
            Ok(())
        })
    }
}

impl Shared {
    pub(super) fn coordinator(&self) -> &Weak<coordinator::Shared> {
        &self.coordinator
    }

    /// The batch that was handed out last, if its offsets were not sent yet.
    pub(super) fn current(&self) -> Option<Batch> {
        self.lock().current.clone()
    }

    /// `transaction` has not told how it ended: whether `batch` is done is unknown.
    pub(super) fn doubt(&self, transaction: TransactionId, batch: DriverBatch) {
        let mut state = self.lock();
        let (_, batches) = state.doubt.get_or_insert((transaction, Vec::new()));
        batches.push(batch);
    }

    /// Makes the calls under way give up.
    pub(super) fn end(&self) {
        self.held.end();
    }

    pub(super) async fn close(&self) {
        self.held.end();
        if let Some(consumer) = self.held.take().await {
            consumer.close().await;
        }
        // Only now: a batch that is dropped earlier is read again.
        drop(std::mem::take(&mut *self.lock()));
    }

    async fn next(self: Arc<Self>, timeout: Option<Duration>) -> Result<Option<Batch>, Error> {
        if let Some((transaction, _)) = &self.lock().doubt {
            let why = "a transaction with offsets of this consumer has not told how it ended";
            return Err(verdict::in_doubt(NEXT, *transaction, why).with_remedy(
                "close the consumer and make a new one: it waits until the outcome is there",
            ));
        }
        let consumer = self.held.share(NEXT).await?;
        let read = async {
            self.read_again(&consumer).await?;
            let batch = self.read(&consumer);
            match timeout {
                None => batch.await.map(Some),
                Some(timeout) => match tokio::time::timeout(timeout, batch).await {
                    Ok(batch) => batch.map(Some),
                    Err(_) => Ok(None),
                },
            }
        };
        self.held.unless_ended(NEXT, read).await
    }

    /// Nothing is skipped: offsets that were not sent mean that the batch was not dealt with.
    async fn read_again(&self, consumer: &TransactionalConsumer) -> Result<(), Error> {
        let current = self.lock().current.take();
        match current.and_then(|batch| batch.claim()) {
            Some(batch) => Ok(consumer.rewind(batch).await?),
            None => Ok(()),
        }
    }

    async fn read(self: &Arc<Self>, consumer: &TransactionalConsumer) -> Result<Batch, Error> {
        loop {
            let notice = match consumer.next().await? {
                ConsumerEvent::Batch(batch) => {
                    let batch = Batch::new(batch, Arc::downgrade(self));
                    self.lock().current = Some(batch.clone());
                    return Ok(batch);
                }
                ConsumerEvent::Assigned(partitions) => {
                    let text = format!("{} partitions assigned", partitions.len());
                    Notice::new(NoticeKind::Assigned, text, partitions)
                }
                ConsumerEvent::Revoked => {
                    let text = "all partitions revoked".to_owned();
                    Notice::new(NoticeKind::Revoked, text, Vec::new())
                }
                ConsumerEvent::Trouble(text) => Notice::new(NoticeKind::Trouble, text, Vec::new()),
                ConsumerEvent::OutOfRange(lost) => self.lost(&lost)?,
            };
            self.note(notice);
        }
    }

    /// A loss is never passed over in silence: it is noted, and without a position to go on at it
    /// is an error too.
    fn lost(&self, lost: &OutOfRange) -> Result<Notice, Error> {
        let OutOfRange {
            topic,
            partition,
            position,
            low,
            high,
            ..
        } = lost;
        let text = format!(
            "{topic} partition {partition} has {low} to {high}, and offset {position} was next"
        );
        let kind = NoticeKind::OutOfRange;
        let notice = Notice::new(kind, text.clone(), vec![(topic.clone(), *partition)]);
        if lost.resumed_at.is_some() {
            return Ok(notice);
        }
        self.note(notice);
        Err(Error::new(ErrorKind::InvalidState, NEXT, text)
            .with_participant(&*self.participant)
            .with_remedy("say where to go on, with resume_at"))
    }

    fn note(&self, notice: Notice) {
        let participant = &*self.participant;
        match notice.kind {
            NoticeKind::Assigned | NoticeKind::Revoked => {
                tracing::debug!(target: "gtc", participant, "{}", notice.text);
            }
            _ => tracing::warn!(target: "gtc", participant, "{}", notice.text),
        }
        let notices = &mut self.lock().notices;
        if notices.len() == NOTICES_MAX {
            notices.pop_front();
        }
        notices.push_back(notice);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one call, so that a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("participant", &self.shared.participant)
            .finish_non_exhaustive()
    }
}
