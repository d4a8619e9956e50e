//! What a mirror tells while a cluster is dead.

use gtc_clusters::{Cluster, ClusterOptions, shared};

use crate::kafka::{await_rows, create_topic, numbered, produce};
use crate::program::Place;

/// The sweep, which would find it too, comes once an hour here.
const NO_SWEEP: &str = "sweep_interval_ms = 3600000";

#[test]
fn a_dead_destination_is_told_and_the_lag_grows_while_a_batch_is_stuck() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let b = Cluster::start(ClusterOptions::new("health")).unwrap();
    let place = Place::new("health", &[("a", a), ("b", &b)]);
    place.limit(&[NO_SWEEP]);
    create_topic(a, "health", 1, &[]);
    produce(a, "health", &numbered(0..100, 1));
    let mut running = place.start("replicate --from a --to b --topic health --metrics 127.0.0.1:0");
    await_rows(&b, "health", 100);
    running.await_answer("/health", &[r#""status":"ok""#]);
    running.await_answer("/metrics", &["gtc_participant_up{participant=\"b\"} 1"]);

    b.kill();
    produce(a, "health", &numbered(100..150, 1));
    running.await_answer("/metrics", &["gtc_replicate_lag 50\n"]);
    running.await_answer("/health", &[r#""status":"degraded""#, "participant b"]);
    running.await_answer("/metrics", &["gtc_participant_up{participant=\"b\"} 0"]);
    // Nothing of it is mirrored, and more comes: the lag shows both.
    produce(a, "health", &numbered(150..175, 1));
    running.await_answer(
        "/metrics",
        &["gtc_replicate_lag 75\n", "\ngtc_replicate_lag_stale 0\n"],
    );

    b.restart().unwrap();
    assert_eq!(await_rows(&b, "health", 175).len(), 175);
    running.await_answer("/health", &[r#""status":"ok""#]);
    running.await_answer("/metrics", &["gtc_replicate_lag 0\n"]);
    running.terminate().expect(0);
}

/// The reader is as far ahead as it goes, and hears no more of what the source gets.
#[test]
fn the_lag_is_stale_while_a_destination_hangs() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let b = Cluster::start(ClusterOptions::new("hangs")).unwrap();
    let place = Place::new("hangs", &[("a", a), ("b", &b)]);
    place.limit(&[NO_SWEEP]);
    create_topic(a, "hangs", 1, &[]);
    produce(a, "hangs", &numbered(0..10, 1));
    let mut running = place
        .start("replicate --from a --to b --topic hangs --metrics 127.0.0.1:0 --batch-records 10");
    await_rows(&b, "hangs", 10);
    running.await_answer(
        "/metrics",
        &["gtc_replicate_lag 0\n", "\ngtc_replicate_lag_stale 0\n"],
    );
    b.pause().unwrap();
    produce(a, "hangs", &numbered(10..100, 1));
    running.await_answer("/metrics", &["\ngtc_replicate_lag_stale 1\n"]);
    b.resume().unwrap();
    assert_eq!(await_rows(&b, "hangs", 100).len(), 100);
    running.await_answer(
        "/metrics",
        &["gtc_replicate_lag 0\n", "\ngtc_replicate_lag_stale 0\n"],
    );
    running.terminate().expect(0);
}

/// What nobody has told yet does not look like a mirror that is not behind.
#[test]
fn the_lag_is_stale_before_anything_is_known() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("no-lag", &[("a", a), ("b", b)]);
    // No topic, so that nothing is ever known.
    let mut running =
        place.start("replicate --from a --to b --topics no-lag-.* --metrics 127.0.0.1:0");
    let metrics = running.await_answer("/metrics", &["\ngtc_replicate_lag_stale 1\n"]);
    assert!(!metrics.contains("\ngtc_replicate_lag 0"), "{metrics}");
    running.terminate().expect(0);
}

#[test]
fn a_dead_source_is_told_and_its_lag_is_stale() {
    let [b] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let a = Cluster::start(ClusterOptions::new("stale")).unwrap();
    let place = Place::new("stale", &[("a", &a), ("b", b)]);
    place.limit(&[NO_SWEEP]);
    create_topic(&a, "stale", 1, &[]);
    produce(&a, "stale", &numbered(0..10, 1));
    let mut running = place.start("replicate --from a --to b --topic stale --metrics 127.0.0.1:0");
    await_rows(b, "stale", 10);
    a.kill();
    running.await_answer("/health", &[r#""status":"degraded""#, "participant a"]);
    running.await_answer("/metrics", &["\ngtc_replicate_lag_stale 1\n"]);
    running.terminate();
}
