//! One batch in one global transaction.

use std::time::{Duration, Instant};

use gtc::{Batch, Coordinator, Error, ErrorKind, Retry, Transaction, TransactionId};

use super::reporter::Counts;
use super::route::{Route, size_bytes};

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is everywhere, and the group has moved; so long took the commit.
    Committed(Duration),
    /// Nothing of it is anywhere: read it again.
    Aborted(Error),
    /// The transaction may have committed.
    InDoubt(TransactionId, Error),
    /// A branch of it ended otherwise than decided, or may have.
    Mixed(TransactionId, Error),
    /// Trying again cannot help.
    Fatal(Error),
}

/// Writes a batch to its targets, and its offsets to the source's group.
pub(crate) async fn write(
    transaction: &Transaction,
    route: &Route,
    batch: &Batch,
) -> Result<Counts, Error> {
    let mut counts = Counts::default();
    for record in &batch.records {
        counts.records += 1;
        counts.bytes += size_bytes(record) as u64;
        let targets = route.targets(record);
        counts.filtered += (route.width() - targets.len()) as u64;
        let Some((last, others)) = targets.split_last() else {
            continue;
        };
        let outgoing = route.outgoing(record.clone());
        for target in others {
            transaction.send(target, outgoing.clone()).await?;
        }
        transaction.send(last, outgoing).await?;
    }
    transaction
        .send_offsets_to(batch.offsets().participant(), batch.offsets())
        .await?;
    Ok(counts)
}

/// Commits what was written.
pub(crate) async fn commit(transaction: Transaction) -> Verdict {
    let id = transaction.id();
    let begun = Instant::now();
    match transaction.commit().await {
        Ok(_) => Verdict::Committed(begun.elapsed()),
        Err(error) => judge(id, error),
    }
}

/// Aborts a transaction because of an error before its commit, which is the one worth telling.
pub(crate) async fn abort(transaction: Transaction, cause: Error) -> Verdict {
    let id = transaction.id();
    match transaction.abort(cause.problem()).await {
        // Nothing was decided, so that it can only end as aborted: now, or by the next start.
        Err(error) if error.kind() == ErrorKind::Heuristic => Verdict::Mixed(id, error),
        _ => judge(id, cause),
    }
}

fn judge(id: TransactionId, error: Error) -> Verdict {
    match error.kind() {
        ErrorKind::InDoubt => Verdict::InDoubt(id, error),
        ErrorKind::Heuristic => Verdict::Mixed(id, error),
        // The call came too late, as the transaction had ended: the next one has its own state.
        ErrorKind::InvalidState => Verdict::Aborted(error),
        ErrorKind::Aborted | ErrorKind::Timeout | ErrorKind::Unavailable
            if error.retry() != Retry::Never =>
        {
            Verdict::Aborted(error)
        }
        _ => Verdict::Fatal(error),
    }
}

/// Begins the transaction of a batch.
pub(crate) fn begin(coordinator: &Coordinator) -> Result<Transaction, Verdict> {
    coordinator.begin().map_err(|error| match error.retry() {
        Retry::Later => Verdict::Aborted(error),
        Retry::Never | Retry::AfterResolve => Verdict::Fatal(error),
    })
}
