//! What a broker transaction coordinator holds of one transactional.id, and how requests change it.
//!
//! The tables are those of Kafka's transaction coordinator; `tests/truth.rs` holds them against brokers.

use gtc_core::{BrokerState, Decision, ProducerIdentity, TransactionDescription};

use super::call::{Tag, code};

/// The last epoch that a client is given: above it the producer id rolls over.
pub const LAST_EPOCH: i16 = i16::MAX - 1;

/// One transactional.id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The producer that holds it.
    pub producer: ProducerIdentity,
    /// The producer before a roll-over by EndTxn v5.
    previous_id: i64,
    /// Where it stands.
    pub state: BrokerState,
    /// The start time that it shows, by the broker's clock; -1 if none.
    pub start_ms: i64,
    /// Its transaction time-out.
    pub timeout_ms: i32,
    /// When something last changed, on the world's clock.
    pub touched_us: u64,
    /// The data partition is in the open transaction.
    pub has_partition: bool,
    /// What the open, or the last, transaction was opened for.
    pub open: Option<Tag>,
    /// The producer id whose records the next markers end.
    pub ends_id: i64,
}

/// What an accepted request does to the open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// It ends.
    Ends(Decision),
    /// One begins.
    Begins,
    /// One that nobody began is aborted.
    EndsEmpty,
}

/// The producer after an accepted request, or its error code.
pub type Verdict = Result<(ProducerIdentity, Effect), i16>;

impl Entry {
    /// A transactional.id that is initialised for the first time.
    pub fn new(producer: ProducerIdentity, timeout_ms: i32) -> Self {
        Self {
            producer,
            previous_id: -1,
            state: BrokerState::Empty,
            start_ms: -1,
            timeout_ms,
            touched_us: 0,
            has_partition: false,
            open: None,
            ends_id: -1,
        }
    }

    /// Markers are being written.
    pub fn is_ending(&self) -> bool {
        matches!(
            self.state,
            BrokerState::PrepareCommit | BrokerState::PrepareAbort | BrokerState::PrepareEpochFence
        )
    }

    /// InitProducerId without an expected producer; `fresh_id` is for a roll-over.
    pub fn init(&mut self, timeout_ms: i32, fresh_id: i64) -> Verdict {
        if self.is_ending() {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        if self.state == BrokerState::Ongoing {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        if self.producer.epoch >= LAST_EPOCH {
            self.producer = ProducerIdentity {
                producer_id: fresh_id,
                epoch: 0,
            };
        } else {
            self.producer.epoch += 1;
        }
        self.state = BrokerState::Empty;
        self.timeout_ms = timeout_ms;
        self.open = None;
        Ok((self.producer, Effect::None))
    }

    /// The broker aborts what is open and fences its producer: InitProducerId met it, or it expired.
    pub fn fence(&mut self) {
        self.ends_id = self.producer.producer_id;
        self.producer.epoch = self.producer.epoch.saturating_add(1);
        self.state = BrokerState::PrepareAbort;
    }

    /// AddPartitionsToTxn and its like.
    pub fn join(&mut self, producer: ProducerIdentity) -> Verdict {
        if self.producer.producer_id != producer.producer_id {
            return Err(code::INVALID_PRODUCER_ID_MAPPING);
        }
        if self.producer.epoch != producer.epoch {
            return Err(code::PRODUCER_FENCED);
        }
        if self.is_ending() {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        if self.state == BrokerState::Ongoing {
            return Ok((producer, Effect::None));
        }
        self.state = BrokerState::Ongoing;
        self.has_partition = false;
        Ok((producer, Effect::Begins))
    }

    /// EndTxn up to version 4.
    pub fn end_v1(&mut self, producer: ProducerIdentity, decision: Decision) -> Verdict {
        if self.producer.producer_id != producer.producer_id {
            return Err(code::INVALID_PRODUCER_ID_MAPPING);
        }
        if self.producer.epoch != producer.epoch {
            return Err(code::PRODUCER_FENCED);
        }
        if self.is_ending() {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        let done = Ok((producer, Effect::None));
        match (self.state, decision) {
            (BrokerState::Ongoing, _) => {
                self.begin_end(decision);
                Ok((producer, Effect::Ends(decision)))
            }
            (BrokerState::CompleteCommit, Decision::Commit)
            | (BrokerState::CompleteAbort, Decision::Abort) => done,
            _ => Err(code::INVALID_TXN_STATE),
        }
    }

    /// EndTxn version 5; `fresh_id` is for a roll-over.
    pub fn end_v2(
        &mut self,
        producer: ProducerIdentity,
        decision: Decision,
        fresh_id: i64,
    ) -> Verdict {
        let current = self.producer;
        let bumped = producer.epoch.checked_add(1) == Some(current.epoch)
            && producer.producer_id == current.producer_id;
        let rolled = self.previous_id == producer.producer_id
            && producer.epoch == LAST_EPOCH
            && current.epoch == 0;
        if current.producer_id != producer.producer_id && !rolled {
            return Err(code::INVALID_PRODUCER_ID_MAPPING);
        }
        let same = current == producer;
        let valid = match self.state {
            BrokerState::PrepareCommit | BrokerState::PrepareAbort => bumped || rolled,
            BrokerState::CompleteCommit | BrokerState::CompleteAbort => bumped || rolled || same,
            _ => same,
        };
        if !valid {
            return Err(code::PRODUCER_FENCED);
        }
        if self.is_ending() {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        self.end_settled(decision, bumped || rolled, fresh_id)
    }

    fn end_settled(&mut self, decision: Decision, repeat: bool, fresh_id: i64) -> Verdict {
        let repeated = Ok((self.producer, Effect::None));
        match (self.state, decision) {
            (BrokerState::Ongoing, _) => {
                self.begin_end(decision);
                self.move_epoch(fresh_id);
                Ok((self.producer, Effect::Ends(decision)))
            }
            (BrokerState::CompleteCommit, Decision::Commit)
            | (BrokerState::CompleteAbort, Decision::Abort)
                if repeat =>
            {
                repeated
            }
            // An abort of what was never begun: the epoch moves, and nothing else happens.
            (BrokerState::Empty | BrokerState::CompleteCommit, Decision::Abort)
            | (BrokerState::CompleteAbort, Decision::Abort)
                if !repeat =>
            {
                self.begin_end(decision);
                self.open = None;
                self.move_epoch(fresh_id);
                Ok((self.producer, Effect::EndsEmpty))
            }
            _ => Err(code::INVALID_TXN_STATE),
        }
    }

    fn begin_end(&mut self, decision: Decision) {
        self.ends_id = self.producer.producer_id;
        self.state = match decision {
            Decision::Commit => BrokerState::PrepareCommit,
            Decision::Abort => BrokerState::PrepareAbort,
        };
    }

    fn move_epoch(&mut self, fresh_id: i64) {
        if self.producer.epoch >= LAST_EPOCH {
            self.previous_id = self.producer.producer_id;
            self.producer = ProducerIdentity {
                producer_id: fresh_id,
                epoch: 0,
            };
        } else {
            self.producer.epoch += 1;
        }
    }

    /// The markers are written; whether they were those of a commit.
    pub fn complete(&mut self) -> bool {
        let committed = self.state == BrokerState::PrepareCommit;
        self.state = if committed {
            BrokerState::CompleteCommit
        } else {
            BrokerState::CompleteAbort
        };
        committed
    }

    /// As DescribeTransactions shows it.
    pub fn description(&self) -> TransactionDescription {
        TransactionDescription {
            state: self.state,
            producer: self.producer,
            start_time_ms: self.start_ms,
            timeout_ms: self.timeout_ms,
        }
    }
}
