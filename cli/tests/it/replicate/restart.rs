//! Case restart-re-mirrors: a kill at any moment leaves no duplicate and no gap.

use std::time::Duration;

use gtc_clusters::shared;

use crate::kafka::{
    assert_same, await_rows, await_true, committed, create_topic, high_watermark, numbered,
    produce, read,
};
use crate::program::Place;

#[test]
fn kills_in_the_middle_leave_no_duplicate_and_no_gap() {
    const RECORDS: usize = 20_000;
    let [a, b, c] = shared::plain(3).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("restart", &[("a", a), ("b", b), ("c", c)]);
    for cluster in [a, b, c] {
        create_topic(cluster, "restart", 2, &[]);
    }
    produce(a, "restart", &numbered(0..RECORDS, 2));
    let command = "replicate --from a --to b --to c --topic restart --batch-records 200";
    for kill in 1..=4_usize {
        let running = place.start(command);
        // Each run is killed while it works, a little later in its batch than the one before.
        let arrived = high_watermark(b, "restart", 0) + 100;
        await_true("records to arrive", || {
            high_watermark(b, "restart", 0) > arrived
        });
        std::thread::sleep(Duration::from_millis(7 * kill as u64));
        running.kill();
    }
    place.run(&format!("{command} --until-end")).expect(0);
    let expected: Vec<_> = read(a, "restart")
        .into_iter()
        .map(|row| row.after(&[a.cluster_id()]))
        .collect();
    assert_eq!(expected.len(), RECORDS);
    assert_same(&await_rows(b, "restart", expected.len()), &expected);
    assert_same(&await_rows(c, "restart", expected.len()), &expected);
    place.run("list").expect(0);
}

#[test]
fn two_instances_share_a_group_without_duplicates() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    create_topic(a, "share", 4, &[]);
    produce(a, "share", &numbered(0..4000, 4));
    let places = ["share-1", "share-2"].map(|id| Place::new(id, &[("a", a), ("b", b)]));
    let command = "replicate --from a --to b --topic share --group share --batch-records 50";
    let first = places[0].start(command);
    let second = places[1].start(command);
    await_rows(b, "share", 4000);
    produce(a, "share", &numbered(4000..8000, 4));
    first.terminate().expect(0);
    produce(a, "share", &numbered(8000..8100, 4));
    await_rows(b, "share", 8100);
    second.terminate().expect(0);
    let expected: Vec<_> = read(a, "share")
        .into_iter()
        .map(|row| row.after(&[a.cluster_id()]))
        .collect();
    assert_same(&await_rows(b, "share", expected.len()), &expected);
    for partition in 0..4 {
        assert_eq!(committed(a, "share", "share", partition).unwrap().0, 2025);
    }
}

/// A slip in --group would double everything without a word.
#[test]
fn a_group_without_offsets_is_said_to_begin_anew() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("anew", &[("a", a), ("b", b)]);
    create_topic(a, "anew", 1, &[]);
    produce(a, "anew", &numbered(0..10, 1));
    let command = "replicate --from a --to b --topic anew --until-end";
    for (group, is_new, rows) in [("one", true, 10), ("one", false, 10), ("two", true, 20)] {
        let ended = place
            .run(&format!("{command} --group anew-{group}"))
            .expect(0);
        let told = ended.stderr.contains("has no offsets at the source");
        assert_eq!(told, is_new, "{group}: {}", ended.stderr);
        assert_eq!(await_rows(b, "anew", rows).len(), rows);
    }
}
