//! What an application's own producer tells about its deliveries: its vote rests on nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gtc_core::{ParticipantId, TransactionId, WriteReport};
use tokio::sync::Notify;

/// The counts of one own branch.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    report: Mutex<WriteReport>,
    changed: Notify,
}

impl Deliveries {
    pub(crate) fn update(&self, change: impl FnOnce(&mut WriteReport)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// The counts once nothing counts as open any more, or as they stand after `timeout`: what is
    /// still open then makes the vote a no.
    pub(crate) async fn settled(&self, timeout: Duration) -> WriteReport {
        let quiet = async {
            loop {
                let changed = self.changed.notified();
                let report = self.lock().clone();
                if report.delivered + report.failed >= report.sent {
                    return report;
                }
                changed.await;
            }
        };
        let settled = tokio::time::timeout(timeout, quiet).await;
        settled.unwrap_or_else(|_| self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, WriteReport> {
        // Plain counters stay valid whatever a panicking thread did.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An own branch: its transaction, its participant and the producer's transactional.id.
type BranchKey = (TransactionId, ParticipantId, Arc<str>);

/// The own branches of the transactions under way.
#[derive(Debug, Default)]
pub(crate) struct OwnBranches {
    open: Mutex<HashMap<BranchKey, Arc<Deliveries>>>,
}

impl OwnBranches {
    /// The counts of a branch, begun if they are new.
    pub(crate) fn open(
        &self,
        transaction: TransactionId,
        participant: ParticipantId,
        transactional_id: Arc<str>,
    ) -> Arc<Deliveries> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry((transaction, participant, transactional_id))
            .or_default()
            .clone()
    }

    /// Drops the counts of a transaction that has ended for its caller.
    pub(crate) fn end(&self, transaction: TransactionId) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(owner, ..), _| *owner != transaction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_what_is_open_and_then_reports_it_as_it_is() {
        let deliveries = Deliveries::default();
        deliveries.update(|report| report.sent = 2);
        deliveries.update(|report| report.delivered = 1);
        let open = deliveries.settled(Duration::from_millis(20)).await;
        assert_eq!((open.sent, open.delivered), (2, 1));

        deliveries.update(|report| report.failed = 1);
        let settled = deliveries.settled(Duration::ZERO).await;
        assert_eq!((settled.sent, settled.delivered, settled.failed), (2, 1, 1));
    }
}
