//! The boundary to what takes part in a transaction: one verb an action of the core.
//!
//! An implementation does what it is asked and tells what it saw. It judges nothing: whether an
//! answer proves a commit, whether a slot may be used again, and what is tried next is decided
//! by the core.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gtc_core::{
    BranchIdentity, ConnectReport, Decision, EndAnswer, Inquiry, Listing, PrepareReport,
    ProducerIdentity, SlotCondition, SlotFailure, SlotId, TransactionId,
};

use crate::arguments::Flaw;
use crate::error::Error;
use crate::kafka::consumer::GroupOffsets;
use crate::kafka::record::OutgoingRecord;

/// The future of an answer.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A slot that was opened: who its producer is, and whether it was initialised at first attempt.
pub(crate) type OpenedSlot = (ProducerIdentity, SlotCondition);

/// A branch's preparation: the evidence for the vote, and beside it what a caller should know.
pub(crate) struct Prepared {
    pub(crate) report: PrepareReport,
    /// What was refused in a way that another attempt would meet again.
    pub(crate) never_accepted: Option<Flaw>,
}

impl From<PrepareReport> for Prepared {
    fn from(report: PrepareReport) -> Self {
        Self {
            report,
            never_accepted: None,
        }
    }
}

/// One participant. Every call is one attempt, ends in bounded time, and may run at the same time
/// as any other; the core never asks for two things of one slot at once.
pub(crate) trait Participant: Send + Sync + 'static {
    /// Reaches the cluster and learns who it is; the error is for people.
    fn connect(&self) -> Answer<'_, Result<ConnectReport, String>>;

    /// Asks whether the cluster answers within `patience`, as cheaply as it can; the error is for
    /// people.
    fn reach(&self, patience: Duration) -> Answer<'_, Result<(), String>>;

    /// Makes a writer under a new name, and initialises it.
    fn open_slot(
        &self,
        slot: SlotId,
        transactional_id: Arc<str>,
        timeout_ms: i32,
    ) -> Answer<'_, Result<OpenedSlot, SlotFailure>>;

    /// Finds out whether every request of the slot's last transaction was answered (R3).
    fn verify_slot(&self, slot: SlotId) -> Answer<'_, SlotCondition>;

    /// Throws the slot's writer away.
    fn close_slot(&self, slot: SlotId) -> Answer<'_, ()>;

    /// The slot belongs to `transaction` from now on, and to no other.
    fn lease(&self, slot: SlotId, transaction: TransactionId);

    /// Hands a record to the slot's writer; waits while its queue is full, not for the delivery.
    fn send(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        record: OutgoingRecord,
    ) -> Answer<'_, Result<(), Error>>;

    /// Sends a consumer group's offsets into the slot's transaction.
    fn send_offsets(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        offsets: GroupOffsets,
    ) -> Answer<'_, Result<(), Error>>;

    /// Accepts no more writes, waits until nothing is in flight, and asks the cluster what it has.
    fn prepare(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        transactional_id: Arc<str>,
    ) -> Answer<'_, Prepared>;

    /// Ends the slot's transaction by its writer's own call.
    fn end_by_writer(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        decision: Decision,
    ) -> Answer<'_, EndAnswer>;

    /// Ends a branch, whoever wrote it.
    fn end_transaction(&self, branch: BranchIdentity, decision: Decision) -> Answer<'_, EndAnswer>;

    /// Asks for the state of a transactional.id.
    fn inquire(&self, transactional_id: Arc<str>) -> Answer<'_, Inquiry>;

    /// As [`inquire`](Participant::inquire), with the partitions that the transaction has written to, as
    /// `topic-number`: those that may be described.
    fn inquire_extent(&self, transactional_id: Arc<str>) -> Answer<'_, (Inquiry, Vec<String>)>;

    /// Aborts what is open under an orphaned name, and fences its writer.
    fn fence(&self, transactional_id: Arc<str>, timeout_ms: i32) -> Answer<'_, EndAnswer>;

    /// Lists all transactions whose name begins with `prefix`.
    fn list(&self, prefix: String) -> Answer<'_, Listing>;

    /// Gives up every writer and connection; the coordinator asks for nothing more.
    fn close(&self) -> Answer<'_, ()>;
}
