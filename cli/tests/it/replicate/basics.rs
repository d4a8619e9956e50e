//! Mirror, fan-out, what is kept of a record, and how it ends.

use gtc_clusters::shared;
use rustix::process::Signal;

use crate::kafka::{
    Row, assert_same, await_rows, committed, create_topic, numbered, produce, produce_transaction,
    read,
};
use crate::program::Place;

#[test]
fn a_mirror_keeps_everything_of_a_record() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("keeps", &[("a", a), ("b", b)]);
    create_topic(a, "keeps", 2, &[]);
    let header = |name: &str, value: Option<&str>| (name.to_owned(), value.map(|text| text.into()));
    let rows = vec![
        Row::new(0, "key", "value"),
        Row {
            key: None,
            ..Row::new(0, "", "null key")
        },
        Row {
            value: None,
            ..Row::new(1, "tombstone", "")
        },
        Row::new(1, "", ""),
        Row {
            headers: vec![
                header("h", Some("1")),
                header("h", None),
                header("h", Some("")),
            ],
            ..Row::new(1, "headers", "repeated")
        },
    ];
    produce(a, "keeps", &rows);
    place
        .run("replicate --from a --to b --topic keeps --until-end")
        .expect(0);
    let expected: Vec<Row> = rows
        .into_iter()
        .map(|row| row.after(&[a.cluster_id()]))
        .collect();
    assert_same(&await_rows(b, "keeps", expected.len()), &expected);
}

#[test]
fn a_fan_out_reaches_every_destination_and_moves_the_group_of_the_source() {
    let [a, b, c] = shared::plain(3).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("fan-out", &[("a", a), ("b", b), ("c", c)]);
    create_topic(a, "fan-out", 3, &[]);
    produce(a, "fan-out", &numbered(0..3000, 3));
    place
        .run("replicate --from a --to b --to c --topic fan-out --until-end")
        .expect(0);
    let source = read(a, "fan-out");
    let expected: Vec<Row> = source
        .into_iter()
        .map(|row| row.after(&[a.cluster_id()]))
        .collect();
    assert_eq!(expected.len(), 3000);
    assert_same(&await_rows(b, "fan-out", expected.len()), &expected);
    assert_same(&await_rows(c, "fan-out", expected.len()), &expected);
    for partition in 0..3 {
        let (offset, metadata) = committed(a, &place.group(), "fan-out", partition).unwrap();
        assert_eq!(offset, 1000);
        assert!(metadata.starts_with("gtc1 topic="), "{metadata}");
        assert_eq!(committed(b, &place.group(), "fan-out", partition), None);
    }
}

#[test]
fn aborted_transactions_of_the_source_are_not_mirrored_and_positions_pass_them() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("aborted", &[("a", a), ("b", b)]);
    create_topic(a, "aborted", 1, &[]);
    produce_transaction(a, "aborted", &numbered(0..5, 1), true);
    produce_transaction(a, "aborted", &numbered(5..9, 1), false);
    place
        .run("replicate --from a --to b --topic aborted --until-end")
        .expect(0);
    assert_eq!(await_rows(b, "aborted", 5).len(), 5);
    // 5 records, a commit marker, 4 records, an abort marker.
    assert_eq!(committed(a, &place.group(), "aborted", 0).unwrap().0, 11);
    // With the position at the very end, there is nothing to do.
    let again = place
        .run("replicate --from a --to b --topic aborted --until-end")
        .expect(0);
    assert_eq!(read(b, "aborted").len(), 5, "{}", again.stderr);
}

#[test]
fn an_empty_source_is_at_its_end_at_once() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("empty", &[("a", a), ("b", b)]);
    create_topic(a, "empty", 2, &[]);
    place
        .run("replicate --from a --to b --topic empty --until-end")
        .expect(0);
    assert_eq!(read(b, "empty"), []);
}

#[test]
fn sigterm_and_sigint_drain_and_exit_with_0() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    for (signal, other, topic) in [
        (Signal::TERM, Signal::INT, "sigterm"),
        (Signal::INT, Signal::TERM, "sigint"),
    ] {
        let place = Place::new(topic, &[("a", a), ("b", b)]);
        create_topic(a, topic, 1, &[]);
        produce(a, topic, &numbered(0..100, 1));
        let running = place.start(&format!("replicate --from a --to b --topic {topic}"));
        await_rows(b, topic, 100);
        running.signal(signal);
        // What follows at once is the same request: `timeout` and terminals send two.
        running.signal(other);
        running.await_end().expect(0);
        assert_eq!(committed(a, &place.group(), topic, 0).unwrap().0, 100);
        place.run("list").expect(0);
    }
}

/// A batch that is closed in an hour keeps the end away until the signal is there.
#[test]
fn a_signal_before_the_end_of_until_end_has_an_exit_code_of_its_own() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("interrupted", &[("a", a), ("b", b)]);
    create_topic(a, "interrupted", 1, &[]);
    produce(a, "interrupted", &numbered(0..10, 1));
    let command = "replicate --from a --to b --topic interrupted --until-end";
    let mut running = place.start(&format!("{command} --linger-ms 3600000"));
    running.await_stderr("reading");
    let ended = running.terminate().expect(8);
    assert!(
        ended.stderr.contains("run the same command again"),
        "{}",
        ended.stderr
    );
    place.run(command).expect(0);
    assert_eq!(await_rows(b, "interrupted", 10).len(), 10);
}

#[test]
fn json_is_one_object_a_line_and_ends_with_a_summary() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("json", &[("a", a), ("b", b)]);
    create_topic(a, "json", 1, &[]);
    produce(a, "json", &numbered(0..500, 1));
    let command = "replicate --from a --to b --topic json --until-end --json --batch-records 100";
    let lines = place.run(command).expect(0).json();
    let last = lines.last().unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["records"], 500);
    assert_eq!(
        (&last["lag"], &last["lag_stale"]),
        (&0.into(), &false.into())
    );
    assert!(last["batches"].as_u64().unwrap() >= 5, "{last}");
    assert!(
        lines[..lines.len() - 1]
            .iter()
            .all(|line| line["event"] == "progress")
    );
}

#[test]
fn metrics_and_health_are_served() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("metrics", &[("a", a), ("b", b)]);
    create_topic(a, "metrics", 1, &[]);
    produce(a, "metrics", &numbered(0..100, 1));
    let mut running =
        place.start("replicate --from a --to b --topic metrics --metrics 127.0.0.1:0");
    await_rows(b, "metrics", 100);
    let metrics = running.get("/metrics");
    assert!(metrics.contains("gtc_replicate_records_total"), "{metrics}");
    let health = running.get("/health");
    assert!(health.contains(r#""status":"ok""#), "{health}");
    running.terminate().expect(0);
}
