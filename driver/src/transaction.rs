//! One global transaction, as its application holds it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gtc_core::{
    CommitReturn, ParticipantId, Refusal, Request, SlotId, TransactionId, VersionClass,
};
use tokio::sync::watch;

use crate::arguments::{self, Flaw};
use crate::coordinator::Shared;
use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::{GroupOffsets, TransactionalConsumer};
use crate::kafka::record::OutgoingRecord;
use crate::own::{OwnBranch, OwnProducer};
use crate::runtime::{BranchKey, Enlistment, Progress};
use crate::verdict;

/// What a transaction begins with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// A key of the application's, to ask for the outcome by after a crash during commit.
    pub key: Option<Vec<u8>>,
    /// Abort by itself when it was not asked to commit within this time.
    pub timeout: Option<Duration>,
}

impl TransactionOptions {
    /// No key and no time-out.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the application's key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the time-out.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// A committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Its id.
    pub id: TransactionId,
}

/// A global transaction. Dropped undecided, it asks for its abort and does not wait for it.
///
/// Records go out as they are sent; [`commit`](Transaction::commit) waits for all deliveries. All
/// calls but the last take `&self`, so that several tasks can write at once.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<Shared>,
    id: TransactionId,
    progress: watch::Receiver<Progress>,
    /// Its end was asked for: dropping it changes nothing any more.
    asked: bool,
    /// A record that no cluster would take was to be part of it: it must not commit without.
    flawed: OnceLock<Flaw>,
}

impl Transaction {
    pub(crate) fn new(
        shared: Arc<Shared>,
        (id, progress): (TransactionId, watch::Receiver<Progress>),
    ) -> Self {
        Self {
            shared,
            id,
            progress,
            asked: false,
            flawed: OnceLock::new(),
        }
    }

    /// Its id: keep it where the outcome may have to be asked for.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Leases a slot of a participant now, rather than at the first write to it; waits for one
    /// that is free.
    ///
    /// # Errors
    /// Config for an unknown participant, unavailable, timeout, fenced, or how the transaction
    /// ended.
    pub async fn lease(&self, participant: &str) -> Result<(), Error> {
        let (id, _) = self.shared.participant("lease", participant)?;
        self.slot("lease", id).await.map(drop)
    }

    /// Sends a record to a participant, which joins the transaction by that. Waits while the
    /// producer's queue is full; does not wait for the delivery.
    ///
    /// # Errors
    /// As [`lease`](Transaction::lease); config for a record that no cluster can take, or that the
    /// cluster has no place for, or the producer's refusal: then the transaction can only abort.
    pub async fn send(&self, participant: &str, record: OutgoingRecord) -> Result<(), Error> {
        let (id, driver) = self.shared.participant("send", participant)?;
        if let Err(flaw) = arguments::record(&record) {
            return Err(self.refuse("send", participant, flaw));
        }
        let slot = self.slot("send", id).await?;
        let sent = driver.send(slot, self.id, record).await;
        sent.map_err(|error| self.failed("send", participant, error))
    }

    /// Moves the consumer's group to `offsets` when the transaction commits. The consumer's own
    /// participant joins the transaction by that: offsets belong to the cluster that they were
    /// read from, and can be sent to no other.
    ///
    /// # Errors
    /// As [`send`](Transaction::send); config for offsets that another consumer read.
    pub async fn send_offsets(
        &self,
        consumer: &TransactionalConsumer,
        offsets: &GroupOffsets,
    ) -> Result<(), Error> {
        self.send_offsets_to(consumer.participant(), offsets).await
    }

    /// As [`send_offsets`](Transaction::send_offsets), where the consumer itself is not at hand.
    /// `participant` has to be the one that the offsets were read from.
    ///
    /// # Errors
    /// As [`send`](Transaction::send); config for the offsets of another participant.
    pub async fn send_offsets_to(
        &self,
        participant: &str,
        offsets: &GroupOffsets,
    ) -> Result<(), Error> {
        const OPERATION: &str = "send offsets";
        let (id, driver) = self.shared.participant(OPERATION, participant)?;
        if offsets.participant() != participant {
            let from = offsets.participant();
            let problem = format!(
                "the offsets of group `{}` were read from `{from}`: stored in another cluster \
                 they would move nothing, there or here",
                offsets.group()
            );
            let error = Error::new(ErrorKind::Config, OPERATION, problem);
            let remedy = format!("send them to `{from}`; the transaction can hold both");
            return Err(self.named(error.with_remedy(remedy), participant));
        }
        let slot = self.slot(OPERATION, id).await?;
        let sent = driver.send_offsets(slot, self.id, offsets.clone()).await;
        sent.map_err(|error| self.failed(OPERATION, participant, error))
    }

    /// Takes the application's own producer in, before it begins its transaction. It writes and
    /// flushes as ever; what it tells the returned branch is its vote, and silence is a no.
    ///
    /// `version_class` is the one that the producer speaks on that cluster: V2 for a Java client
    /// from 4.0 on a cluster with `transaction.version` 2, V1 for all that build on librdkafka.
    ///
    /// # Errors
    /// As [`lease`](Transaction::lease); config for an identity that must not be used again.
    pub async fn enlist(
        &self,
        participant: &str,
        transactional_id: &str,
        version_class: VersionClass,
    ) -> Result<OwnBranch, Error> {
        let producer = OwnProducer::new(transactional_id).version_class(version_class);
        self.enlist_producer(participant, producer).await
    }

    /// As [`enlist`](Transaction::enlist), for a producer that takes the newest class that the
    /// cluster has by itself, as the Java client does from 4.0.
    ///
    /// # Errors
    /// As [`enlist`](Transaction::enlist).
    pub async fn enlist_newest(
        &self,
        participant: &str,
        transactional_id: &str,
    ) -> Result<OwnBranch, Error> {
        let producer = OwnProducer::new(transactional_id);
        self.enlist_producer(participant, producer).await
    }

    /// As [`enlist`](Transaction::enlist), with all that is known of the producer: that it is the
    /// one that its cluster has under its transactional.id can only be checked by its identity.
    ///
    /// # Errors
    /// As [`enlist`](Transaction::enlist); invalid-state for a producer of another identity.
    pub async fn enlist_producer(
        &self,
        participant: &str,
        producer: OwnProducer,
    ) -> Result<OwnBranch, Error> {
        const OPERATION: &str = "enlist";
        let name = participant;
        let (participant, _) = self.shared.participant(OPERATION, name)?;
        let own = producer.transactional_id.clone();
        arguments::transactional_id(&own)
            .map_err(|flaw| self.named(flaw.error(OPERATION), name))?;
        let deliveries = self
            .shared
            .engine()
            .enlist_own(self.id, participant, producer)
            .map_err(|refusal| self.refused(OPERATION, participant, refusal))?;
        let key = (participant, Some(own));
        self.enlisted(OPERATION, &key).await?;
        Ok(OwnBranch::new(
            (self.id, key),
            deliveries,
            self.progress.clone(),
        ))
    }

    /// Commits on every participant, or on none, and waits for the last acknowledgement.
    ///
    /// Dropping the future does not take the request back.
    ///
    /// # Errors
    /// Aborted: nothing is visible. In-doubt: ask for the outcome. Heuristic: a branch ended
    /// otherwise than decided.
    pub async fn commit(self) -> Result<Committed, Error> {
        self.commit_with(CommitReturn::Acknowledged).await
    }

    /// As [`commit`](Transaction::commit), and says when to return. At the decision means that
    /// readers may see the records a moment later on one participant than on another. With an
    /// own producer it always returns after the acknowledgements.
    ///
    /// # Errors
    /// As [`commit`](Transaction::commit).
    pub async fn commit_with(mut self, report: CommitReturn) -> Result<Committed, Error> {
        if let Some(flaw) = self.flawed.get().cloned() {
            return self.abort_flawed(flaw).await;
        }
        self.asked = true;
        if let Err(refusal) = self.shared.engine().commit(self.id, report) {
            match self.ended() {
                Some(outcome) => {
                    return verdict::committed(self.id, &outcome).map(|()| self.committed());
                }
                // Its time-out came first, or a dead participant: how it ends is the answer.
                None if self.is_aborting() => {}
                None => return Err(verdict::refused("commit", refusal).with_transaction(self.id)),
            }
        }
        let early = report == CommitReturn::Decided;
        let done = |progress: &Progress| progress.outcome.is_some() || (early && progress.decided);
        let outcome = match self.progress.wait_for(done).await {
            Ok(progress) => progress.outcome.clone(),
            Err(_) => {
                let why = "the coordinator ended before it could tell";
                return Err(verdict::in_doubt("commit", self.id, why));
            }
        };
        let result = outcome.map_or(Ok(()), |outcome| verdict::committed(self.id, &outcome));
        match result {
            Ok(()) => Ok(self.committed()),
            Err(error) => match &self.progress.borrow().never_accepted {
                Some(flaw) => Err(verdict::never_accepted(error, flaw.remedy)),
                None => Err(error),
            },
        }
    }

    async fn abort_flawed(self, flaw: Flaw) -> Result<Committed, Error> {
        let id = self.id;
        self.abort(&flaw.problem).await?;
        let error = Error::new(ErrorKind::Aborted, "commit", flaw.problem).with_transaction(id);
        Err(verdict::never_accepted(error, flaw.remedy))
    }

    /// Aborts on every participant, and waits until all have done so. Deliveries that an own
    /// producer counts as open are waited for first: whether it may go on rests on them.
    ///
    /// # Errors
    /// Invalid-state if it had committed; heuristic as for [`commit`](Transaction::commit).
    pub async fn abort(mut self, reason: impl Into<String>) -> Result<(), Error> {
        self.asked = true;
        let request = Request::Abort {
            transaction: self.id,
            reason: reason.into(),
        };
        if let Err(refusal) = self.shared.engine().request(request)
            && self.ended().is_none()
        {
            return Err(verdict::refused("abort", refusal).with_transaction(self.id));
        }
        let ended = self
            .progress
            .wait_for(|progress| progress.outcome.is_some())
            .await;
        match ended.map(|progress| progress.outcome.clone()) {
            Ok(Some(outcome)) => verdict::aborted(self.id, &outcome),
            _ => {
                let problem = "the coordinator ended before the abort was acknowledged";
                Err(Error::new(ErrorKind::Closed, "abort", problem)
                    .with_transaction(self.id)
                    .with_remedy("open the coordinator again: it aborts what is undecided"))
            }
        }
    }

    /// The error of a record that no cluster can take; the transaction can only abort now.
    pub(crate) fn refuse(&self, operation: &'static str, participant: &str, flaw: Flaw) -> Error {
        let error = self.named(flaw.error(operation), participant);
        // The first one is what the commit tells.
        let _ = self.flawed.set(flaw);
        error
    }

    fn committed(&self) -> Committed {
        Committed { id: self.id }
    }

    /// Whether it is decided to abort, by whatever has come before the caller's own wish.
    fn is_aborting(&self) -> bool {
        let outcome = self.shared.engine().read(|core| core.outcome(self.id));
        outcome == gtc_core::KnownOutcome::Aborted
    }

    fn ended(&self) -> Option<gtc_core::Outcome> {
        self.progress.borrow().outcome.clone()
    }

    /// The leased slot of a participant; leases one if there is none.
    async fn slot(
        &self,
        operation: &'static str,
        participant: ParticipantId,
    ) -> Result<SlotId, Error> {
        let key = (participant, None);
        if let Some(Enlistment::Ready(Some(slot))) = self.progress.borrow().branch(&key) {
            return Ok(*slot);
        }
        self.shared
            .engine()
            .enlist(self.id, participant)
            .map_err(|refusal| self.refused(operation, participant, refusal))?;
        self.enlisted(operation, &key).await?.ok_or_else(|| {
            let problem = "a slot was granted without its number";
            let error = Error::new(ErrorKind::Internal, operation, problem);
            self.named(error, &self.shared.name(participant))
        })
    }

    async fn enlisted(
        &self,
        operation: &'static str,
        key: &BranchKey,
    ) -> Result<Option<SlotId>, Error> {
        let mut progress = self.progress.clone();
        let settled = progress.wait_for(|progress| {
            let branch = progress.branch(key);
            progress.outcome.is_some() || branch.is_some_and(|state| *state != Enlistment::Waiting)
        });
        let state = match settled.await {
            Ok(progress) => progress.branch(key).cloned(),
            Err(_) => None,
        };
        match state {
            Some(Enlistment::Ready(slot)) => Ok(slot),
            Some(Enlistment::Refused(refusal)) => Err(self.refused(operation, key.0, refusal)),
            _ => Err(self.over(operation)),
        }
    }

    /// The error of a call on a transaction that has ended by itself.
    fn over(&self, operation: &'static str) -> Error {
        let problem = match self.ended() {
            Some(outcome) => match verdict::committed(self.id, &outcome) {
                Err(error) => return error,
                Ok(()) => "it had been committed before",
            },
            None => "the coordinator ended",
        };
        Error::new(ErrorKind::InvalidState, operation, problem).with_transaction(self.id)
    }

    fn refused(
        &self,
        operation: &'static str,
        participant: ParticipantId,
        refusal: Refusal,
    ) -> Error {
        if self.ended().is_some() {
            return self.over(operation);
        }
        let error = match self.is_aborting() {
            true => verdict::aborting(operation),
            false => verdict::refused(operation, refusal),
        };
        self.named(error, &self.shared.name(participant))
    }

    /// The error of a write. That the slot is not the transaction's any more only says that it aborts.
    fn failed(&self, operation: &'static str, participant: &str, error: Error) -> Error {
        let is_over = error.kind() == ErrorKind::InvalidState;
        if is_over && self.ended().is_some() {
            return self.over(operation);
        }
        match is_over && self.is_aborting() {
            true => self.named(verdict::aborting(operation), participant),
            false => self.named(error, participant),
        }
    }

    fn named(&self, error: Error, participant: &str) -> Error {
        error
            .with_participant(participant)
            .with_transaction(self.id)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.asked || self.ended().is_some() {
            return;
        }
        let request = Request::Abort {
            transaction: self.id,
            reason: "dropped undecided".to_owned(),
        };
        // A refusal means that it has ended, or that the coordinator has.
        let _ = self.shared.engine().request(request);
    }
}
