//! What became of transactions of which nothing final was told.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gtc::views::TransactionInfo;
use gtc::{KnownOutcome, TransactionState};

use crate::journal::{Branch, Line};
use crate::own;
use crate::{Failure, World};

/// How long recovery may take once all clusters are well.
const PATIENCE: Duration = Duration::from_secs(150);
const AGAIN: Duration = Duration::from_millis(200);

/// Transactions to ask about.
#[derive(Default)]
pub(crate) struct Doubts(Mutex<Vec<String>>);

impl Doubts {
    /// More of them.
    pub(crate) fn add(&self, more: impl IntoIterator<Item = String>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend(more);
    }

    /// Whether this one has no answer yet.
    pub(crate) fn has(&self, tx: &str) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().any(|name| name == tx)
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Asks about all, writes down each final answer and keeps the others.
    pub(crate) fn ask(&self, world: &World) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|tx| {
            let found = world.coordinator.outcome_by_key(&world.setup.key(tx));
            let what = match found {
                Some((_, KnownOutcome::Committed)) => "committed",
                Some((_, KnownOutcome::Aborted)) => "aborted",
                Some((_, KnownOutcome::Mixed)) => "mixed",
                // A keyed transaction is never committed without a record.
                Some((_, KnownOutcome::Unknown)) | None => "no-record",
                Some(_) => return true,
            };
            world.journal.write(&Line::Resolved { tx, what });
            false
        });
    }
}

/// Writes down how a heuristic outcome is described.
pub(crate) fn describe(world: &World, tx: &str, info: &TransactionInfo) {
    let branch = |branch: &gtc::views::BranchInfo| Branch {
        cluster: branch.participant.clone(),
        state: branch.state.clone(),
        detail: branch.detail.clone().unwrap_or_default(),
    };
    world.journal.write(&Line::Mixed {
        tx,
        id: &info.id,
        decision: info.decision.as_deref().unwrap_or_default(),
        branches: info.branches.iter().map(branch).collect(),
    });
}

/// Ends what earlier lives left open, and writes down what is listed then.
pub(crate) async fn finish(world: &World) -> Result<(), Failure> {
    let settled = async {
        for own in &world.setup.own {
            own::settle(world, own).await?;
        }
        world.coordinator.recovered().await?;
        while world.doubts.count() > 0 {
            tokio::time::sleep(AGAIN).await;
        }
        Ok::<(), Failure>(())
    };
    let in_time = tokio::time::timeout(PATIENCE, settled).await;
    for view in world.coordinator.list() {
        let info = TransactionInfo::from(&view);
        let tx = info.key.as_deref().unwrap_or(&info.id);
        let tx = tx.trim_end_matches('.');
        if view.state == TransactionState::Mixed {
            describe(world, tx, &info);
            world.coordinator.forget(view.id)?;
        } else {
            let state = format!("{} {:?}", info.state, info.branches);
            world.journal.write(&Line::Left { tx, state: &state });
        }
    }
    for branch in world.coordinator.foreign() {
        let state = format!("foreign on {}", branch.participant);
        let tx = branch.transactional_id.as_ref();
        world.journal.write(&Line::Left { tx, state: &state });
    }
    in_time.map_err(|_| "recovery has not come to its end")??;
    world.coordinator.close().await?;
    world.journal.write(&Line::Finished);
    Ok(())
}
