//! Cases of a coordinator that is killed, and of the start that follows.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gtc::{
    Config, Coordinator, ErrorKind, KnownOutcome, TransactionId, TransactionState, read_log,
};

use crate::child::{self, Child};
use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{Fault, World, wait_until_open, world};

const NOTHING: [&str; 0] = [];

/// Everywhere the same values are visible, and nothing is open before them.
async fn assert_visible(world: &World, topic: &str, expected: &[&str]) -> Result {
    for cluster in world.clusters() {
        let found = committed(cluster, topic).await?;
        assert_eq!(found, expected, "{topic} on {}", cluster.name());
    }
    Ok(())
}

/// New work goes through both participants.
async fn assert_works(coordinator: &Coordinator, topic: &str, value: &str) -> Result {
    let transaction = coordinator.begin()?;
    for participant in ["eu", "us"] {
        transaction.send(participant, record(topic, value)).await?;
    }
    transaction.commit().await?;
    Ok(())
}

fn assert_mixed(coordinator: &Coordinator, id: TransactionId, participants: &[&str]) {
    assert_eq!(coordinator.outcome(id), KnownOutcome::Mixed);
    let list = coordinator.list();
    let [view] = list.as_slice() else {
        panic!("one is listed, not {list:?}");
    };
    assert_eq!((view.id, view.state), (id, TransactionState::Mixed));
    let heuristic: Vec<_> = view
        .branches
        .iter()
        .filter(|branch| branch.detail.is_some())
        .map(|branch| branch.participant.as_str())
        .collect();
    assert_eq!(heuristic, participants, "{view:?}");
}

/// Forgets a mixed outcome, which can be done once its end is in the log.
async fn forget(coordinator: &Coordinator, id: TransactionId) -> Result {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match coordinator.forget(id) {
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            Ok(_) => return Ok(()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_then_commit() -> Result {
    if let Some(file) = child::config_file() {
        return child::commit_one(file).await;
    }
    let world = world().await?;
    world.topic("expired").await?;
    let setup = Setup::new("expired", world).setting("transaction_timeout_ms = 12000");
    let test = "crashes::expired_then_commit";
    let id = child::killed_at("append-decided:after", test, &setup)?;
    // The readers come to the end only once both brokers have aborted what expired.
    assert_visible(world, "expired", &NOTHING).await?;

    let coordinator = setup.recover().await?;
    assert_mixed(&coordinator, id, &["eu", "us"]);
    coordinator.close().await?;
    let coordinator = setup.recover().await?;
    assert_mixed(&coordinator, id, &["eu", "us"]);
    forget(&coordinator, id).await?;
    assert_works(&coordinator, "expired", "next").await?;
    assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
    coordinator.close().await?;
    assert_visible(world, "expired", &["next"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_then_commit_while_the_coordinator_lives() -> Result {
    let world = world().await?;
    world.topic("expired-live").await?;
    let setup = Setup::new("expired-live", world).setting("transaction_timeout_ms = 12000");
    let coordinator = setup.open().await?;
    let transaction = coordinator.begin()?;
    let id = transaction.id();
    for participant in ["eu", "us"] {
        let record = record("expired-live", participant);
        transaction.send(participant, record).await?;
    }
    let fault = Fault::no_end_of("expired-live");
    let error = transaction.commit().await.expect_err("us has aborted");
    drop(fault);
    assert_eq!(error.kind(), ErrorKind::Heuristic, "{error}");
    assert_eq!(error.transaction(), Some(id));
    assert!(error.problem().contains("`us` heuristic abort"), "{error}");
    assert_mixed(&coordinator, id, &["us"]);
    assert_eq!(committed(&world.eu, "expired-live").await?, ["eu"]);
    assert_eq!(committed(&world.us, "expired-live").await?, NOTHING);
    forget(&coordinator, id).await?;
    assert_works(&coordinator, "expired-live", "next").await?;
    assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
    Ok(coordinator.close().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn recover_twice() -> Result {
    if let Some(file) = child::config_file() {
        // The first child leaves a decision behind, the others recover it.
        let is_first = !file.with_file_name("log").exists();
        return match is_first {
            true => child::commit_one(file).await,
            false => child::recover(file).await,
        };
    }
    let world = world().await?;
    world.topic("recover-twice").await?;
    let setup = Setup::new("recover-twice", world);
    let test = "crashes::recover_twice";
    let id = child::killed_at("append-decided:after", test, &setup)?;
    for step in [
        "append-started:after",
        "inquire:eu:before",
        "inquire:us:after",
        "end-transaction:before",
        "end-transaction:after",
        "append-completed:before",
    ] {
        Child::start(test, &setup, Some(step))?.crashed(step)?;
    }
    for _ in 0..3 {
        let coordinator = setup.recover().await?;
        assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);
        assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
        coordinator.close().await?;
        assert_visible(world, "recover-twice", &["recover-twice"]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_transaction() -> Result {
    if let Some(file) = child::config_file() {
        return child::commit_one(file).await;
    }
    let world = world().await?;
    world.topic("one-bad").await?;
    let setup = Setup::new("one-bad", world);
    let test = "crashes::one_bad_transaction";
    let id = child::killed_at("append-decided:after", test, &setup)?;

    // Once its participant is down, and once the configuration has forgotten it.
    let setup = setup.unreachable("us");
    let mut expected = vec!["one-bad"];
    for (setup, value) in [
        (&setup, "us is down"),
        (&setup.clone().without("us"), "us is forgotten"),
    ] {
        let coordinator = setup.open().await?;
        let transaction = coordinator.begin()?;
        transaction.send("eu", record("one-bad", value)).await?;
        transaction.commit().await?;
        expected.push(value);
        assert_eq!(committed(&world.eu, "one-bad").await?, expected);
        let list = coordinator.list();
        assert_eq!(list.iter().map(|view| view.id).collect::<Vec<_>>(), [id]);
        assert_eq!(coordinator.outcome(id), KnownOutcome::InDoubt);
        // It cannot be ended, and stays for the next start.
        let error = coordinator.close().await.expect_err("one stays open");
        assert!(
            error.problem().contains("1 transactions stay open"),
            "{error}"
        );
    }
    let setup = setup.participant("us", &world.us);
    let coordinator = setup.recover().await?;
    assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);
    assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
    assert_eq!(committed(&world.us, "one-bad").await?, ["one-bad"]);
    assert_eq!(committed(&world.eu, "one-bad").await?, expected);
    Ok(coordinator.close().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_after_shrink() -> Result {
    if let Some(file) = child::config_file() {
        return leave_three_open(file).await;
    }
    let world = world().await?;
    world.topic("orphans").await?;
    let setup = Setup::new("orphans", world).setting("slots = 3");
    let mut child = Child::start("crashes::orphans_after_shrink", &setup, None)?;
    assert_eq!(child.says()?, "three are sent");
    for cluster in world.clusters() {
        wait_until_open(cluster, "orphans", 3).await?;
    }
    child.kill()?;

    let setup = setup.setting("slots = 1");
    let coordinator = setup.recover().await?;
    // No time-out of the broker's helps here: it is minutes away.
    assert_visible(world, "orphans", &NOTHING).await?;
    assert_works(&coordinator, "orphans", "next").await?;
    coordinator.close().await?;
    assert_visible(world, "orphans", &["next"]).await
}

async fn leave_three_open(file: PathBuf) -> Result {
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let mut open = Vec::new();
    for _ in 0..3 {
        let transaction = coordinator.begin()?;
        for participant in ["eu", "us"] {
            transaction
                .send(participant, record("orphans", "orphan"))
                .await?;
        }
        open.push(transaction);
    }
    child::say("three are sent")?;
    child::told().await?;
    Err("it was not killed".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_during_commit() -> Result {
    if let Some(file) = child::config_file() {
        return child::commit_one(file).await;
    }
    let world = world().await?;
    world.topic("crash").await?;
    let setup = Setup::new("crash", world);
    let test = "crashes::crash_during_commit";
    let key = b"crash".as_slice();

    // Undecided: the log cannot tell, and says so; it is never called aborted.
    let lost = child::killed_at("append-decided:before", test, &setup)?;
    let ledger = read_log(setup.log())?;
    assert_eq!(ledger.outcome(lost), KnownOutcome::Unknown);
    assert_eq!(ledger.find_key(key), None);

    // Decided, and perhaps delivered.
    let id = child::killed_at("end-by-writer:eu:after", test, &setup)?;
    let ledger = read_log(setup.log())?;
    assert_eq!(ledger.outcome(id), KnownOutcome::InDoubt);
    assert_eq!(ledger.find_key(key), Some(id));

    let coordinator = setup.recover().await?;
    assert_eq!(coordinator.outcome(lost), KnownOutcome::Unknown);
    assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);
    let found = coordinator.outcome_by_key(key);
    assert_eq!(found, Some((id, KnownOutcome::Committed)));
    coordinator.close().await?;
    assert_eq!(read_log(setup.log())?.outcome(id), KnownOutcome::Committed);
    assert_visible(world, "crash", &["crash"]).await
}
