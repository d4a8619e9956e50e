//! The runtime over participants in memory.

mod ceiling;
mod own;

use std::time::Duration;

use gtc_core::{Decision, KnownOutcome, VersionClass};

use crate::arguments::Flaw;
use crate::error::{ErrorKind, Retry};
use crate::testing::{World, record};
use crate::transaction::TransactionOptions;

type Result<T = ()> = std::result::Result<T, crate::error::Error>;

#[tokio::test]
async fn a_commit_is_visible_on_both_and_an_abort_on_none() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    transaction.send("us", record("b")).await?;
    let id = transaction.commit().await?.id;
    assert_eq!(world.eu.state().committed, [b"a"]);
    assert_eq!(world.us.state().committed, [b"b"]);
    assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);

    let transaction = coordinator.begin()?;
    transaction.send("eu", record("c")).await?;
    transaction.send("us", record("d")).await?;
    transaction.abort("changed my mind").await?;
    assert_eq!(world.eu.state().committed, [b"a"]);
    assert_eq!(world.eu.state().aborted, [b"c"]);
    assert_eq!(world.us.state().aborted, [b"d"]);
    coordinator.close().await
}

#[tokio::test]
async fn a_dropped_transaction_aborts() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    drop(transaction);
    // Closing waits for what is under way.
    coordinator.close().await?;
    assert_eq!(world.eu.state().aborted, [b"a"]);
    assert!(world.eu.state().committed.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_failed_delivery_aborts_everywhere() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    world.us.state().deliveries_fail = true;
    let transaction = coordinator.begin()?;
    let id = transaction.id();
    transaction.send("eu", record("a")).await?;
    transaction.send("us", record("b")).await?;
    let error = transaction.commit().await.expect_err("us cannot vote yes");
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert_eq!(error.transaction(), Some(id));
    assert!(error.to_string().contains("us"), "{error}");
    assert!(world.eu.state().committed.is_empty());
    coordinator.close().await
}

#[tokio::test]
async fn what_a_cluster_refuses_for_good_is_not_to_be_tried_again() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    for lasting in [true, false] {
        world.us.state().deliveries_fail = true;
        world.us.state().never_accepted = lasting.then(|| Flaw {
            problem: "MessageSizeTooLarge".to_owned(),
            remedy: "write less",
        });
        let transaction = coordinator.begin()?;
        transaction.send("us", record("a")).await?;
        let error = transaction
            .commit()
            .await
            .expect_err("it was not delivered");
        assert_eq!(error.kind(), ErrorKind::Aborted);
        let expected = if lasting { Retry::Never } else { Retry::Later };
        assert_eq!(error.retry(), expected, "{error}");
    }
    coordinator.close().await
}

#[tokio::test]
async fn a_record_that_no_cluster_can_take_is_refused_at_once_and_nothing_commits_without_it()
-> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    for (topic, partition) in [("", None), ("a\0b", None), ("orders", Some(-9))] {
        let transaction = coordinator.begin()?;
        transaction.send("us", record("a")).await?;
        let mut flawed = record("b");
        (flawed.topic, flawed.partition) = (topic.into(), partition);
        let refused = transaction.send("us", flawed).await.expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::Config, "{refused}");
        assert_eq!(refused.participant(), Some("us"));
        let id = transaction.id();
        let error = transaction.commit().await.expect_err("a record is missing");
        let told = (error.kind(), error.retry(), error.transaction());
        assert_eq!(
            told,
            (ErrorKind::Aborted, Retry::Never, Some(id)),
            "{error}"
        );
        assert_eq!(error.problem(), refused.problem());
    }
    assert!(world.us.state().committed.is_empty());
    coordinator.close().await
}

#[tokio::test]
async fn a_name_that_no_cluster_can_keep_is_refused_at_once() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    for name in ["", "a\0b"] {
        let refused = [
            transaction
                .enlist("us", name, VersionClass::V1)
                .await
                .map(drop),
            transaction.enlist_newest("us", name).await.map(drop),
            coordinator.settle("us", name).await,
            coordinator
                .resolve_foreign("us", name, Decision::Abort)
                .await,
        ];
        for error in refused.into_iter().map(|told| told.expect_err("refused")) {
            assert_eq!(error.kind(), ErrorKind::Config, "{error}");
            assert!(error.problem().contains("transactional.id"), "{error}");
            assert_eq!(error.participant(), Some("us"));
        }
    }
    transaction.abort("refused").await?;
    let key = TransactionOptions::new().key(vec![0; 1025]);
    let error = coordinator.begin_with(key).expect_err("it is too long");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    coordinator.close().await
}

#[tokio::test]
async fn a_failed_log_is_in_doubt_and_stops_the_coordinator() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    transaction.send("us", record("b")).await?;
    world.log.hold();
    let log = world.log.clone();
    let (committed, ()) = tokio::join!(transaction.commit(), async {
        // The decision is the first write after `hold`, so that commit cannot end before it.
        tokio::time::sleep(Duration::from_millis(50)).await;
        log.fail();
    });
    let error = committed.expect_err("nobody knows whether it was written");
    assert_eq!(error.kind(), ErrorKind::InDoubt);
    assert_eq!(error.retry(), Retry::AfterResolve);
    assert!(world.eu.state().committed.is_empty());
    let error = coordinator.begin().expect_err("it stopped");
    assert_eq!(error.kind(), ErrorKind::Log);
    Ok(())
}

#[tokio::test]
async fn a_full_log_aborts_and_recovers() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let commit = async |value| {
        let transaction = coordinator.begin()?;
        transaction.send("eu", record(value)).await?;
        transaction.send("us", record(value)).await?;
        transaction.commit().await
    };
    world.log.set_full(true);
    let error = commit("a").await.expect_err("the decision has no room");
    assert_eq!(error.kind(), ErrorKind::Aborted);
    world.log.set_full(false);
    commit("b").await?;
    assert_eq!(world.eu.state().committed, [b"b"]);
    Ok(())
}

#[tokio::test]
async fn a_decision_survives_a_restart() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    world.eu.state().silent = true;
    world.us.state().silent = true;
    let transaction = coordinator.begin_with(TransactionOptions::new().key("order-9"))?;
    transaction.send("eu", record("a")).await?;
    transaction.send("us", record("b")).await?;
    let committed = transaction
        .commit_with(gtc_core::CommitReturn::Decided)
        .await?;
    assert_eq!(coordinator.outcome(committed.id), KnownOutcome::InDoubt);
    coordinator
        .close()
        .await
        .expect_err("two branches are open");
    drop(coordinator);

    world.eu.state().silent = false;
    world.us.state().silent = false;
    let coordinator = world.open().await?;
    coordinator.recovered().await?;
    assert_eq!(world.eu.state().committed, [b"a"]);
    assert_eq!(world.us.state().committed, [b"b"]);
    let found = coordinator.outcome_by_key(b"order-9");
    assert_eq!(found, Some((committed.id, KnownOutcome::Committed)));
    coordinator.close().await
}

/// Each life writes less than a checkpoint takes, and is killed.
#[tokio::test]
async fn the_log_of_short_lives_does_not_grow_for_ever() -> Result {
    let mut world = World::new();
    world.checkpoint_bytes = 1_000;
    let mut checkpoints = 0;
    for _ in 0..30 {
        let coordinator = world.open().await?;
        let transaction = coordinator.begin_with(TransactionOptions::new().key("again"))?;
        transaction.send("eu", record("a")).await?;
        transaction.send("us", record("b")).await?;
        transaction.commit().await?;
        let counters = coordinator.counters();
        assert!(counters.checkpoints <= 1, "{counters:?}");
        checkpoints += counters.checkpoints;
    }
    let entries = world.log.entries();
    let bytes: usize = entries.iter().map(bytes::Bytes::len).sum();
    assert!(checkpoints > 1, "none in 30 lives: {bytes} bytes");
    Ok(())
}

#[tokio::test]
async fn a_restored_log_is_refused() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    transaction.commit().await?;
    coordinator.close().await?;
    // What a backup would hold; the next start makes names that it does not know.
    let backup = world.log.clone();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("b")).await?;
    transaction.commit().await?;
    coordinator.close().await?;
    world.log = backup;
    let error = world
        .open()
        .await
        .expect_err("the clusters know more than the log");
    assert_eq!(error.kind(), ErrorKind::Log, "{error}");
    crate::said_once::assert_said_once(&error.to_string());
    assert!(
        error.to_string().contains("the log that was last in use"),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn closing_aborts_what_is_undecided_and_refuses_the_rest() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    coordinator.close().await?;
    let error = transaction.commit().await.expect_err("it was aborted");
    assert_eq!(error.kind(), ErrorKind::Aborted);
    let error = coordinator.begin().expect_err("it is closed");
    assert_eq!(error.kind(), ErrorKind::Closed);
    coordinator.close().await
}

#[tokio::test]
async fn an_unknown_participant_is_named_with_the_nearest() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    let error = transaction
        .send("eux", record("a"))
        .await
        .expect_err("unknown");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.participant(), Some("eux"));
    assert_eq!(error.remedy(), "did you mean `eu`?");
    Ok(())
}

#[tokio::test]
async fn a_caller_waits_for_a_slot_and_not_for_ever() -> Result {
    let mut world = World::new();
    let coordinator = world.open_with(|participant| participant.slots(1)).await?;
    let first = coordinator.begin()?;
    first.send("eu", record("a")).await?;
    let second = coordinator.begin()?;
    let error = second
        .lease("eu")
        .await
        .expect_err("the only slot is leased");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let (sent, ended) = tokio::join!(second.send("eu", record("b")), first.commit());
    ended?;
    sent?;
    second.commit().await?;
    assert_eq!(world.eu.state().committed, [b"a", b"b"]);
    Ok(())
}

#[tokio::test]
async fn a_transaction_that_timed_out_says_so() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let options = TransactionOptions::new().timeout(Duration::from_millis(50));
    let transaction = coordinator.begin_with(options)?;
    transaction.send("eu", record("a")).await?;
    let patience = std::time::Instant::now() + Duration::from_secs(10);
    let error = loop {
        match transaction.send("eu", record("b")).await {
            Err(error) => break error,
            Ok(()) => assert!(std::time::Instant::now() < patience),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    let error = transaction.commit().await.expect_err("it aborted");
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(world.eu.state().committed.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_caller_that_comes_while_it_aborts_is_told_aborted() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    world.us.state().silent = true;
    let options = TransactionOptions::new().timeout(Duration::from_millis(50));
    let transaction = coordinator.begin_with(options)?;
    transaction.send("us", record("late")).await?;
    // The abort begins, and cannot end.
    let id = transaction.id();
    eventually(|| coordinator.outcome(id) == KnownOutcome::Aborted).await;
    let error = transaction
        .send("eu", record("later"))
        .await
        .expect_err("it is too late");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    let error = transaction.lease("eu").await.expect_err("it is too late");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    let heal = async {
        tokio::task::yield_now().await;
        world.us.state().silent = false;
    };
    let (committed, ()) = tokio::join!(transaction.commit(), heal);
    let error = committed.expect_err("it has timed out");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    assert!(error.problem().contains("time"), "{error}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_ended_is_listed_and_resolved_by_hand() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    transaction.send("us", record("b")).await?;
    world.us.state().silent = true;
    let id = transaction
        .commit_with(gtc_core::CommitReturn::Decided)
        .await?
        .id;
    assert_eq!(coordinator.list().len(), 1);
    coordinator.resolve(id, Decision::Abort)?;
    let mixed = async {
        while coordinator.outcome(id) != KnownOutcome::Mixed {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), mixed)
        .await
        .expect("given up");
    coordinator.forget(id)?;
    let forgotten = async {
        while !coordinator.list().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), forgotten)
        .await
        .expect("forgotten");
    assert_eq!(world.eu.state().committed, [b"a"]);
    Ok(())
}

/// Until `found` is true, or ten seconds are over.
async fn eventually(found: impl Fn() -> bool) {
    let waiting = async {
        while !found() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    waited.expect("it comes to be");
}

fn state_of(coordinator: &crate::Coordinator, participant: &str) -> (String, Option<String>) {
    let status = coordinator.status().participants.into_iter();
    let mut found = status.filter(|found| found.name == participant);
    let found = found.next().expect("configured");
    (found.state, found.detail)
}

#[tokio::test]
async fn a_dead_cluster_is_known_long_before_the_sweep_and_named() -> Result {
    let mut world = World::new();
    let coordinator = world.open_with(|participant| participant.slots(1)).await?;
    let holder = coordinator.begin()?;
    holder.send("us", record("a")).await?;
    world.us.state().unreachable = Some("connection refused".to_owned());
    eventually(|| state_of(&coordinator, "us").0 == "unavailable").await;
    assert_eq!(
        state_of(&coordinator, "us").1.as_deref(),
        Some("connection refused")
    );
    // The only slot is in use, but that is not why nobody gets one.
    let waiting = coordinator.begin()?;
    let error = waiting.lease("us").await.expect_err("it is dead");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("connection refused"), "{error}");
    world.us.state().unreachable = None;
    eventually(|| state_of(&coordinator, "us").0 == "verified").await;
    coordinator.close().await
}

#[tokio::test]
async fn a_panic_is_an_action_without_an_answer_and_stops_its_participant() -> Result {
    for action in ["open-slot", "prepare", "end"] {
        let mut world = World::new();
        let coordinator = world.open().await?;
        world.us.state().panics_at = Some(action);
        let transaction = coordinator.begin()?;
        transaction.send("eu", record("a")).await?;
        let error = match transaction.send("us", record("b")).await {
            Err(error) => error,
            Ok(()) => {
                let commit = transaction.commit_with(gtc_core::CommitReturn::Decided);
                match commit.await {
                    Err(error) => error,
                    Ok(committed) => {
                        // It is decided, and stays open where nobody knows how it ended.
                        assert_eq!(action, "end");
                        let outcome = coordinator.outcome(committed.id);
                        assert_eq!(outcome, KnownOutcome::InDoubt);
                        coordinator.begin()?.lease("us").await.expect_err("stopped")
                    }
                }
            }
        };
        assert_ne!(error.retry(), Retry::AfterResolve, "{action}: {error}");
        assert!(world.us.state().committed.is_empty(), "{action}");
        let (state, detail) = state_of(&coordinator, "us");
        assert_eq!(state, "stopped", "{action}");
        assert!(detail.is_some_and(|why| why.contains("told to panic")));
        let refused = coordinator.begin()?.lease("us").await.expect_err("stopped");
        assert_eq!(refused.kind(), ErrorKind::Internal, "{refused}");
        // The others go on, and what was decided is finished once the defect is gone.
        let transaction = coordinator.begin()?;
        transaction.send("eu", record("c")).await?;
        transaction.commit().await?;
        world.us.state().panics_at = None;
        coordinator.close().await?;
        assert_eq!(
            world.us.state().committed.len(),
            usize::from(action == "end")
        );
    }
    Ok(())
}

#[tokio::test]
async fn waiting_for_a_participant_ends_with_what_is_in_its_way() -> Result {
    let mut world = World::new();
    let coordinator = world
        .open_with(|participant| participant.transaction_timeout_ms(900_000))
        .await?;
    coordinator.verified("us").await?;
    // Lowered while it was down: found when it is connected to again.
    world.us.state().ceiling_ms = Some(60_000);
    world.us.state().unreachable = Some("down".to_owned());
    eventually(|| state_of(&coordinator, "us").0 == "unavailable").await;
    world.us.state().unreachable = None;
    let ceiling = |detail: Option<String>| detail.is_some_and(|why| why.contains("60000"));
    eventually(|| ceiling(state_of(&coordinator, "us").1)).await;
    let error = coordinator
        .verified("us")
        .await
        .expect_err("it never will be");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("transaction.max.timeout.ms"),
        "{error}"
    );
    coordinator.close().await
}
