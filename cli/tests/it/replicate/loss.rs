//! Case truncated-source: what is gone before it was mirrored is reported, never skipped in
//! silence.

use gtc_clusters::{Cluster, shared};

use crate::kafka::{
    await_rows, committed, create_topic, delete_records, delete_topic, numbered, partitions_of,
    produce, read,
};
use crate::program::Place;

/// Mirrors the first ten records of a fresh topic.
fn mirrored_ten(topic: &str) -> (&'static Cluster, &'static Cluster, Place) {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new(topic, &[("a", a), ("b", b)]);
    create_topic(a, topic, 1, &[]);
    produce(a, topic, &numbered(0..10, 1));
    place.run(&until_end(topic)).expect(0);
    assert_eq!(await_rows(b, topic, 10).len(), 10);
    (a, b, place)
}

fn until_end(topic: &str) -> String {
    format!("replicate --from a --to b --topic {topic} --until-end")
}

#[test]
fn records_deleted_before_they_were_mirrored_stop_the_mirror() {
    let (a, b, place) = mirrored_ten("truncated");
    produce(a, "truncated", &numbered(10..30, 1));
    delete_records(a, "truncated", 0, 25);
    let ended = place.run(&until_end("truncated")).expect(6);
    for part in [
        "`a`",
        "truncated-0",
        "offsets 10 to 24",
        "--on-loss continue",
    ] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    assert_eq!(read(b, "truncated").len(), 10, "nothing may be skipped");
    assert_eq!(committed(a, &place.group(), "truncated", 0).unwrap().0, 10);

    let command = until_end("truncated") + " --on-loss continue --json";
    let ended = place.run(&command).expect(0);
    assert_eq!(ended.json().last().unwrap()["lost"], 15);
    assert!(
        ended.stderr.contains("offsets 10 to 24"),
        "{}",
        ended.stderr
    );
    assert_eq!(await_rows(b, "truncated", 15).len(), 15);
}

#[test]
fn a_topic_made_again_under_its_name_stops_the_mirror() {
    let (a, b, place) = mirrored_ten("recreated");
    delete_topic(a, "recreated");
    create_topic(a, "recreated", 1, &[]);
    produce(a, "recreated", &numbered(100..130, 1));
    let ended = place.run(&until_end("recreated")).expect(6);
    assert!(
        ended.stderr.contains("deleted and made again"),
        "{}",
        ended.stderr
    );
    assert_eq!(await_rows(b, "recreated", 10).len(), 10);
    place
        .run(&(until_end("recreated") + " --on-loss continue"))
        .expect(0);
    assert_eq!(await_rows(b, "recreated", 40).len(), 40);
}

/// Every partition is named, and that nothing is missing where everything had been mirrored.
#[test]
fn a_topic_made_again_after_all_was_mirrored_is_told_apart() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let topic = "recreated-whole";
    let place = Place::new(topic, &[("a", a), ("b", b)]);
    create_topic(a, topic, 2, &[]);
    produce(a, topic, &numbered(0..10, 2));
    place.run(&until_end(topic)).expect(0);
    delete_topic(a, topic);
    create_topic(a, topic, 2, &[]);
    let ended = place.run(&until_end(topic)).expect(6);
    for partition in 0..2 {
        let told = format!(
            "{topic}-{partition}: the topic was deleted and made again; everything up to its end, when \
             that was last seen at offset 5, had been mirrored"
        );
        assert!(
            ended.stderr.contains(&told),
            "no {told} in {}",
            ended.stderr
        );
    }
}

/// What the group has passed is not in a topic that is made anew, whoever makes it.
#[test]
fn a_destination_topic_that_is_deleted_stops_the_mirror_and_the_next_start() {
    let topic = "target";
    let (a, b, place) = mirrored_ten(topic);
    let running = place.start(&format!("replicate --from a --to b --topic {topic}"));
    produce(a, topic, &numbered(10..20, 1));
    await_rows(b, topic, 20);
    delete_topic(b, topic);
    let parts = [
        "participant `b`",
        "topic target",
        "target-0 before offset 20",
        "--on-loss continue",
    ];
    let ended = running.await_end().expect(6);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    produce(a, topic, &numbered(20..25, 1));
    let ended = place.run(&until_end(topic)).expect(6);
    for part in parts.iter().chain(&["is missing there"]) {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    assert_eq!(partitions_of(b, topic), 0, "nothing is made anew by itself");

    let ended = place.run(&(until_end(topic) + " --on-loss continue --json"));
    let last = ended.expect(0).json().pop().unwrap();
    let warning = last["warnings"][0].as_str().unwrap();
    assert!(warning.contains("target-0 before offset 20"), "{warning}");
    assert_eq!(await_rows(b, topic, 5).len(), 5);
    // Told once.
    let again = place.run(&(until_end(topic) + " --json")).expect(0);
    assert_eq!(
        again.json().pop().unwrap()["warnings"],
        serde_json::json!([])
    );
}

/// Another topic under the name is not what was mirrored into.
#[test]
fn a_destination_topic_made_again_between_two_runs_stops_the_mirror() {
    let topic = "target-again";
    let (a, b, place) = mirrored_ten(topic);
    delete_topic(b, topic);
    create_topic(b, topic, 1, &[]);
    produce(a, topic, &numbered(10..12, 1));
    let ended = place.run(&until_end(topic)).expect(6);
    assert!(
        ended.stderr.contains("was deleted there and made again"),
        "{}",
        ended.stderr
    );
    assert!(read(b, topic).is_empty(), "nothing is written to it");
    place
        .run(&(until_end(topic) + " --on-loss continue"))
        .expect(0);
    assert_eq!(await_rows(b, topic, 2).len(), 2);
    place.run(&until_end(topic)).expect(0);
}

#[test]
fn a_topic_made_again_while_the_mirror_runs_stops_it() {
    let (a, b, place) = mirrored_ten("recreated-live");
    let running = place.start("replicate --from a --to b --topic recreated-live");
    produce(a, "recreated-live", &numbered(10..20, 1));
    await_rows(b, "recreated-live", 20);
    delete_topic(a, "recreated-live");
    create_topic(a, "recreated-live", 1, &[]);
    produce(a, "recreated-live", &numbered(100..150, 1));
    let ended = running.await_end().expect(6);
    assert!(
        ended.stderr.contains("deleted and made again"),
        "{}",
        ended.stderr
    );
    assert_eq!(
        read(b, "recreated-live").len(),
        20,
        "nothing of the new topic may be mixed in"
    );
}

#[test]
fn retention_that_passes_what_was_mirrored_is_no_loss() {
    let (a, b, place) = mirrored_ten("retained");
    delete_records(a, "retained", 0, 10);
    produce(a, "retained", &numbered(10..12, 1));
    place.run(&until_end("retained")).expect(0);
    assert_eq!(await_rows(b, "retained", 12).len(), 12);
}
