//! Transactions and the branches of own producers.

use gtc::facade::{self, reuse_name, version_class};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::{Answer, answer, done, read};
use crate::consumer::{Batch, Consumer};
use crate::convert::id_out;
use crate::record::{OutgoingRecords, Record};

/// A global transaction.
#[napi]
pub struct Transaction(pub(crate) facade::Transaction);

#[napi]
impl Transaction {
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> BigInt {
        id_out(self.0.id())
    }

    #[napi(catch_unwind)]
    pub fn send(&self, participant: String, record: Record<'_>) -> Answer<()> {
        done(self.0.send(participant, record.into()))
    }

    #[napi(catch_unwind)]
    pub fn send_many(&self, participant: String, records: OutgoingRecords<'_>) -> Answer<()> {
        done(self.0.send_many(participant, records.read()))
    }

    #[napi(catch_unwind)]
    pub fn send_offsets(&self, batch: &Batch) -> Answer<()> {
        done(self.0.send_offsets(&batch.0))
    }

    #[napi(catch_unwind)]
    pub fn send_offsets_of(&self, consumer: &Consumer) -> Answer<()> {
        done(self.0.send_offsets_of(&consumer.0))
    }

    #[napi(catch_unwind)]
    pub fn enlist(
        &self,
        participant: String,
        transactional_id: String,
        version_class: String,
    ) -> Answer<OwnBranch> {
        read(self::version_class(&version_class), |class| {
            answer(
                self.0.enlist(&participant, &transactional_id, class),
                OwnBranch,
            )
        })
    }

    /// The id.
    #[napi(catch_unwind)]
    pub fn commit(&self, at_decision: bool) -> Answer<BigInt> {
        let report = match at_decision {
            true => gtc::CommitReturn::Decided,
            false => gtc::CommitReturn::Acknowledged,
        };
        answer(self.0.commit_with(report), id_out)
    }

    #[napi(catch_unwind)]
    pub fn abort(&self, reason: String) -> Answer<()> {
        done(self.0.abort(reason))
    }

    #[napi(catch_unwind)]
    pub fn close(&self) -> Answer<()> {
        done(self.0.close())
    }
}

/// The branch of an own producer.
#[napi]
pub struct OwnBranch(facade::OwnBranch);

#[napi]
impl OwnBranch {
    #[napi(catch_unwind)]
    pub fn sent(&self) {
        self.0.sent();
    }

    #[napi(catch_unwind)]
    pub fn delivered(&self) {
        self.0.delivered();
    }

    #[napi(catch_unwind)]
    pub fn delivered_to(&self, topic: String, partition: i32) {
        self.0.delivered_to(&topic, partition);
    }

    #[napi(catch_unwind)]
    pub fn failed(&self, reason: String) {
        self.0.failed(reason);
    }

    #[napi(catch_unwind)]
    pub fn state_delivered(&self) {
        self.0.state_delivered();
    }

    #[napi(catch_unwind)]
    pub fn state_failed(&self, reason: String) {
        self.0.state_failed(reason);
    }

    /// `reuse` or `discard`.
    #[napi(catch_unwind)]
    pub fn finished(&self) -> Answer<&'static str> {
        answer(self.0.finished(), reuse_name)
    }
}
