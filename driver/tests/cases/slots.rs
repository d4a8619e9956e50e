//! Cases of the pool's producers and their names.

use std::time::Duration;

use gtc::{Coordinator, ErrorKind, KnownOutcome, Transaction};
use gtc_core::EndAnswer;

use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{Fault, US_CEILING_MS, control, names, world};

const NOTHING: [&str; 0] = [];

async fn write_both(coordinator: &Coordinator, topic: &str, value: &str) -> Result<Transaction> {
    let transaction = coordinator.begin()?;
    for participant in ["eu", "us"] {
        transaction.send(participant, record(topic, value)).await?;
    }
    Ok(transaction)
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_transaction() -> Result {
    let world = world().await?;
    world.topic("empty").await?;
    let setup = Setup::new("empty", world).setting("slots = 1");
    let coordinator = setup.open().await?;
    let first = write_both(&coordinator, "empty", "first").await?;
    first.commit().await?;
    let mut before = Vec::new();
    for cluster in world.clusters() {
        before.push(names(cluster, "empty").await?);
    }

    // Nobody takes part; both do and nothing is written; one writes.
    coordinator.begin()?.commit().await?;
    for is_committed in [true, false] {
        let empty = coordinator.begin()?;
        empty.lease("eu").await?;
        empty.lease("us").await?;
        match is_committed {
            true => empty.commit().await.map(drop)?,
            false => empty.abort("a test").await?,
        }
    }
    let half = coordinator.begin()?;
    half.lease("eu").await?;
    half.send("us", record("empty", "half")).await?;
    half.commit().await?;

    let last = write_both(&coordinator, "empty", "last").await?;
    last.commit().await?;
    // With one slot each, a name more would be a producer that was thrown away.
    for (cluster, before) in world.clusters().into_iter().zip(before) {
        assert_eq!(names(cluster, "empty").await?, before);
    }
    assert_eq!(committed(&world.eu, "empty").await?, ["first", "last"]);
    let us = committed(&world.us, "empty").await?;
    assert_eq!(us, ["first", "half", "last"]);
    Ok(coordinator.close().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn id_exhaustion() -> Result {
    const TRANSACTIONS: usize = 60;
    const STARTS: usize = 2;
    let world = world().await?;
    world.topic("ids").await?;
    let setup = Setup::new("ids", world).setting("slots = 2");
    for _ in 0..STARTS {
        let coordinator = setup.open().await?;
        for number in 0..TRANSACTIONS {
            let transaction = write_both(&coordinator, "ids", "x").await?;
            match number % 5 {
                4 => transaction.abort("a test").await?,
                _ => transaction.commit().await.map(drop)?,
            }
        }
        coordinator.close().await?;
    }
    for cluster in world.clusters() {
        let names = names(cluster, "ids").await?;
        // Two slots and the probe a start; a few more where a busy machine breaks a connection.
        assert!(names.len() <= 2 * STARTS * 3, "{names:#?}");
        let visible = committed(cluster, "ids").await?;
        assert_eq!(visible.len(), STARTS * TRANSACTIONS * 4 / 5);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_producer_state() -> Result {
    let world = world().await?;
    world.topic("lost").await?;
    let setup = Setup::new("lost", world);
    let coordinator = setup.open().await?;
    let transaction = write_both(&coordinator, "lost", "lost").await?;
    let view = coordinator.describe(transaction.id()).ok_or("it is live")?;
    let branch = view
        .branches
        .iter()
        .find(|branch| branch.participant == "eu");
    let name = branch.and_then(|branch| branch.transactional_id.clone());
    // A stranger takes the name, by which the producer and its transaction are gone.
    let (name, stranger) = (name.ok_or("no name")?, control(&world.eu)?);
    let take = async {
        // The first call begins to abort what is open, and is told to come again (51).
        while EndAnswer::from(stranger.init_producer_id(&name, 60_000).await) == EndAnswer::Code(51)
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, take).await?;
    let error = transaction.commit().await.expect_err("half of it is gone");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    // Whoever took the name may take the others: the participant takes no more work (R7).
    let error = coordinator
        .begin()?
        .send("eu", record("lost", "after"))
        .await
        .expect_err("eu is stopped");
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
    coordinator.close().await?;
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "lost").await?, NOTHING);
    }
    Ok(())
}

/// The kind: the step succeeds by an acknowledgement, and by nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_not_acknowledged_is_no_success() -> Result {
    let world = world().await?;
    world.topic("unheard").await?;
    let setup = Setup::new("unheard", world).limit("report_timeout_ms = 3000");
    let coordinator = setup.open().await?;
    let transaction = write_both(&coordinator, "unheard", "x").await?;
    let id = transaction.id();
    let fault = Fault::no_end_of("unheard");
    let error = transaction.commit().await.expect_err("nobody acknowledged");
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(error.transaction(), Some(id));
    assert_eq!(coordinator.outcome(id), KnownOutcome::InDoubt);
    let list = coordinator.list();
    assert_eq!(list.iter().map(|view| view.id).collect::<Vec<_>>(), [id]);
    drop(fault);
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "unheard").await?, ["x"]);
    }
    // Closing waits for the acknowledgement, which the reader may have seen first.
    coordinator.close().await?;
    assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn timeout_above_ceiling() -> Result {
    let world = world().await?;
    world.topic("ceiling").await?;
    let above = US_CEILING_MS + 1;
    let setup = Setup::new("ceiling", world).setting(&format!("transaction_timeout_ms = {above}"));
    let error = setup.refused().await?;
    let remedy = format!("transaction.max.timeout.ms to {above}");
    for part in [
        "`us`",
        &above.to_string(),
        &US_CEILING_MS.to_string(),
        &remedy,
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(error.kind(), ErrorKind::Config);

    // A cluster that does not answer at open refuses once it does.
    let fault = Fault::no_request_of("ceiling");
    let setup = setup.limit("connect_timeout_ms = 500");
    let coordinator = setup.open().await?;
    drop(fault);
    let transaction = coordinator.begin()?;
    let sent = transaction.send("us", record("ceiling", "x")).await;
    let error = sent.expect_err("us takes no such time-out");
    let ceiling = US_CEILING_MS.to_string();
    for part in [
        "`us`",
        &above.to_string(),
        &ceiling,
        "transaction.max.timeout.ms",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    transaction.abort("a test").await?;
    Ok(coordinator.close().await?)
}
