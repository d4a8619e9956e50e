//! The transactional consumer: hands out batches whose offsets travel inside a global transaction.
//!
//! # Nothing is skipped
//!
//! A batch is *done* when the transaction that holds its offsets has committed, and the caller
//! says so with [`Batch::done`]. A batch that is dropped before that, or handed to
//! [`TransactionalConsumer::rewind`], takes every later batch with it: their offsets are refused
//! from that moment on, and reading continues at the start of the dropped one. So an early return
//! or a panic cannot lose records. Several batches may be under way at once, if their transactions
//! commit in the order of the batches.
//!
//! # Rebalances
//!
//! A rebalance of the group invalidates every batch. Their offsets are refused here, and by the
//! group coordinator, because they carry the generation and the member that read them.
//! Only the eager protocol of consumer groups is used: with it librdkafka asks before it joins the
//! next generation, and every partition is read again from its committed offset.
//!
//! # Static members
//!
//! A consumer with an instance id first removes whoever has that id in the group, and joins then.
//! Who was removed and still runs fails when it hears of it.
//!
//! # Positions
//!
//! Transaction markers and aborted records use up offsets that no record shows. Where nothing
//! follows them the consumer learns from librdkafka's statistics that it has passed them, and
//! hands out a batch with offsets and perhaps no record.
//!
//! Each consumer has one thread of gtc's own; all calls of librdkafka run on it.

mod batch;
mod committed;
mod context;
mod link;
mod position;
mod predecessor;
mod reader;
mod reset;
mod settings;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::arguments;
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::record::PartitionOffset;
pub use batch::{Batch, GroupOffsets};
pub use committed::committed_offsets;
use link::Link;
pub use position::PartitionLag;
use predecessor::Predecessor;
pub use settings::{BatchLimits, ConsumerSettings, OffsetReset};

/// How many batches are read ahead.
const READY_MAX: usize = 2;

/// A partition whose position the cluster no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfRange {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub position: i64,
    /// The first offset that the cluster still has: what lies between is lost, if it is greater.
    pub low: i64,
    /// The end of what can be read; below the position, the partition was cut or made anew.
    pub high: i64,
    /// Reading went on there; `None` if it waits for [`TransactionalConsumer::resume_at`].
    pub resumed_at: Option<i64>,
}

/// What a consumer hands out.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConsumerEvent {
    /// Records and offsets.
    Batch(Batch),
    /// These partitions are read from now on.
    Assigned(Vec<(Arc<str>, i32)>),
    /// No partition is read any more; every batch is stale.
    Revoked,
    /// Records were lost, or the partition is another one.
    OutOfRange(OutOfRange),
    /// The cluster refuses something, or a topic is missing. Reading goes on where it can.
    Trouble(String),
}

/// How long a consumer may take to leave its group.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// A consumer whose offsets are committed by global transactions only.
pub struct TransactionalConsumer {
    shared: Arc<Shared>,
    ended: Option<oneshot::Receiver<()>>,
}

/// What the caller and the consumer's thread share.
struct Shared {
    participant: Arc<str>,
    state: Mutex<State>,
    work: Condvar,
    ready: Notify,
    link: Arc<Link>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<ConsumerEvent>,
    jobs: VecDeque<Job>,
    closing: bool,
    failed: Option<DataError>,
}

/// Something to do on the consumer's thread.
enum Job {
    /// Answer once everything asked for before it is done.
    Barrier(oneshot::Sender<()>),
    /// Nobody else is this static member any more.
    Join,
    Committed(oneshot::Sender<Result<Vec<PartitionOffset>, DataError>>),
    ResumeAt(PartitionOffset, oneshot::Sender<Result<(), DataError>>),
}

impl TransactionalConsumer {
    /// Makes a consumer and subscribes; a static member does so once its predecessor is removed.
    ///
    /// # Errors
    /// The settings cannot work, or librdkafka refuses them.
    pub async fn open(settings: ConsumerSettings) -> Result<Self, DataError> {
        let predecessor = Predecessor::of(&settings)?;
        let participant = settings.participant();
        let shared = Arc::new(Shared {
            participant: participant.clone(),
            state: Mutex::default(),
            work: Condvar::new(),
            ready: Notify::new(),
            link: Arc::default(),
        });
        let (report, opened) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let reader = shared.clone();
        let spawned = thread::Builder::new()
            .name("gtc-consumer".to_owned())
            .spawn(move || {
                reader::run(&settings, &reader, report);
                // Nobody waits for it unless the consumer is closed in an orderly way.
                let _ = end.send(());
            });
        let closed = |why: String| DataError::new(&participant, DataErrorKind::Closed, why);
        spawned.map_err(|error| closed(format!("no thread for a consumer: {error}")))?;
        opened
            .await
            .map_err(|_| closed("the consumer's thread ended".to_owned()))??;
        if let Some(predecessor) = predecessor {
            tokio::spawn(predecessor.make_way(Arc::downgrade(&shared)));
        }
        Ok(Self {
            shared,
            ended: Some(ended),
        })
    }

    /// The participant it reads from.
    #[must_use]
    pub fn participant(&self) -> &Arc<str> {
        &self.shared.participant
    }

    /// The next batch or event. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The consumer cannot go on.
    pub async fn next(&self) -> Result<ConsumerEvent, DataError> {
        loop {
            let mut ready = std::pin::pin!(self.shared.ready.notified());
            // Registered before the check, so that nothing is missed between the two.
            ready.as_mut().enable();
            if let Some(found) = self.shared.take_ready() {
                return found;
            }
            ready.await;
        }
    }

    /// Reads again from the start of `batch`, which its transaction did not commit. Returns when
    /// the position is set back; a batch that is stale already changes nothing.
    ///
    /// # Errors
    /// The consumer is closed.
    pub async fn rewind(&self, batch: Batch) -> Result<(), DataError> {
        drop(batch);
        self.ask(Job::Barrier).await
    }

    /// The offsets and their metadata that the group has committed for the assigned partitions.
    /// Partitions without one are left out. Waits for transactions that hold some.
    ///
    /// # Errors
    /// The cluster did not tell in time.
    pub async fn committed(&self) -> Result<Vec<PartitionOffset>, DataError> {
        self.ask(Job::Committed).await?
    }

    /// Goes on at `offset` with a partition, after [`ConsumerEvent::OutOfRange`].
    ///
    /// # Errors
    /// The partition is not assigned.
    pub async fn resume_at(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> Result<(), DataError> {
        let flaw = arguments::topic(topic)
            .and_then(|()| arguments::partition(partition))
            .and_then(|()| arguments::offset(offset));
        flaw.map_err(|flaw| {
            DataError::new(self.participant(), DataErrorKind::Config, flaw.problem)
        })?;
        let metadata = String::new();
        let place = PartitionOffset {
            topic: topic.into(),
            partition,
            offset,
            metadata,
        };
        self.ask(|reply| Job::ResumeAt(place, reply)).await?
    }

    /// How far each assigned partition is behind: its end, and what is being collected, as of the
    /// last statistics, which stay as they are while the cluster does not answer; batches that are
    /// not done as of now. Partitions of which nothing is known yet are left out.
    #[must_use]
    pub fn lag(&self) -> Vec<PartitionLag> {
        self.shared.link.lag().lines
    }

    /// How far the consumer is behind in all assigned partitions together, and how long ago the
    /// cluster told their ends: one that has read far enough ahead does not hear of later ones.
    /// `None` until something is known of every assigned partition.
    #[must_use]
    pub fn behind(&self) -> Option<(u64, Duration)> {
        self.shared.link.lag().behind()
    }

    /// Whether all that could be read at the last statistics was read, and is done. Not before
    /// something is known of every assigned partition.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        let lag = self.shared.link.lag();
        let is_done = |line: &PartitionLag| line.behind() == Some(0);
        lag.is_whole && !lag.lines.is_empty() && lag.lines.iter().all(is_done)
    }

    /// Leaves the group and ends the thread. Waits for both, but not longer than 10 s: librdkafka sets no
    /// bound to its own close, and the group misses a member that did not leave after its session time-out.
    pub async fn close(mut self) {
        self.shared.close();
        if let Some(ended) = self.ended.take() {
            // An error of the receiver means that the thread has ended already.
            if tokio::time::timeout(CLOSE_PATIENCE, ended).await.is_err() {
                tracing::warn!(participant = %self.shared.participant, "a consumer does not close; it is left");
            }
        }
    }

    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, DataError> {
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            // The thread has ended, or ends without looking at jobs again.
            if let Some(failed) = &state.failed {
                return Err(failed.clone());
            }
            state.jobs.push_back(job(reply));
        }
        self.shared.work.notify_all();
        answer.await.map_err(|_| self.shared.closed_error())
    }
}

impl Drop for TransactionalConsumer {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().closing = true;
        self.work.notify_all();
    }

    fn closed_error(&self) -> DataError {
        let failed = self.lock().failed.clone();
        failed.unwrap_or_else(|| {
            DataError::new(
                &self.participant,
                DataErrorKind::Closed,
                "the consumer is closed",
            )
        })
    }

    /// The first event that is not a stale batch.
    fn take_ready(&self) -> Option<Result<ConsumerEvent, DataError>> {
        let mut stale = Vec::new();
        let mut state = self.lock();
        let mut found = None;
        while let Some(event) = state.ready.pop_front() {
            match event {
                // Dropped after the lock: that reports to the link.
                ConsumerEvent::Batch(batch) if batch.is_stale() => stale.push(batch),
                event => {
                    found = Some(event);
                    break;
                }
            }
        }
        let failed = state.failed.clone();
        drop(state);
        self.work.notify_all();
        found.map(Ok).or(failed.map(Err))
    }

    fn put_job(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.work.notify_all();
    }

    fn put_ready(&self, event: ConsumerEvent) {
        self.lock().ready.push_back(event);
        self.ready.notify_waiters();
    }

    /// Ends the consumer with an error for all callers.
    fn fail(&self, error: DataError) {
        self.lock().failed.get_or_insert(error);
        self.ready.notify_waiters();
    }

    /// What the thread does next; waits for a while if it has read far enough ahead.
    fn next_task(&self) -> Task {
        let mut state = self.lock();
        if state.closing || state.failed.is_some() {
            return Task::End;
        }
        if let Some(job) = state.jobs.pop_front() {
            return Task::Run(job);
        }
        let is_batch = |event: &&ConsumerEvent| matches!(event, ConsumerEvent::Batch(_));
        if state.ready.iter().filter(is_batch).count() < READY_MAX || self.link.must_rewind() {
            return Task::Read;
        }
        // The time-out covers a rewind that nobody waits for.
        drop(self.work.wait_timeout(state, Duration::from_millis(25)));
        Task::Look
    }
}

enum Task {
    Run(Job),
    Read,
    Look,
    End,
}
