//! `gtc check`, and case timeout-above-ceiling.

use gtc_clusters::{Cluster, ClusterOptions, shared};

use crate::kafka::create_topic;
use crate::program::Place;

#[test]
fn a_sound_cluster_passes_and_every_precondition_is_named() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("check", &[("a", a)]);
    let ended = place.run("check --json").expect(0);
    let [findings] = &ended.json()[..] else {
        panic!("one value: {}", ended.stdout)
    };
    let findings = findings.as_array().unwrap();
    let level = |check: &str| {
        let found = findings.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("no {check}: {}", ended.stdout))["level"].clone()
    };
    for check in [
        "reachable",
        "distinct cluster",
        "authentication",
        "data plane",
        "transaction time-out",
        "transaction.version",
        "transactional ids",
        "unclean election",
        "group",
    ] {
        assert_eq!(level(check), "ok", "{check}: {}", ended.stdout);
    }
    // One broker keeps one copy: said, and no obstacle, unless one is strict.
    assert_eq!(level("transaction state"), "warn");
    place.run("check --strict").expect(1);
    let table = place.run("check").expect(0).stdout;
    assert!(table.starts_with("PARTICIPANT  CHECK"), "{table}");
}

#[test]
fn a_cluster_that_does_not_answer_fails_with_a_remedy() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    // A port on which nobody listens: it was free a moment ago, and belongs to no broker.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let place = Place::new("unreachable", &[("a", a)]);
    place.add_participant("b", &[("bootstrap.servers", &format!("127.0.0.1:{port}"))]);
    let ended = place.run("check --json").expect(1);
    let findings = &ended.json()[0];
    let of_b: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["participant"] == "b")
        .collect();
    assert_eq!(of_b.len(), 1, "{}", ended.stdout);
    assert_eq!(
        (&of_b[0]["check"], &of_b[0]["level"]),
        (&"reachable".into(), &"fail".into())
    );
    assert!(
        of_b[0]["remedy"]
            .as_str()
            .unwrap()
            .contains("bootstrap.servers"),
        "{}",
        of_b[0]
    );
    place.run("check --participant a").expect(0);
    place.run("check --participant c").expect(2);
}

/// A mirror between them would be refused; a check has to say so before.
#[test]
fn two_participants_that_are_one_cluster_fail() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("one-cluster", &[("a", a), ("again", a)]);
    let ended = place.run("check").expect(1);
    for part in [
        "fail: a distinct cluster",
        "fail: again distinct cluster",
        "one and the same cluster as `again`",
        "leave one of them out",
        a.cluster_id(),
    ] {
        assert!(ended.stdout.contains(part), "no {part} in {}", ended.stdout);
    }
    // One of them alone is sound.
    place.run("check --participant again").expect(0);
}

/// A cluster of its own with the ceiling that an untouched broker has.
#[test]
fn timeout_above_ceiling() {
    let options = ClusterOptions::new("ceiling").property("transaction.max.timeout.ms", "900000");
    let a = Cluster::start(options).unwrap();
    let place = Place::with(
        "ceiling",
        &[("a", &a)],
        &["transaction_timeout_ms = 3600000"],
    );
    let parts = ["3600000", "900000", "transaction.max.timeout.ms"];
    let ended = place.run("check --json").expect(1);
    let findings = &ended.json()[0];
    let finding = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["level"] == "fail");
    let text = finding.unwrap().to_string();
    for part in parts.iter().chain(&["transaction time-out"]) {
        assert!(text.contains(part), "no {part} in {text}");
    }
    // Refused at open as well, before anything is written.
    let [b] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::with(
        "ceiling-open",
        &[("a", &a), ("b", b)],
        &["transaction_timeout_ms = 3600000"],
    );
    create_topic(b, "ceiling", 1, &[]);
    let ended = place
        .run("replicate --from b --to a --topic ceiling --until-end")
        .expect(2);
    for part in parts.iter().chain(&["`a`"]) {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    // Without a choice of the user's the ceiling is taken, and its shortness is warned of.
    let place = Place::new("ceiling-default", &[("a", &a)]);
    let warned = place.run("check").expect(0).stdout;
    assert!(warned.contains("warn: a transaction time-out"), "{warned}");
}
