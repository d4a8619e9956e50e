//! A global transaction, as the callers of the façade hold it.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gtc_core::{CommitReturn, TransactionId, VersionClass};

use super::batch::Batch;
use super::consumer::{self, Consumer};
use super::coordinator;
use super::held::Held;
use super::own::OwnBranch;
use super::pending::{Abandoned, Pending};
use super::verbs::meaning;
use crate::arguments;
use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::Batch as DriverBatch;
use crate::kafka::record::OutgoingRecord;
use crate::own::OwnProducer;
use crate::transaction::Transaction as DriverTransaction;

const SEND_OFFSETS: &str = "send offsets";
const TORN: &str = "a write was given up or failed before its transaction was to commit";

/// A global transaction. When its last handle goes away undecided, it asks for its abort.
///
/// Several threads may write at once. A commit waits for the writes under way; an abort makes
/// them give up. Once a write was given up half-way, by a cancelled wait for example, the
/// transaction can only abort.
#[derive(Clone)]
pub struct Transaction {
    shared: Arc<Shared>,
}

struct Shared {
    id: TransactionId,
    coordinator: Arc<coordinator::Shared>,
    held: Held<DriverTransaction>,
    /// Whether everything that was to be written is in it is unknown.
    torn: AtomicBool,
    bound: Mutex<Vec<Bound>>,
}

/// A batch whose offsets are part of the transaction.
struct Bound {
    batch: DriverBatch,
    consumer: Weak<consumer::Shared>,
}

impl Transaction {
    pub(super) fn new(
        transaction: DriverTransaction,
        coordinator: Arc<coordinator::Shared>,
    ) -> Self {
        let remedy = "ask for its outcome, or begin another transaction";
        let over = (
            ErrorKind::InvalidState,
            "its end was asked for before",
            remedy,
        );
        let shared = Shared {
            id: transaction.id(),
            coordinator,
            held: Held::new(transaction, over),
            torn: AtomicBool::new(false),
            bound: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Its id: keep it where the outcome may have to be asked for.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.shared.id
    }

    #[doc = meaning!(transaction send)]
    ///
    /// # Errors
    /// Config for an unknown participant, unavailable, timeout, fenced, closed, or how the
    /// transaction ended. What the producer refused leaves a transaction that can only abort.
    pub fn send(&self, participant: impl Into<Arc<str>>, record: OutgoingRecord) -> Pending<()> {
        self.write("send", participant.into(), std::iter::once(record))
    }

    #[doc = meaning!(transaction send_many)]
    ///
    /// # Errors
    /// As [`send`](Transaction::send).
    pub fn send_many(
        &self,
        participant: impl Into<Arc<str>>,
        records: Vec<OutgoingRecord>,
    ) -> Pending<()> {
        self.write("send", participant.into(), records.into_iter())
    }

    fn write(
        &self,
        operation: &'static str,
        participant: Arc<str>,
        records: impl Iterator<Item = OutgoingRecord> + Send + 'static,
    ) -> Pending<()> {
        let shared = self.shared.clone();
        Pending::start((operation, Abandoned::Stops), async move {
            let transaction = shared.share(operation).await?;
            let write = async {
                for record in records {
                    if let Err(flaw) = arguments::timestamp(&record) {
                        return Err(transaction.refuse(operation, &participant, flaw));
                    }
                    transaction.send(&participant, record).await?;
                }
                Ok(())
            };
            shared.whole(operation, write).await
        })
    }

    #[doc = meaning!(transaction send_offsets)]
    ///
    /// # Errors
    /// As [`send`](Transaction::send); config for a batch of another coordinator's consumer;
    /// invalid-state where its offsets were sent before or its records are read again.
    pub fn send_offsets(&self, batch: &Batch) -> Pending<()> {
        let (shared, batch) = (self.shared.clone(), batch.clone());
        Pending::start((SEND_OFFSETS, Abandoned::Stops), async move {
            shared.send_offsets(&batch).await
        })
    }

    /// As [`send_offsets`](Transaction::send_offsets), for the batch that the consumer has handed
    /// out last.
    ///
    /// # Errors
    /// As there.
    pub fn send_offsets_of(&self, consumer: &Consumer) -> Pending<()> {
        match consumer.shared().current() {
            Some(batch) => self.send_offsets(&batch),
            None => {
                let problem = "the consumer has handed out no batch";
                let error = Error::new(ErrorKind::InvalidState, SEND_OFFSETS, problem)
                    .with_participant(consumer.participant())
                    .with_transaction(self.id())
                    .with_remedy("ask it for the next batch first");
                Pending::ready(Err(error))
            }
        }
    }

    #[doc = meaning!(transaction enlist)]
    ///
    /// The version class is the one that the producer speaks on that cluster: v2 for a Java
    /// client from 4.0 on a cluster with `transaction.version` 2, v1 for all that build on
    /// librdkafka.
    ///
    /// # Errors
    /// As [`send`](Transaction::send); config for an identity that must not be used again.
    pub fn enlist(
        &self,
        participant: &str,
        transactional_id: &str,
        version_class: VersionClass,
    ) -> Pending<OwnBranch> {
        let producer = OwnProducer::new(transactional_id).version_class(version_class);
        self.enlist_producer(participant, producer)
    }

    /// As [`enlist`](Transaction::enlist), with all that is known of the producer. Where its identity is told, it is
    /// refused if its cluster has another one under its transactional.id.
    ///
    /// # Errors
    /// As [`enlist`](Transaction::enlist); invalid-state for a producer of another identity.
    pub fn enlist_producer(&self, participant: &str, producer: OwnProducer) -> Pending<OwnBranch> {
        const OPERATION: &str = "enlist";
        let shared = self.shared.clone();
        let participant = participant.to_owned();
        Pending::start((OPERATION, Abandoned::Stops), async move {
            let transaction = shared.share(OPERATION).await?;
            let enlist = transaction.enlist_producer(&participant, producer);
            let branch = shared.whole(OPERATION, enlist).await?;
            Ok(OwnBranch::new(branch))
        })
    }

    #[doc = meaning!(transaction commit)]
    /// Gives back the id.
    ///
    /// # Errors
    /// Aborted: nothing is visible. In-doubt: ask for the outcome. Heuristic: a branch ended
    /// otherwise than decided. Invalid-state where its end was asked for before.
    pub fn commit(&self) -> Pending<TransactionId> {
        self.commit_with(CommitReturn::Acknowledged)
    }

    /// As [`commit`](Transaction::commit), and says when to return: at the decision means that
    /// readers may see the records a moment later. With an own producer it always returns after
    /// the acknowledgements.
    ///
    /// # Errors
    /// As [`commit`](Transaction::commit).
    pub fn commit_with(&self, report: CommitReturn) -> Pending<TransactionId> {
        let shared = self.shared.clone();
        Pending::start(("commit", Abandoned::GoesOn), async move {
            shared.commit(report).await
        })
    }

    #[doc = meaning!(transaction abort)]
    ///
    /// # Errors
    /// Invalid-state where its end was asked for before; heuristic as for
    /// [`commit`](Transaction::commit).
    pub fn abort(&self, reason: impl Into<String>) -> Pending<()> {
        const OPERATION: &str = "abort";
        let (shared, reason) = (self.shared.clone(), reason.into());
        shared.held.end();
        Pending::start((OPERATION, Abandoned::GoesOn), async move {
            match shared.held.take().await {
                Some(transaction) => shared.abort(transaction, reason).await,
                None => Err(shared.over(OPERATION)),
            }
        })
    }

    #[doc = meaning!(transaction close)]
    ///
    /// # Errors
    /// As [`abort`](Transaction::abort), if it has to abort.
    pub fn close(&self) -> Pending<()> {
        let shared = self.shared.clone();
        shared.held.end();
        Pending::start(("abort", Abandoned::GoesOn), async move {
            match shared.held.take().await {
                Some(transaction) => shared.abort(transaction, "closed undecided".into()).await,
                None => Ok(()),
            }
        })
    }
}

impl Shared {
    async fn share(
        &self,
        operation: &'static str,
    ) -> Result<tokio::sync::RwLockReadGuard<'_, DriverTransaction>, Error> {
        self.coordinator.check_open(operation)?;
        let shared = self.held.share(operation).await;
        shared.map_err(|error| error.with_transaction(self.id))
    }

    /// Runs a write. If it is given up half-way, the transaction can only abort.
    async fn whole<R>(
        &self,
        operation: &'static str,
        write: impl Future<Output = Result<R, Error>>,
    ) -> Result<R, Error> {
        let tearing = Tearing(&self.torn);
        let write = async {
            let result = write.await;
            std::mem::forget(tearing);
            result
        };
        self.held.unless_ended(operation, write).await
    }

    async fn send_offsets(&self, batch: &Batch) -> Result<(), Error> {
        let transaction = self.share(SEND_OFFSETS).await?;
        let consumer = batch.consumer().upgrade();
        let own = consumer.as_ref().is_none_or(|consumer| {
            Weak::ptr_eq(consumer.coordinator(), &Arc::downgrade(&self.coordinator))
        });
        if !own {
            let problem = "the batch is of a consumer of another coordinator";
            return Err(self
                .refusal(ErrorKind::Config, problem)
                .with_remedy("make the consumer with the coordinator of the transaction"));
        }
        let Some(claimed) = batch.claim() else {
            let problem = "the batch's offsets were sent before, or its records are read again";
            return Err(self
                .refusal(ErrorKind::InvalidState, problem)
                .with_remedy("send the offsets of each batch once"));
        };
        let offsets = claimed.offsets().clone();
        self.lock_bound().push(Bound {
            batch: claimed,
            consumer: batch.consumer().clone(),
        });
        let send = transaction.send_offsets_to(offsets.participant(), &offsets);
        let sent = self.whole(SEND_OFFSETS, send).await;
        if sent.is_err() {
            // Committing the rest would separate the records from their offsets.
            self.torn.store(true, Ordering::SeqCst);
        }
        sent
    }

    async fn commit(&self, report: CommitReturn) -> Result<TransactionId, Error> {
        let Some(transaction) = self.held.take().await else {
            return Err(self.over("commit"));
        };
        if self.torn.load(Ordering::SeqCst) {
            self.abort(transaction, TORN.to_owned()).await?;
            return Err(Error::new(ErrorKind::Aborted, "commit", TORN)
                .with_transaction(self.id)
                .with_remedy("run the transaction again; nothing of it is visible"));
        }
        let ending = self.ending();
        let result = transaction.commit_with(report).await;
        match &result {
            Ok(_) => ending.done(),
            Err(error) if error.kind() == ErrorKind::Aborted => ending.read_again(),
            Err(_) => drop(ending),
        }
        result.map(|committed| committed.id)
    }

    async fn abort(&self, transaction: DriverTransaction, reason: String) -> Result<(), Error> {
        let ending = self.ending();
        let result = transaction.abort(reason).await;
        if result.is_ok() {
            ending.read_again();
        }
        result
    }

    fn ending(&self) -> Ending {
        Ending {
            transaction: self.id,
            bound: std::mem::take(&mut *self.lock_bound()),
        }
    }

    fn lock_bound(&self) -> std::sync::MutexGuard<'_, Vec<Bound>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self, operation: &'static str) -> Error {
        self.held.over(operation).with_transaction(self.id)
    }

    fn refusal(&self, kind: ErrorKind, problem: &str) -> Error {
        Error::new(kind, SEND_OFFSETS, problem).with_transaction(self.id)
    }
}

/// Dropped before its write has ended, it tears the transaction.
struct Tearing<'a>(&'a AtomicBool);

impl Drop for Tearing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The batches of a transaction that is ending. What it is not told the fate of when it is
/// dropped is in doubt: reading those records again might double what has committed.
struct Ending {
    transaction: TransactionId,
    bound: Vec<Bound>,
}

impl Ending {
    fn done(mut self) {
        for Bound { batch, .. } in self.bound.drain(..) {
            drop(batch.done());
        }
    }

    fn read_again(mut self) {
        self.bound.clear();
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        for Bound { batch, consumer } in self.bound.drain(..) {
            match consumer.upgrade() {
                Some(consumer) => consumer.doubt(self.transaction, batch),
                // Nobody reads for it any more.
                None => drop(batch),
            }
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("id", &self.shared.id)
            .finish_non_exhaustive()
    }
}
