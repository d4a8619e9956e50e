//! What happens to topics.

use gtc_clusters::shared;

use crate::kafka::{
    add_partitions, await_rows, await_true, create_topic, numbered, partitions_of, produce, read,
    settings_of,
};
use crate::program::Place;

#[test]
fn missing_topics_are_created_like_the_source_s() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("creates", &[("a", a), ("b", b)]);
    create_topic(
        a,
        "creates",
        3,
        &[("cleanup.policy", "compact"), ("segment.ms", "600000")],
    );
    place
        .run("replicate --from a --to b --topic creates --until-end")
        .expect(0);
    assert_eq!(partitions_of(b, "creates"), 3);
    assert_eq!(settings_of(b, "creates"), settings_of(a, "creates"));
}

#[test]
fn a_destination_with_fewer_partitions_is_refused_before_anything_is_written() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("narrow", &[("a", a), ("b", b)]);
    create_topic(a, "narrow", 2, &[]);
    create_topic(b, "narrow", 1, &[]);
    produce(a, "narrow", &numbered(0..4, 2));
    let ended = place
        .run("replicate --from a --to b --topic narrow --until-end")
        .expect(2);
    for part in [
        "`b`",
        "topic narrow",
        "1 partitions",
        "2 at the source",
        "--extend-topics",
    ] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    assert!(read(b, "narrow").is_empty());
    place
        .run("replicate --from a --to b --topic narrow --until-end --extend-topics")
        .expect(0);
    assert_eq!(await_rows(b, "narrow", 4).len(), 4);
}

#[test]
fn topics_that_are_missing_are_named() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("missing", &[("a", a), ("b", b)]);
    let absent = place
        .run("replicate --from a --to b --topic nowhere --until-end")
        .expect(2);
    assert!(
        absent.stderr.contains("`a`") && absent.stderr.contains("nowhere"),
        "{absent:?}"
    );
    create_topic(a, "missing", 1, &[]);
    let kept =
        place.run("replicate --from a --to b --topic missing --until-end --no-create-topics");
    let kept = kept.expect(2);
    assert!(
        kept.stderr.contains("`b`") && kept.stderr.contains("missing"),
        "{kept:?}"
    );
}

#[test]
fn a_regex_picks_up_new_topics_and_growing_ones_while_it_runs() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("regex", &[("a", a), ("b", b)]);
    create_topic(a, "regex-1", 1, &[]);
    create_topic(a, "other-regex-1", 1, &[]);
    produce(a, "regex-1", &numbered(0..10, 1));
    let running = place.start("replicate --from a --to b --topics regex-.*");
    await_rows(b, "regex-1", 10);
    create_topic(a, "regex-2", 2, &[]);
    produce(a, "regex-2", &numbered(0..10, 2));
    await_rows(b, "regex-2", 10);
    add_partitions(a, "regex-1", 3);
    produce(a, "regex-1", &numbered(10..40, 3));
    await_true("the destination to grow", || {
        partitions_of(b, "regex-1") == 3
    });
    let rows = await_rows(b, "regex-1", 40);
    assert_eq!(rows.len(), 40);
    assert_eq!(partitions_of(b, "other-regex-1"), 0);
    running.terminate().expect(0);
}
