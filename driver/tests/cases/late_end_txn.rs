//! R3: a late EndTxn of a slot touches no transaction but its own.
//!
//! The first EndTxn of a slot is withheld. librdkafka gives it up after its time-out and repeats
//! it on another connection, unseen: the repeat is answered, and the commit looks like any other.
//! Then the slot is wanted again, and while the next transaction is open the first EndTxn arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gtc::{Coordinator, Decision, Transaction};
use gtc_clusters::{HeldFrame, Verdict};
use gtc_core::BrokerState;

use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{END_TXN, Fault, World, control, wait_until_open, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_late_end_touches_no_other_transaction() -> Result {
    let world = world().await?;
    world.topic("late").await?;
    let setup =
        Setup::new("late", world)
            .setting("slots = 1")
            .property("us", "socket.timeout.ms", "3000");
    let coordinator = setup.open().await?;
    let mut expected = Vec::new();
    for (first, second) in [
        (Decision::Commit, Decision::Abort),
        (Decision::Commit, Decision::Commit),
        (Decision::Abort, Decision::Commit),
    ] {
        let value = |part: &str| format!("{part} {first:?} {second:?}");
        let (name, late) =
            end_with_late_request(world, &coordinator, (&value("first"), first)).await?;
        let transaction = write(&coordinator, &value("second")).await?;
        wait_until_open(&world.us, "late", 1).await?;
        // Without R3 this ends the second transaction on us.
        late.release(PATIENCE)?;
        let next_name = us_name(&coordinator, &transaction)?;
        let found = control(&world.us)?.describe_transaction(&next_name).await?;
        let state = found.map(|found| found.state);
        assert_eq!(state, Some(BrokerState::Ongoing), "{first:?}, {second:?}");
        assert_ne!(name, next_name, "the slot was not retired");
        end(transaction, second).await?;

        for (part, decision) in [("first", first), ("second", second)] {
            if decision == Decision::Commit {
                expected.push(value(part));
            }
        }
        for cluster in world.clusters() {
            assert_eq!(
                committed(cluster, "late").await?,
                expected,
                "{}",
                cluster.name()
            );
        }
    }
    assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
    Ok(coordinator.close().await?)
}

/// A transaction that ends as decided while its slot's first EndTxn on us is on its way.
async fn end_with_late_request(
    world: &World,
    coordinator: &Coordinator,
    (value, decision): (&str, Decision),
) -> Result<(Arc<str>, HeldFrame)> {
    let is_held = AtomicBool::new(false);
    let _fault = Fault::new(Verdict::Hold, move |frame| {
        frame.api_key == END_TXN
            && frame.mentions("gtc.late.")
            && !is_held.swap(true, Ordering::SeqCst)
    });
    let transaction = write(coordinator, value).await?;
    let name = us_name(coordinator, &transaction)?;
    // An abort before that would have nothing to end.
    wait_until_open(&world.us, "late", 1).await?;
    end(transaction, decision).await?;
    let held = world.proxy.await_held(PATIENCE).ok_or("no EndTxn came")?;
    assert!(held.header().mentions(&name));
    Ok((name, held))
}

async fn write(coordinator: &Coordinator, value: &str) -> Result<Transaction> {
    let transaction = coordinator.begin()?;
    for participant in ["eu", "us"] {
        transaction.send(participant, record("late", value)).await?;
    }
    Ok(transaction)
}

async fn end(transaction: Transaction, decision: Decision) -> Result {
    match decision {
        Decision::Commit => transaction.commit().await.map(drop)?,
        Decision::Abort => transaction.abort("a test").await?,
    }
    Ok(())
}

/// The transactional.id by which a transaction writes to us.
fn us_name(coordinator: &Coordinator, transaction: &Transaction) -> Result<Arc<str>> {
    let view = coordinator.describe(transaction.id()).ok_or("it is live")?;
    let branch = view
        .branches
        .into_iter()
        .find(|branch| branch.participant == "us");
    let name = branch.and_then(|branch| branch.transactional_id);
    Ok(name.ok_or("us has no slot")?)
}
