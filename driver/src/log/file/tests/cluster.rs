//! A cluster that never fails and answers everything at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    BrokerState, Decision, Inquiry, ListedTransaction, Listing, ProducerIdentity, SlotId,
    TransactionDescription, TransactionId,
};

/// So long that no branch expires in a history.
pub(super) const TIMEOUT_MS: i32 = 900_000_000;

/// What a transactional.id is for its cluster.
#[derive(Clone, Debug)]
struct Id {
    producer: ProducerIdentity,
    state: BrokerState,
    start_ms: i64,
    transaction: Option<TransactionId>,
}

/// A cluster that answers everything at once.
#[derive(Default)]
pub(super) struct Cluster {
    ids: BTreeMap<Arc<str>, Id>,
    pub(super) fates: BTreeMap<TransactionId, BrokerState>,
    pub(super) slots: BTreeMap<SlotId, Arc<str>>,
}

impl Cluster {
    pub(super) fn init(&mut self, name: &Arc<str>) -> ProducerIdentity {
        self.end(name, Decision::Abort);
        let next = self.ids.len() as i64;
        let id = self.ids.entry(name.clone()).or_insert(Id {
            producer: ProducerIdentity {
                producer_id: next,
                epoch: -1,
            },
            state: BrokerState::Empty,
            start_ms: -1,
            transaction: None,
        });
        id.producer.epoch += 1;
        (id.state, id.start_ms) = (BrokerState::Empty, -1);
        id.producer
    }

    pub(super) fn write(&mut self, slot: SlotId, transaction: TransactionId, start_ms: i64) {
        let id = self.ids.get_mut(&self.slots[&slot]).unwrap();
        (id.state, id.start_ms) = (BrokerState::Ongoing, start_ms);
        id.transaction = Some(transaction);
        self.fates.insert(transaction, BrokerState::Ongoing);
    }

    /// EndTxn; whether it is accepted.
    pub(super) fn end(&mut self, name: &str, decision: Decision) -> bool {
        let ended = match decision {
            Decision::Commit => BrokerState::CompleteCommit,
            Decision::Abort => BrokerState::CompleteAbort,
        };
        let Some(id) = self.ids.get_mut(name) else {
            return false;
        };
        if id.state == BrokerState::Ongoing {
            id.state = ended;
            self.fates
                .extend(id.transaction.map(|transaction| (transaction, ended)));
        }
        id.state == ended
    }

    pub(super) fn describe(&self, name: &str) -> Inquiry {
        let described = |id: &Id| {
            Inquiry::Described(TransactionDescription {
                state: id.state,
                producer: id.producer,
                start_time_ms: id.start_ms,
                timeout_ms: TIMEOUT_MS,
            })
        };
        self.ids.get(name).map_or(Inquiry::NotFound, described)
    }

    pub(super) fn list(&self) -> Listing {
        let listed = |(name, id): (&Arc<str>, &Id)| ListedTransaction {
            transactional_id: name.clone(),
            producer_id: id.producer.producer_id,
            state: id.state,
        };
        Listing {
            transactions: self.ids.iter().map(listed).collect(),
            complete: true,
            detail: None,
        }
    }
}
