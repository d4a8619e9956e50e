//! What an application's own producer tells about its deliveries: its vote rests on nothing else.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gtc_core::{ParticipantId, TransactionId, WriteReport};
use tokio::sync::Notify;

/// The counts of one own branch.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    told: Mutex<Told>,
    changed: Notify,
}

/// What an own producer told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) report: WriteReport,
    /// The partitions that it delivered to, of each topic, as far as they were told.
    partitions: HashMap<String, BTreeSet<i32>>,
}

impl Told {
    /// A partition that it delivered to and that is not among these, as `topic-number`.
    pub(crate) fn strayed(&self, partitions: &[String]) -> Option<String> {
        let told = self.partitions.iter();
        let mut told = told.flat_map(|(topic, numbers)| {
            let numbers = numbers.iter();
            numbers.map(move |number| format!("{topic}-{number}"))
        });
        told.find(|partition| !partitions.contains(partition))
    }
}

impl Deliveries {
    pub(crate) fn update(&self, change: impl FnOnce(&mut WriteReport)) {
        change(&mut self.lock().report);
        self.changed.notify_waiters();
    }

    /// A delivery to this partition.
    pub(crate) fn deliver_to(&self, topic: &str, partition: i32) {
        let mut told = self.lock();
        told.report.delivered += 1;
        match told.partitions.get_mut(topic) {
            Some(numbers) => drop(numbers.insert(partition)),
            None => {
                let numbers = BTreeSet::from([partition]);
                told.partitions.insert(topic.to_owned(), numbers);
            }
        }
        drop(told);
        self.changed.notify_waiters();
    }

    /// The counts once nothing counts as open any more, or as they stand after `timeout`: what is
    /// still open then makes the vote a no.
    pub(crate) async fn settled(&self, timeout: Duration) -> Told {
        let quiet = async {
            loop {
                let changed = self.changed.notified();
                let told = self.lock().clone();
                let report = &told.report;
                if report.delivered + report.failed >= report.sent {
                    return told;
                }
                changed.await;
            }
        };
        let settled = tokio::time::timeout(timeout, quiet).await;
        settled.unwrap_or_else(|_| self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        // Plain counters stay valid whatever a panicking thread did.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
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
        let open = deliveries.settled(Duration::from_millis(20)).await.report;
        assert_eq!((open.sent, open.delivered), (2, 1));

        deliveries.update(|report| report.failed = 1);
        let settled = deliveries.settled(Duration::ZERO).await.report;
        assert_eq!((settled.sent, settled.delivered, settled.failed), (2, 1, 1));
    }

    #[tokio::test]
    async fn names_a_partition_that_is_not_among_others() {
        let deliveries = Deliveries::default();
        let among = |partitions: &[&str]| {
            let partitions: Vec<String> = partitions.iter().map(ToString::to_string).collect();
            deliveries.lock().strayed(&partitions)
        };
        assert_eq!(among(&[]), None, "it told of none");
        for (topic, partition) in [("a", 1), ("a", 1), ("b", 0), ("a", 0)] {
            deliveries.deliver_to(topic, partition);
        }
        assert_eq!(deliveries.lock().report.delivered, 4);
        assert_eq!(among(&["c-0", "b-0", "a-1", "a-0"]), None);
        assert_eq!(among(&["b-0", "a-0", "c-1"]).as_deref(), Some("a-1"));
    }
}
