//! A lost log: what it left open shows only on the clusters, and only an operator ends it (R12).

use gtc_clusters::shared;

use crate::kafka::{await_rows, await_true, create_topic, end, high_watermark, numbered, produce};
use crate::program::Place;

/// Who kills an owner finds what it had not decided, which is in no log, and how to end it.
#[test]
fn what_a_killed_owner_had_not_decided_is_listed_until_it_is_recovered() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("undecided", &[("a", a), ("b", b)]);
    create_topic(a, "undecided", 1, &[]);
    create_topic(b, "undecided", 1, &[]);
    produce(a, "undecided", &numbered(0..20_000, 1));
    let running = place.start(
        "replicate --from a --to b --topic undecided --batch-records 20000 --linger-ms 60000",
    );
    await_true("records to arrive", || {
        high_watermark(b, "undecided", 0) > 0
    });
    running.kill();

    let listed = place.run("list").expect(3).stdout;
    for part in [
        "OPEN BRANCH, NOT DECIDED",
        "b:gtc.undecided.",
        "undecided-0",
        "gtc recover",
    ] {
        assert!(listed.contains(part), "no {part} in {listed}");
    }
    let report = place.run("list --json").expect(3).json().remove(0);
    assert_eq!(report["foreign"].as_array().unwrap().len(), 0, "{report}");
    let undecided = report["undecided"].as_array().unwrap();
    let at_b = undecided.iter().find(|branch| branch["participant"] == "b");
    assert_eq!(at_b.unwrap()["state"], "Ongoing", "{report}");
    let offline = place.run("list --offline").expect(0).stdout;
    assert!(offline.contains("what was not decided"), "{offline}");

    place.run("recover").expect(0);
    assert_eq!(place.run("list").expect(0).stdout, "nothing is open\n");
}

#[test]
fn branches_of_a_lost_log_are_shown_by_all_that_they_concern_and_ended_by_hand() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("lost", &[("a", a), ("b", b)]);
    create_topic(a, "lost", 1, &[]);
    create_topic(b, "lost", 1, &[]);
    produce(a, "lost", &numbered(0..20_000, 1));
    let running = place
        .start("replicate --from a --to b --topic lost --batch-records 20000 --linger-ms 60000");
    // Killed while its batch is being written: the branch at b is open.
    await_true("records to arrive", || high_watermark(b, "lost", 0) > 0);
    running.kill();
    assert!(
        end(b, "lost", 0) < high_watermark(b, "lost", 0),
        "nothing is open"
    );
    place.lose_log();

    let listed = place.run("list").expect(3).stdout;
    for part in ["not started yet", "b:gtc.lost.", "lost-0", "gtc resolve"] {
        assert!(listed.contains(part), "no {part} in {listed}");
    }
    let offline = place.run("list --offline").expect(0).stdout;
    assert!(offline.contains("were not asked"), "{offline}");
    // The branch at b, and the group's at a where the kill came late.
    let report = place.run("list --json").expect(3).json().remove(0);
    let foreign = report["foreign"].as_array().unwrap();
    let branches = foreign.iter().map(|branch| {
        let (participant, id) = (&branch["participant"], &branch["transactional_id"]);
        format!("{}:{}", participant.as_str().unwrap(), id.as_str().unwrap())
    });
    let branches: Vec<String> = branches.collect();
    let branch = branches
        .iter()
        .find(|branch| branch.starts_with("b:"))
        .unwrap();

    let findings = place.run("check --json").expect(1).json().remove(0);
    let found =
        findings.as_array().unwrap().iter().find(|finding| {
            finding["check"] == "foreign branches" && finding["participant"] == "b"
        });
    let found = found.unwrap();
    assert_eq!(found["level"], "fail", "{found}");
    assert!(
        found["detail"].as_str().unwrap().contains("lost-0"),
        "{found}"
    );
    assert!(
        found["remedy"].as_str().unwrap().contains(branch),
        "{found}"
    );

    // The new log exists from here on.
    let refused = place
        .run("replicate --from a --to b --topic lost --until-end")
        .expect(3);
    for part in [branch.as_str(), "gtc resolve"] {
        assert!(
            refused.stderr.contains(part),
            "no {part} in {}",
            refused.stderr
        );
    }
    place.run("resolve b:gtc.lost.unknown --abort").expect(5);
    for branch in &branches {
        place.run(&format!("resolve {branch} --abort")).expect(0);
    }
    place.run("list").expect(0);
    place
        .run("replicate --from a --to b --topic lost --until-end")
        .expect(0);
    assert_eq!(await_rows(b, "lost", 20_000).len(), 20_000);
}
