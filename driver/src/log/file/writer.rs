//! The one thread that writes, and the queue in front of it: group commit.
//!
//! While one sync runs, the next batch gathers in the queue; there is no other linger. One
//! frame, one write and one sync serve all that was waiting.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::broken::Broken;
use super::directory::DirectoryLock;
use super::engine::Engine;
use crate::log::{Acknowledge, Durability, LogError, LogErrorKind, LogWrite, Receipt};

/// How long a lazy entry waits for a forced one to ride on.
const LAZY_WAIT: Duration = Duration::from_millis(50);
/// How often the log looks whether its files are still in their place, also while nothing is written.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// A batch above this size gains nothing from being larger.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A write, and who waits for it.
struct Waiting {
    write: LogWrite,
    acknowledge: Acknowledge,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// When the writer must start; none while nothing waits.
    due: Option<Instant>,
    /// Once set, everything is refused with it.
    refusal: Option<LogError>,
    /// Set when the log is to be given up, with all that wait for it.
    closing: Option<Vec<Acknowledge>>,
    ended: bool,
}

/// What the log's handle and its thread share.
#[derive(Default)]
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    grown_bytes: AtomicU64,
    batches: AtomicU64,
}

impl Shared {
    pub(crate) fn grown_bytes(&self) -> u64 {
        self.grown_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn refusal(&self) -> Option<LogError> {
        self.lock().refusal.clone()
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    pub(crate) fn submit(&self, write: LogWrite) -> Receipt {
        let wait = match &write {
            LogWrite::Append {
                durability: Durability::Lazy,
                ..
            } => LAZY_WAIT,
            _ => Duration::ZERO,
        };
        let mut queue = self.lock();
        if let Some(refusal) = &queue.refusal {
            return Receipt::resolved(Err(refusal.clone()));
        }
        let (acknowledge, receipt) = Receipt::pair();
        let due = Instant::now() + wait;
        let sooner = queue.due.is_none_or(|earlier| due < earlier);
        if sooner {
            queue.due = Some(due);
        }
        queue.waiting.push_back(Waiting { write, acknowledge });
        drop(queue);
        // The writer is awake, or will be in time: to wake it costs a call of the system, once a batch.
        if sooner {
            self.changed.notify_one();
        }
        receipt
    }

    pub(crate) fn close(&self) -> Receipt {
        let mut queue = self.lock();
        if queue.ended {
            return Receipt::resolved(Ok(()));
        }
        let (acknowledge, receipt) = Receipt::pair();
        queue.closing.get_or_insert_default().push(acknowledge);
        queue.refusal.get_or_insert_with(closed);
        drop(queue);
        self.changed.notify_one();
        receipt
    }

    /// The state stays consistent between any two statements, so a panic elsewhere is no harm.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is due, or it is time to look, and takes all that waits; nothing once the log closes.
    fn take(&self, look_at: Option<Instant>) -> Option<VecDeque<Waiting>> {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            let closing = queue.closing.is_some();
            if queue.due.is_some_and(|due| due <= now || closing) {
                queue.due = None;
                return Some(std::mem::take(&mut queue.waiting));
            }
            if closing {
                return None;
            }
            if look_at.is_some_and(|look_at| look_at <= now) {
                return Some(VecDeque::new());
            }
            let next = queue.due.into_iter().chain(look_at).min();
            queue = match next.map(|next| next - now) {
                Some(wait) => {
                    let waited = self.changed.wait_timeout(queue, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Refuses all that comes, and all that waits.
    fn refuse(&self, refusal: &LogError) {
        let mut queue = self.lock();
        queue.refusal = Some(refusal.clone());
        queue.due = None;
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        acknowledge(waiting, &Err(refusal.clone()));
    }
}

/// The thread's side.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    engine: Engine,
    /// Dropped before anybody hears that the log is closed.
    lock: Option<DirectoryLock>,
    /// When to look whether the files are in their place; not again once they were not.
    look_at: Option<Instant>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, engine: Engine, lock: Option<DirectoryLock>) -> Self {
        Writer {
            shared,
            engine,
            lock,
            look_at: Some(Instant::now() + LOOK_INTERVAL),
        }
    }

    /// Writes until the log is closed.
    pub(crate) fn run(mut self) {
        while let Some(waiting) = self.shared.take(self.look_at) {
            self.round(waiting);
        }
    }

    /// Writes what waits now, in the thread of the caller.
    #[cfg(test)]
    pub(crate) fn write_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.shared.lock().waiting);
        self.round(waiting);
    }

    fn round(&mut self, waiting: VecDeque<Waiting>) {
        let served = match self.look() {
            Ok(()) => self.serve(waiting),
            Err(failure) => Err((failure, waiting)),
        };
        if let Err((failure, unserved)) = served {
            self.look_at = None;
            let refusal = failure.poisons();
            tracing::error!(error = %failure, "the decision log accepts nothing any more");
            acknowledge(unserved, &Err(refusal.clone()));
            if !self.engine.lacks(Broken::Stop) {
                self.shared.refuse(&refusal);
            }
        }
    }

    /// Once in a while, and before the next write: whether a start would find what is written.
    fn look(&mut self) -> Result<(), LogError> {
        let now = Instant::now();
        if self.look_at.is_none_or(|look_at| now < look_at) {
            return Ok(());
        }
        self.look_at = Some(now + LOOK_INTERVAL);
        self.lock.as_ref().map_or(Ok(()), DirectoryLock::check)?;
        self.engine.check_named()
    }

    /// Writes all of `waiting`; after a failure it returns what it did not touch.
    fn serve(
        &mut self,
        mut waiting: VecDeque<Waiting>,
    ) -> Result<(), (LogError, VecDeque<Waiting>)> {
        while !waiting.is_empty() {
            let batch = self.next_batch(&mut waiting);
            let outcome = self.write(&batch);
            self.shared
                .grown_bytes
                .store(self.engine.grown_bytes(), Ordering::Relaxed);
            self.shared.batches.fetch_add(1, Ordering::Relaxed);
            acknowledge(batch, &outcome);
            let outcome = match outcome {
                Err(error) if error.kind() == LogErrorKind::Full => Ok(()),
                outcome => outcome.and_then(|()| self.engine.allocate_ahead()),
            };
            outcome.map_err(|failure| (failure, std::mem::take(&mut waiting)))?;
        }
        Ok(())
    }

    /// One checkpoint, or as many appends as one frame holds.
    fn next_batch(&self, waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
        let limit = self.engine.body_bytes_max().min(BATCH_BYTES_MAX);
        let mut bytes = 0;
        let mut batch = Vec::new();
        while let Some(next) = waiting.pop_front() {
            let joins = match &next.write {
                LogWrite::Checkpoint { .. } => batch.is_empty(),
                LogWrite::Append { entries, .. } => {
                    bytes += super::format::body_bytes(entries);
                    batch.is_empty() || bytes <= limit
                }
            };
            if !joins {
                waiting.push_front(next);
                break;
            }
            let alone = matches!(next.write, LogWrite::Checkpoint { .. });
            batch.push(next);
            if alone {
                break;
            }
        }
        batch
    }

    fn write(&mut self, batch: &[Waiting]) -> Result<(), LogError> {
        if let [
            Waiting {
                write: LogWrite::Checkpoint { snapshot },
                ..
            },
        ] = batch
        {
            return self.engine.checkpoint(snapshot);
        }
        let entries = batch.iter().flat_map(|waiting| match &waiting.write {
            LogWrite::Append { entries, .. } => entries.as_slice(),
            LogWrite::Checkpoint { .. } => &[],
        });
        self.engine.append(entries.map(Vec::as_slice))
    }
}

impl Drop for Writer {
    /// Runs at the end of the thread, also when it panicked: nobody may wait for ever.
    fn drop(&mut self) {
        self.lock = None;
        let mut queue = self.shared.lock();
        queue.ended = true;
        queue.refusal.get_or_insert_with(closed);
        let waiting = std::mem::take(&mut queue.waiting);
        let closing = queue.closing.take().unwrap_or_default();
        drop(queue);
        // Whoever still waits learns from the dropped sender that the outcome is unknown.
        drop(waiting);
        for acknowledge in closing {
            // A receipt that nobody kept is no failure.
            let _ = acknowledge.send(Ok(()));
        }
    }
}

fn acknowledge(batch: impl IntoIterator<Item = Waiting>, outcome: &Result<(), LogError>) {
    for waiting in batch {
        // A receipt that nobody kept is no failure.
        let _ = waiting.acknowledge.send(outcome.clone());
    }
}

fn closed() -> LogError {
    LogError::new(LogErrorKind::Closed, "is closed")
}
