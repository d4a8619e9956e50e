//! What can never succeed ends at once, with what is needed.

use gtc_clusters::shared;

use crate::kafka::{Row, create_topic, numbered, produce, read};
use crate::program::Place;

#[test]
fn too_few_branches_for_the_destinations_are_refused_at_the_start() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("few-branches", &[("a", a), ("b", b)]);
    place.limit(&["branches_max = 1"]);
    create_topic(a, "few-branches", 1, &[]);
    let ended = place
        .run("replicate --from a --to b --topic few-branches --until-end")
        .expect(2);
    for part in ["branches_max is 1", "raise it", "to 2 or more"] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
}

#[test]
fn a_record_that_a_destination_never_takes_ends_the_mirror() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("oversize", &[("a", a), ("b", b)]);
    create_topic(a, "oversize", 1, &[]);
    create_topic(b, "oversize", 1, &[("max.message.bytes", "1000")]);
    produce(a, "oversize", &numbered(0..5, 1));
    produce(a, "oversize", &[Row::new(0, "large", &"x".repeat(5000))]);
    let ended = place
        .run("replicate --from a --to b --topic oversize --until-end --batch-records 100")
        .expect(1);
    for part in ["b voted no", "trying again cannot help", "max"] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    assert!(
        read(b, "oversize").len() <= 5,
        "nothing of its batch is visible"
    );
}

#[test]
fn a_pattern_that_matches_nothing_is_said_to_do_so() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("nothing", &[("a", a), ("b", b)]);
    let ended = place
        .run("replicate --from a --to b --topics no-such-.* --until-end --json")
        .expect(0);
    assert!(ended.stderr.contains("no topic"), "{}", ended.stderr);
    let last = ended.json().pop().unwrap();
    assert_eq!(
        (&last["event"], &last["topics"]),
        (&"finished".into(), &0.into())
    );
    let warning = last["warnings"][0].as_str().unwrap();
    assert!(warning.contains("correct --topics"), "{warning}");
}
