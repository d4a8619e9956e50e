//! Own producers beside a coordinator in memory.

use gtc_core::{Reuse, VersionClass};

use super::Result;
use crate::error::ErrorKind;
use crate::own::OwnProducer;
use crate::testing::{World, record};

#[tokio::test]
async fn an_own_producer_votes_by_its_deliveries_and_silence_is_a_no() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    for speaks in [false, true] {
        world.eu.state().initialise("mine", 60_000);
        let transaction = coordinator.begin()?;
        let own = transaction.enlist("eu", "mine", VersionClass::V1).await?;
        world.eu.write_as("mine", b"own");
        transaction.send("us", record("b")).await?;
        if !speaks {
            let error = transaction
                .commit()
                .await
                .expect_err("nothing said is a no");
            assert_eq!(error.kind(), ErrorKind::Aborted);
            assert_eq!(own.finished().await?, Reuse::Discard);
        } else {
            own.state_delivered();
            transaction.commit().await?;
            assert_eq!(own.finished().await?, Reuse::Reuse);
            assert_eq!(world.eu.state().committed, [b"own"]);
        }
    }
    coordinator.settle("eu", "mine").await?;
    coordinator.close().await
}

#[tokio::test]
async fn an_own_producer_hears_of_its_end_after_its_caller_was_told_in_doubt() -> Result {
    let mut world = World::new();
    world.report_timeout_ms = 100;
    let coordinator = world.open().await?;
    world.eu.state().initialise("mine", 60_000);
    let transaction = coordinator.begin()?;
    let own = transaction.enlist("eu", "mine", VersionClass::V1).await?;
    world.eu.write_as("mine", b"own");
    own.state_delivered();
    world.eu.state().silent = true;
    let error = transaction.commit().await.expect_err("nobody answers");
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    let error = own.finished().await.expect_err("it is not ended");
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");

    world.eu.state().silent = false;
    coordinator.settle("eu", "mine").await?;
    own.finished().await?;
    assert_eq!(world.eu.state().committed, [b"own"]);
    coordinator.close().await
}

#[tokio::test]
async fn two_own_producers_of_one_cluster_are_told_apart() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    for id in ["one", "two"] {
        world.eu.state().initialise(id, 60_000);
    }
    let transaction = coordinator.begin()?;
    let one = transaction.enlist("eu", "one", VersionClass::V1).await?;
    // It has to be initialised first, which is said of it and not of the other.
    let error = transaction
        .enlist("eu", "three", VersionClass::V1)
        .await
        .expect_err("the cluster does not know it");
    assert!(error.to_string().contains("three"), "{error}");
    let two = transaction.enlist("eu", "two", VersionClass::V1).await?;
    world.eu.write_as("one", b"1");
    world.eu.write_as("two", b"2");
    one.state_delivered();
    two.state_delivered();
    transaction.commit().await?;
    assert_eq!(one.finished().await?, Reuse::Reuse);
    assert_eq!(two.finished().await?, Reuse::Reuse);
    let mut committed = world.eu.state().committed.clone();
    committed.sort();
    assert_eq!(committed, [b"1", b"2"]);
    coordinator.close().await
}

/// Enlisted under the id of another producer, which has its own transaction open: that would be committed.
#[tokio::test]
async fn deliveries_to_a_partition_that_the_broker_does_not_know_of_are_a_no() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    for (partition, commits) in [(1, false), (0, true)] {
        world.eu.state().initialise("mine", 60_000);
        let transaction = coordinator.begin()?;
        let own = transaction.enlist("eu", "mine", VersionClass::V1).await?;
        world.eu.write_as("mine", b"own");
        transaction.send("us", record("b")).await?;
        own.sent();
        own.delivered_to("own", partition);
        match transaction.commit().await {
            Ok(_) => assert!(commits),
            Err(error) => {
                assert!(!commits, "{error}");
                assert_eq!(error.kind(), ErrorKind::Aborted);
                assert!(error.problem().contains("own-1"), "{error}");
            }
        }
        coordinator.settle("eu", "mine").await?;
    }
    coordinator.close().await
}

#[tokio::test]
async fn an_own_producer_under_the_id_of_another_is_refused() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let initialise = |id| world.eu.state().initialise(id, 60_000);
    let [one, two] = ["one", "two"].map(initialise);
    assert_ne!(one, two);
    let transaction = coordinator.begin()?;
    let of_another = OwnProducer::new("two").identity(one);
    let error = transaction
        .enlist_producer("eu", of_another)
        .await
        .expect_err("it would speak for the records of the other");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    assert!(error.to_string().contains("another producer's"), "{error}");
    let own = OwnProducer::new("two").identity(two);
    transaction.enlist_producer("eu", own).await?;
    transaction.abort("a test").await?;
    coordinator.close().await
}
