//! Brokers that die, come back, or stand still.

use std::time::{Duration, Instant};

use gtc::kafka::control::{Attempt, ControlErrorKind};
use gtc_clusters::{Cluster, ClusterOptions};
use gtc_core::{BrokerState, EndAnswer, Inquiry, VersionClass};

use crate::producer::{await_state, describe, open};
use crate::{client, one_more_cluster};

const TIMEOUT_MS: u32 = 3000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broker_that_was_killed_keeps_the_transaction_for_any_process_to_end() {
    let _turn = one_more_cluster().await;
    let cluster = Cluster::start(ClusterOptions::new("control-killed")).expect("a cluster");
    let (properties, id) = (cluster.client_properties(), "killed");
    let control = client(properties.clone(), TIMEOUT_MS);
    let (writer, producer) = open(&control, &properties, id).await;
    let before = describe(&control, id).await;
    drop(writer);
    tokio::task::block_in_place(|| cluster.kill());

    // A question first: it may find the old connection, where what is sent could still have arrived.
    assert!(matches!(control.inquire(id).await, Inquiry::NoAnswer(_)));
    let begun = Instant::now();
    match control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await
    {
        Attempt::NotSent(error) => assert_eq!(error.kind(), ControlErrorKind::Unavailable),
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_millis(u64::from(TIMEOUT_MS) * 2));
    let listing = control.list_transactions("").await;
    assert!(!listing.complete && listing.transactions.is_empty());

    tokio::task::block_in_place(|| cluster.restart()).expect("restarted");
    // The same client finds its way back, and the transaction is what it was.
    let again = client(properties, 30_000);
    assert_eq!(describe(&again, id).await, before);
    assert!(matches!(control.inquire(id).await, Inquiry::Described(_)));
    let ended = control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await;
    assert_eq!(EndAnswer::from(ended), EndAnswer::Acknowledged);
    await_state(&control, id, BrokerState::CompleteCommit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broker_that_stands_still_leaves_it_open_what_became_of_the_request() {
    let _turn = one_more_cluster().await;
    let cluster = Cluster::start(ClusterOptions::new("control-paused")).expect("a cluster");
    let (properties, id) = (cluster.client_properties(), "paused");
    let control = client(properties.clone(), TIMEOUT_MS);
    let (_writer, producer) = open(&control, &properties, id).await;
    cluster.pause().expect("paused");

    let begun = Instant::now();
    match control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await
    {
        Attempt::NoAnswer(error) => assert_eq!(error.kind(), ControlErrorKind::Timeout),
        other => panic!("{other:?}"),
    }
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_millis(u64::from(TIMEOUT_MS)),
        "{waited:?}"
    );
    // The next attempt finds the connection closed and gets none to a broker that stands still.
    let second = control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await;
    assert!(matches!(second, Attempt::NotSent(_)), "{second:?}");
    assert!(matches!(control.inquire(id).await, Inquiry::NoAnswer(_)));

    cluster.resume().expect("resumed");
    // The request that nobody answered lay in the broker's socket and takes effect now.
    let patient = client(properties, 30_000);
    await_state(&patient, id, BrokerState::CompleteCommit).await;
}
