//! Requests to a cluster and the answers to them.

use std::sync::Arc;

use gtc_core::{Decision, ProducerIdentity, TransactionId, VersionClass};

/// What a broker transaction was opened for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The global transaction.
    pub transaction: TransactionId,
    /// The participant's index.
    pub participant: usize,
    /// The transactional.id.
    pub name: Arc<str>,
    /// Opened by a request that arrived after its branch was over: must never commit.
    pub stray: bool,
}

/// What became of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Nobody has ended it.
    Open,
    /// Its commit was accepted.
    Committed,
    /// Its abort was accepted, or it expired.
    Aborted,
}

/// A request that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// InitProducerId.
    Init {
        /// The transactional.id.
        id: Arc<str>,
        /// `transaction.timeout.ms`.
        timeout_ms: i32,
    },
    /// EndTxn.
    End {
        /// The transactional.id.
        id: Arc<str>,
        /// The producer whose transaction it is.
        producer: ProducerIdentity,
        /// The version of the request on the wire: 1 by librdkafka, 4 and 5 by the control client.
        version: i16,
        /// Commit or abort.
        decision: Decision,
        /// The transaction that its sender means.
        intent: Option<Tag>,
    },
    /// AddPartitionsToTxn, of a v1 client.
    Add {
        /// The transactional.id.
        id: Arc<str>,
        /// The producer.
        producer: ProducerIdentity,
        /// The transaction that its sender means.
        tag: Tag,
    },
    /// Produce, of one record.
    Write {
        /// The transactional.id.
        id: Arc<str>,
        /// The producer.
        producer: ProducerIdentity,
        /// A v2 client's joins the partition by itself.
        class: VersionClass,
        /// The transaction that its sender means.
        tag: Tag,
        /// The number of the record, for whoever judges.
        number: u64,
    },
    /// TxnOffsetCommit, and for a v1 client AddOffsetsToTxn before it.
    Offsets {
        /// The transactional.id.
        id: Arc<str>,
        /// The producer.
        producer: ProducerIdentity,
        /// The version class of the client.
        class: VersionClass,
        /// The transaction that its sender means.
        tag: Tag,
        /// The generation of the consumer group that the offset was read under.
        generation: i32,
        /// The offset.
        offset: u64,
    },
}

impl Call {
    /// The transactional.id that it is about.
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Init { id, .. }
            | Self::End { id, .. }
            | Self::Add { id, .. }
            | Self::Write { id, .. }
            | Self::Offsets { id, .. } => id,
        }
    }

    /// The transaction that its sender means.
    pub fn intent(&self) -> Option<&Tag> {
        match self {
            Self::End { intent, .. } => intent.as_ref(),
            Self::Add { tag, .. } | Self::Write { tag, .. } | Self::Offsets { tag, .. } => {
                Some(tag)
            }
            Self::Init { .. } => None,
        }
    }
}

/// The answer to a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Error code 0, and the producer to go on with.
    Done(ProducerIdentity),
    /// A Kafka error code.
    Code(i16),
}

/// Kafka's error codes, as far as the model answers with them.
pub mod code {
    /// NOT_COORDINATOR.
    pub const NOT_COORDINATOR: i16 = 16;
    /// NOT_ENOUGH_REPLICAS.
    pub const NOT_ENOUGH_REPLICAS: i16 = 19;
    /// ILLEGAL_GENERATION.
    pub const ILLEGAL_GENERATION: i16 = 22;
    /// UNKNOWN_MEMBER_ID.
    pub const UNKNOWN_MEMBER_ID: i16 = 25;
    /// OUT_OF_ORDER_SEQUENCE_NUMBER.
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
    /// INVALID_PRODUCER_EPOCH.
    pub const INVALID_PRODUCER_EPOCH: i16 = 47;
    /// INVALID_TXN_STATE.
    pub const INVALID_TXN_STATE: i16 = 48;
    /// INVALID_PRODUCER_ID_MAPPING.
    pub const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
    /// INVALID_TRANSACTION_TIMEOUT.
    pub const INVALID_TRANSACTION_TIMEOUT: i16 = 50;
    /// CONCURRENT_TRANSACTIONS.
    pub const CONCURRENT_TRANSACTIONS: i16 = 51;
    /// TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
    pub const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
    /// PRODUCER_FENCED.
    pub const PRODUCER_FENCED: i16 = 90;
    /// TRANSACTION_ABORTABLE.
    pub const TRANSACTION_ABORTABLE: i16 = 120;
}

/// The version of EndTxn that the control client sends for a version class.
pub const fn control_version(class: VersionClass) -> i16 {
    match class {
        VersionClass::V1 => 4,
        VersionClass::V2 => 5,
    }
}

/// The version of EndTxn that a producer of this class sends.
pub const fn writer_version(class: VersionClass) -> i16 {
    match class {
        VersionClass::V1 => 1,
        VersionClass::V2 => 5,
    }
}
