//! An application's own producer in a transaction.

use std::fmt;
use std::sync::Arc;

use gtc_core::{ParticipantId, ProducerIdentity, Request, Reuse, TransactionId, VersionClass};
use tokio::sync::watch;

use crate::error::Error;
use crate::runtime::{BranchKey, Deliveries, Progress};
use crate::verdict;

/// An application's own producer, as a transaction takes it in.
#[derive(Clone, Debug)]
pub struct OwnProducer {
    pub(crate) transactional_id: Arc<str>,
    version_class: Option<VersionClass>,
    identity: Option<ProducerIdentity>,
}

impl OwnProducer {
    /// One with this transactional.id, that takes the newest version class that its cluster has by
    /// itself, as the Java client does from 4.0.
    #[must_use]
    pub fn new(transactional_id: impl Into<Arc<str>>) -> Self {
        Self {
            transactional_id: transactional_id.into(),
            version_class: None,
            identity: None,
        }
    }

    /// Sets the class that it speaks on its cluster: V1 for all that build on librdkafka.
    #[must_use]
    pub fn version_class(mut self, version_class: VersionClass) -> Self {
        self.version_class = Some(version_class);
        self
    }

    /// Sets the producer id and epoch that it has, where the client tells them: librdkafka does
    /// with its statistics. It is refused if its cluster has another producer under that id, whose
    /// records would be committed instead of these.
    #[must_use]
    pub fn identity(mut self, identity: ProducerIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    pub(crate) fn request(self, transaction: TransactionId, participant: ParticipantId) -> Request {
        let (transactional_id, producer) = (self.transactional_id, self.identity);
        match self.version_class {
            Some(version_class) => Request::EnlistOwn {
                transaction,
                participant,
                transactional_id,
                version_class,
                producer,
            },
            None => Request::EnlistOwnNewest {
                transaction,
                participant,
                transactional_id,
                producer,
            },
        }
    }
}

/// The branch of an own producer: tells gtc what became of its deliveries, which is its vote.
///
/// Count them, or state the result once; nothing said is a no. A flush proves nothing: some
/// clients return from it normally after a failed delivery.
///
/// - Counting: [`sent`](OwnBranch::sent) for each record handed to the producer, then
///   [`delivered`](OwnBranch::delivered) or [`failed`](OwnBranch::failed) from its callback.
/// - Stating: [`state_delivered`](OwnBranch::state_delivered) or
///   [`state_failed`](OwnBranch::state_failed) once all callbacks have run.
///
/// Only after the transaction's outcome may the producer call its own commit or abort, which is
/// then a harmless repeat. [`finished`](OwnBranch::finished) says whether it may go on.
#[derive(Clone)]
pub struct OwnBranch {
    id: TransactionId,
    key: BranchKey,
    deliveries: Arc<Deliveries>,
    progress: watch::Receiver<Progress>,
}

impl OwnBranch {
    pub(crate) fn new(
        (id, key): (TransactionId, BranchKey),
        deliveries: Arc<Deliveries>,
        progress: watch::Receiver<Progress>,
    ) -> Self {
        Self {
            id,
            key,
            deliveries,
            progress,
        }
    }

    /// A record was handed to the producer.
    pub fn sent(&self) {
        self.deliveries.update(|report| report.sent += 1);
    }

    /// A record was delivered.
    pub fn delivered(&self) {
        self.deliveries.update(|report| report.delivered += 1);
    }

    /// A record was delivered to this partition: better than [`delivered`](OwnBranch::delivered), as
    /// the vote then checks that the transaction at the broker has the partition. If it has not,
    /// these are the records of another producer than the one that was enlisted.
    pub fn delivered_to(&self, topic: &str, partition: i32) {
        self.deliveries.deliver_to(topic, partition);
    }

    /// A record was not delivered, or perhaps not.
    pub fn failed(&self, reason: impl fmt::Display) {
        let reason = reason.to_string();
        self.deliveries.update(|report| {
            report.failed += 1;
            report.detail.get_or_insert(reason);
        });
    }

    /// All that was written is delivered, without counting.
    pub fn state_delivered(&self) {
        self.deliveries
            .update(|report| report.stated_delivered = true);
    }

    /// Something that was written is not delivered, or perhaps not, without counting.
    pub fn state_failed(&self, reason: impl fmt::Display) {
        self.failed(reason);
    }

    /// Waits until the branch is ended. [`Reuse::Discard`]: close the producer and make a new
    /// one, as a request of the old may still be under way; enlisting it again is refused.
    ///
    /// # Errors
    /// In-doubt if the branch is not ended when the transaction is for its caller: treat the
    /// producer as one to discard, and settle its transactional.id before making a new one.
    pub async fn finished(&self) -> Result<Reuse, Error> {
        let mut progress = self.progress.clone();
        let told = progress
            .wait_for(|progress| {
                progress.outcome.is_some() || progress.released(&self.key).is_some()
            })
            .await;
        let reuse = told.ok().and_then(|progress| progress.released(&self.key));
        reuse.ok_or_else(|| {
            let why = "the own producer's branch is not ended yet";
            verdict::in_doubt("finish own branch", self.id, why)
        })
    }
}

impl fmt::Debug for OwnBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnBranch")
            .field("transaction", &self.id)
            .field("producer", &self.key)
            .finish_non_exhaustive()
    }
}
