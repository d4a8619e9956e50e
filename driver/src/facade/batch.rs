//! Batches, as the callers of the façade hold them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::consumer;
use super::verbs::meaning;
use crate::kafka::consumer::Batch as DriverBatch;
use crate::kafka::record::{ConsumedRecord, PartitionOffset};

/// Records, and the offsets after them. The records stay where they are for as long as a handle
/// is held: a binding can hand out views of them.
///
/// A batch is done when the transaction that its offsets were sent into has committed. If it
/// aborts, or the next batch is asked for before the offsets were sent, the records are read again.
#[derive(Clone)]
pub struct Batch {
    shared: Arc<Shared>,
}

struct Shared {
    records: Vec<ConsumedRecord>,
    positions: Vec<PartitionOffset>,
    consumer: Weak<consumer::Shared>,
    /// Until it is claimed by a transaction, or by the consumer that reads it again.
    unclaimed: Mutex<Option<DriverBatch>>,
}

impl Batch {
    pub(super) fn new(mut batch: DriverBatch, consumer: Weak<consumer::Shared>) -> Self {
        let shared = Shared {
            records: std::mem::take(&mut batch.records),
            positions: batch.offsets().positions().to_vec(),
            consumer,
            unclaimed: Mutex::new(Some(batch)),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The records; within a partition in their order. There may be none: transaction markers and
    /// aborted records move offsets too.
    #[must_use]
    pub fn records(&self) -> &[ConsumedRecord] {
        &self.shared.records
    }

    #[doc = meaning!(batch positions)]
    #[must_use]
    pub fn positions(&self) -> &[PartitionOffset] {
        &self.shared.positions
    }

    #[doc = meaning!(batch is_stale)]
    /// False once the offsets are sent.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let unclaimed = self.shared.unclaimed.lock();
        let unclaimed = unclaimed.unwrap_or_else(PoisonError::into_inner);
        unclaimed.as_ref().is_some_and(DriverBatch::is_stale)
    }

    pub(super) fn consumer(&self) -> &Weak<consumer::Shared> {
        &self.shared.consumer
    }

    /// The batch itself, for the first who asks.
    pub(super) fn claim(&self) -> Option<DriverBatch> {
        let unclaimed = self.shared.unclaimed.lock();
        unclaimed.unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("records", &self.records().len())
            .field("positions", &self.positions())
            .finish_non_exhaustive()
    }
}
