//! Plants each anomaly on real clusters, by plain producers and a journal written by hand, and the auditor has to name it,
//! and nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gtc_chaos::audit::{self, DESCRIPTION, Description, Kind, NOTES, Note, Site, Verdict};
use gtc_chaos::journal::Journal;
use gtc_chaos::kafka::{Connection, Isolation};
use gtc_chaos::load::Loader;
use gtc_chaos::record::Record;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::{Value, json};

/// The time-out of the transactions of cluster b; those of a never expire.
const TIMEOUT_MS: u64 = 15_000;
const BEGAN_MS: u64 = 1_000_000;
const ONE: &str = "w1-0-1-1";
const TWO: &str = "w1-0-1-2";

/// Two clusters with topics of one partition, and the files of a run.
struct World {
    name: &'static str,
    connections: Vec<Connection>,
    directory: PathBuf,
    journal: String,
    at: u64,
}

impl World {
    fn new(name: &'static str) -> Self {
        let clusters = gtc_clusters::shared::plain(2).unwrap();
        let connections: Vec<_> = ["a", "b"]
            .iter()
            .zip(clusters)
            .map(|(name, cluster)| Connection::new(*name, cluster.client_properties()))
            .collect();
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("audit-{name}"));
        std::fs::remove_dir_all(&directory).ok();
        std::fs::create_dir_all(&directory).unwrap();
        let world = Self {
            name,
            connections,
            directory,
            journal: String::new(),
            at: BEGAN_MS,
        };
        for connection in &world.connections {
            connection.create_topic(&world.topic(), 1).unwrap();
            connection.create_topic(&world.copies(), 1).unwrap();
        }
        world
    }

    fn topic(&self) -> String {
        format!("audit-{}", self.name)
    }

    fn copies(&self) -> String {
        format!("audit-{}-copies", self.name)
    }

    /// Adds a line to the journal, a moment later.
    fn line(&mut self, mut line: Value) -> &mut Self {
        self.at += 10;
        line["at"] = self.at.into();
        self.journal.push_str(&format!("{line}\n"));
        self
    }

    /// A transaction of `count` records for each cluster, up to its question.
    fn plan(&mut self, tx: &str, count: u64, asks: &str) -> &mut Self {
        let topic = self.topic();
        let writes = json!({"a": {&topic: {"0": count}}, "b": {&topic: {"0": count}}});
        let plan = json!({"keyed": true, "ends": asks, "writes": writes});
        self.line(json!({"kind": "planned", "tx": tx, "plan": plan}))
            .line(json!({"kind": "begun", "tx": tx, "id": "1-1"}))
            .line(json!({"kind": "asked", "tx": tx, "what": asks}))
    }

    fn told(&mut self, tx: &str, what: &str) -> &mut Self {
        self.line(json!({"kind": "told", "tx": tx, "what": what}))
    }

    fn resolved(&mut self, tx: &str, what: &str) -> &mut Self {
        self.line(json!({"kind": "resolved", "tx": tx, "what": what}))
    }

    /// A transaction that made a copy of the record at `offset`.
    fn plan_copy(&mut self, tx: &str, offset: i64) -> &mut Self {
        let writes = json!({"b": {self.copies(): {"0": 1}}});
        let sources = [format!("0:{offset}")];
        let plan = json!({"keyed": true, "ends": "commit", "writes": writes, "sources": sources});
        self.line(json!({"kind": "planned", "tx": tx, "plan": plan}))
            .line(json!({"kind": "asked", "tx": tx, "what": "commit"}))
            .told(tx, "committed")
    }

    /// The outcome of a branch on b, in words.
    fn mixed(&mut self, tx: &str, state: &str) -> &mut Self {
        let branches =
            json!([{"cluster": "a", "state": "acknowledged"}, {"cluster": "b", "state": state}]);
        self.line(json!({"kind": "mixed", "tx": tx, "branches": branches}))
    }

    /// Writes visible records of a transaction, by their numbers.
    fn show(&self, cluster: usize, tx: &str, numbers: &[u64]) -> &Self {
        let values = numbers.iter().map(|k| format!("tx={tx};k={k};pad=x"));
        self.write(cluster, &self.topic(), values.collect())
    }

    /// Writes a visible copy of the record at `offset` of a.
    fn show_copy(&self, tx: &str, offset: i64) -> &Self {
        self.write(
            1,
            &self.copies(),
            vec![format!("tx={tx};k=0;src=0:{offset}")],
        )
    }

    fn write(&self, cluster: usize, topic: &str, values: Vec<String>) -> &Self {
        let loader = Loader::idempotent(&self.connections[cluster], topic).unwrap();
        let records: Vec<Record> = values.into_iter().map(record).collect();
        loader.load(&records, &mut Journal::new("plant")).unwrap();
        self
    }

    /// Moves the group on a.
    fn commit(&self, offset: i64) -> &Self {
        let consumer = self.connections[0].consumer(Isolation::Committed, &self.topic());
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic(), 0, Offset::Offset(offset))
            .unwrap();
        consumer.unwrap().commit(&list, CommitMode::Sync).unwrap();
        self
    }

    fn note(&self, note: &Note) {
        let text = serde_json::to_string(note).unwrap() + "\n";
        std::fs::write(self.directory.join(NOTES), text).unwrap();
    }

    fn audit(&mut self) -> Verdict {
        self.line(json!({"kind": "finished"}));
        let site = |name: &str, timeout_ms| Site {
            name: name.into(),
            timeout_ms,
        };
        let description = Description {
            clusters: vec![site("a", u64::MAX), site("b", TIMEOUT_MS)],
            topic: self.topic(),
            copies: self.copies(),
            source: "a".into(),
            target: "b".into(),
            group: self.topic(),
        };
        let text = serde_json::to_string(&description).unwrap();
        std::fs::write(self.directory.join(DESCRIPTION), text).unwrap();
        std::fs::write(self.directory.join("w1.journal"), &self.journal).unwrap();
        audit::judge(&audit::evidence(&self.directory, &self.connections).unwrap())
    }

    /// The auditor names these kinds, and no others.
    fn expect(&mut self, kinds: &[Kind]) -> Verdict {
        let verdict = self.audit();
        let found: BTreeSet<Kind> = verdict.anomalies.iter().map(|one| one.kind).collect();
        let expected: BTreeSet<Kind> = kinds.iter().copied().collect();
        assert_eq!(found, expected, "{}", verdict.to_text());
        verdict
    }
}

fn record(value: String) -> Record {
    Record {
        value: Some(value.into_bytes()),
        ..Record::default()
    }
}

#[test]
fn what_was_told_and_what_is_shown_agree() {
    let mut world = World::new("clean");
    world.plan(ONE, 2, "commit").told(ONE, "committed");
    world.plan(TWO, 1, "abort").told(TWO, "aborted");
    world.plan_copy("w1-9-1-3", 0).plan_copy("w1-9-1-4", 1);
    world.show(0, ONE, &[0, 1]).show(1, ONE, &[0, 1]);
    world
        .show_copy("w1-9-1-3", 0)
        .show_copy("w1-9-1-4", 1)
        .commit(2);
    let verdict = world.expect(&[]);
    assert_eq!(
        (verdict.transactions, verdict.records, verdict.copies),
        (4, 6, 2)
    );
    assert!(verdict.to_text().contains("audit: clean"));
}

#[test]
fn a_transaction_on_one_cluster_only_is_torn_across() {
    let mut world = World::new("torn-across");
    world
        .plan(ONE, 1, "commit")
        .told(ONE, "in-doubt")
        .resolved(ONE, "committed");
    world.show(0, ONE, &[0]);
    let verdict = world.expect(&[Kind::TornAcross]);
    let story = &verdict.stories[0];
    for part in [
        "\"kind\":\"asked\"",
        "a shows  0@",
        "b shows  \n",
        "not on b",
    ] {
        assert!(story.contains(part), "{story}");
    }
}

#[test]
fn a_part_of_a_branch_is_torn_within() {
    let mut world = World::new("torn-within");
    world.plan(ONE, 2, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0, 1]).show(1, ONE, &[1]);
    world.expect(&[Kind::TornWithin]);
}

#[test]
fn what_nobody_committed_is_an_aborted_read() {
    let mut world = World::new("aborted-read");
    world.plan(ONE, 1, "abort").told(ONE, "aborted");
    world.show(0, ONE, &[0]).show(1, ONE, &[0]);
    world.expect(&[Kind::AbortedRead]);
}

#[test]
fn a_copy_of_what_is_not_committed_is_an_aborted_read() {
    let mut world = World::new("aborted-source");
    world.plan(ONE, 1, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0]).show(1, ONE, &[0]);
    world.plan_copy(TWO, 0).plan_copy("w1-0-1-3", 1);
    world.show_copy(TWO, 0).show_copy("w1-0-1-3", 1).commit(2);
    world.expect(&[Kind::AbortedRead]);
}

#[test]
fn what_was_found_committed_and_is_nowhere_is_lost() {
    let mut world = World::new("lost");
    world
        .plan(ONE, 1, "commit")
        .told(ONE, "in-doubt")
        .resolved(ONE, "committed");
    world.expect(&[Kind::Lost]);
}

#[test]
fn a_record_twice_and_a_source_consumed_twice_are_duplicated() {
    let mut world = World::new("duplicated");
    world.plan(ONE, 1, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0]).show(1, ONE, &[0, 0]);
    world.plan_copy(TWO, 0).plan_copy("w2-0-1-1", 0);
    world.show_copy(TWO, 0).show_copy("w2-0-1-1", 0).commit(1);
    let verdict = world.expect(&[Kind::Duplicated]);
    assert_eq!(verdict.count(Kind::Duplicated), 2);
}

#[test]
fn a_later_transaction_of_a_lane_before_an_earlier_one_is_out_of_order() {
    let mut world = World::new("order");
    for tx in [ONE, TWO] {
        world.plan(tx, 1, "commit").told(tx, "committed");
    }
    world.show(0, ONE, &[0]).show(0, TWO, &[0]);
    world.show(1, TWO, &[0]).show(1, ONE, &[0]);
    let verdict = world.expect(&[Kind::OutOfOrder]);
    assert_eq!(verdict.count(Kind::OutOfOrder), 1);
}

#[test]
fn a_copy_behind_that_of_a_later_source_is_out_of_order() {
    let mut world = World::new("order-of-copies");
    world.plan(ONE, 2, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0, 1]).show(1, ONE, &[0, 1]);
    world.plan_copy(TWO, 1).plan_copy("w2-0-1-1", 0);
    world.show_copy(TWO, 1).show_copy("w2-0-1-1", 0).commit(2);
    world.expect(&[Kind::OutOfOrder]);
}

#[test]
fn offsets_that_passed_a_record_without_a_copy_are_ahead() {
    let mut world = World::new("ahead");
    world.plan(ONE, 1, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0]).show(1, ONE, &[0]).commit(1);
    world.expect(&[Kind::OffsetsAhead]);
}

#[test]
fn offsets_before_a_record_that_has_its_copy_are_behind() {
    let mut world = World::new("behind");
    world.plan(ONE, 1, "commit").told(ONE, "committed");
    world.show(0, ONE, &[0]).show(1, ONE, &[0]);
    world.plan_copy(TWO, 0).show_copy(TWO, 0);
    world.expect(&[Kind::OffsetsBehind]);
}

#[test]
fn without_an_answer_or_with_something_listed_it_is_left_in_doubt() {
    let mut world = World::new("in-doubt");
    world.plan(ONE, 1, "commit");
    world.line(json!({"kind": "left", "tx": TWO, "state": "completing"}));
    let verdict = world.expect(&[Kind::InDoubtLeft]);
    assert_eq!(verdict.count(Kind::InDoubtLeft), 2);
}

#[test]
fn an_open_transaction_holds_the_stable_offset() {
    let mut world = World::new("stuck");
    let topic = world.topic();
    let writer = Loader::transactional(&world.connections[1], &topic, &topic).unwrap();
    writer
        .leave_open(&[record(format!("tx={ONE};k=0"))])
        .unwrap();
    world.plan(ONE, 1, "commit").told(ONE, "aborted");
    world.expect(&[Kind::StableOffsetStuck]);
}

#[test]
fn told_aborted_and_visible() {
    let mut world = World::new("told-aborted");
    world.plan(ONE, 1, "commit").told(ONE, "aborted");
    world.plan(TWO, 1, "commit").resolved(TWO, "no-record");
    for tx in [ONE, TWO] {
        world.show(0, tx, &[0]).show(1, tx, &[0]);
    }
    let verdict = world.expect(&[Kind::ToldAbortedVisible]);
    assert_eq!(verdict.count(Kind::ToldAbortedVisible), 2);
}

#[test]
fn told_committed_and_missing() {
    let mut world = World::new("told-committed");
    world.plan(ONE, 1, "commit").told(ONE, "committed");
    world.expect(&[Kind::ToldCommittedMissing]);
}

#[test]
fn a_branch_that_expired_without_a_word_is_an_unreported_heuristic() {
    let mut world = World::new("unreported");
    world.plan(ONE, 1, "commit").told(ONE, "in-doubt");
    world.at += TIMEOUT_MS;
    world.resolved(ONE, "committed").show(0, ONE, &[0]);
    world.expect(&[Kind::HeuristicUnreported]);
}

#[test]
fn a_report_of_one_branch_does_not_cover_another() {
    let mut world = World::new("half-reported");
    world.plan(ONE, 1, "commit").told(ONE, "mixed");
    world.at += TIMEOUT_MS;
    world.mixed(ONE, "heuristic abort");
    world.expect(&[Kind::HeuristicUnreported]);
}

#[test]
fn a_heuristic_outcome_that_was_reported_is_no_anomaly() {
    let mut world = World::new("reported");
    world.plan(ONE, 1, "commit").told(ONE, "mixed");
    world.at += TIMEOUT_MS;
    world.mixed(ONE, "heuristic abort").show(0, ONE, &[0]);
    world.expect(&[]);
}

#[test]
fn a_report_against_what_is_shown_or_before_the_time_out_is_without_cause() {
    let mut world = World::new("without-cause");
    // It says aborted on b, and b shows it.
    world.plan(ONE, 1, "commit").told(ONE, "mixed");
    world.at += TIMEOUT_MS;
    world.mixed(ONE, "heuristic abort");
    // No time-out has passed.
    world
        .plan(TWO, 1, "commit")
        .told(TWO, "mixed")
        .mixed(TWO, "heuristic abort");
    // Nobody ever says what happened.
    world
        .plan("w1-0-1-3", 1, "commit")
        .told("w1-0-1-3", "mixed");
    world
        .show(0, ONE, &[0])
        .show(1, ONE, &[0])
        .show(0, TWO, &[0]);
    let verdict = world.expect(&[Kind::HeuristicWithoutCause]);
    assert_eq!(verdict.count(Kind::HeuristicWithoutCause), 3);
}

#[test]
fn a_record_of_nobody_is_unexpected() {
    let mut world = World::new("unexpected");
    world.show(1, "w7-0-1-1", &[0]);
    world.expect(&[Kind::Unexpected]);
}

#[test]
fn two_ends_of_one_transaction_are_told_otherwise() {
    let mut world = World::new("otherwise");
    for (number, (first, then)) in [
        ("committed", "aborted"),
        ("committed", "no-record"),
        ("aborted", "committed"),
    ]
    .iter()
    .enumerate()
    {
        let tx = format!("w1-0-1-{}", number + 5);
        world
            .plan(&tx, 1, "commit")
            .told(&tx, first)
            .resolved(&tx, then);
        world.show(0, &tx, &[0]).show(1, &tx, &[0]);
    }
    world
        .plan(TWO, 1, "commit")
        .told(TWO, "committed")
        .told(TWO, "aborted");
    world.plan("w1-0-1-9", 1, "commit");
    world
        .told("w1-0-1-9", "in-doubt")
        .resolved("w1-0-1-9", "no-record");
    let verdict = world.expect(&[Kind::ToldOtherwise]);
    assert_eq!(
        verdict.count(Kind::ToldOtherwise),
        4,
        "{}",
        verdict.to_text()
    );
}

#[test]
fn what_was_not_planned_is_unexpected() {
    let mut world = World::new("unplanned");
    world.told(ONE, "committed");
    world.plan(TWO, 1, "commit").told(TWO, "committed");
    world.show(0, TWO, &[0, 1]).show(1, TWO, &[0]);
    // Its plan names no partition of b.
    let writes = json!({"a": {world.topic(): {"0": 1}}});
    let plan = json!({"keyed": true, "ends": "commit", "writes": writes});
    world.line(json!({"kind": "planned", "tx": "w1-0-1-3", "plan": plan}));
    world.line(json!({"kind": "asked", "tx": "w1-0-1-3", "what": "commit"}));
    world.told("w1-0-1-3", "committed");
    world.show(0, "w1-0-1-3", &[0]).show(1, "w1-0-1-3", &[0]);
    let verdict = world.expect(&[Kind::Unexpected]);
    assert_eq!(verdict.count(Kind::Unexpected), 3);
}

#[test]
fn a_heuristic_outcome_without_a_key_is_that_of_the_transaction_with_its_id() {
    let mut world = World::new("by-id");
    world.plan(ONE, 1, "commit").told(ONE, "mixed");
    world.at += TIMEOUT_MS;
    world.mixed("1-1", "heuristic abort").show(0, ONE, &[0]);
    world.expect(&[]);
}

#[test]
fn what_a_journal_says_in_unknown_words_is_refused() {
    for (kind, what) in [
        ("told", "commited"),
        ("told", ""),
        ("resolved", "in-doubt"),
        ("asked", ""),
    ] {
        let line = json!({"at": 1, "kind": kind, "tx": ONE, "what": what}).to_string();
        let refused = audit::Journals::default().add(&line).unwrap_err();
        assert!(refused.to_string().contains("is none of"), "{refused}");
    }
    let line = json!({"at": 1, "kind": "planned", "tx": ONE}).to_string();
    assert!(audit::Journals::default().add(&line).is_err());
}

#[test]
fn one_cluster_under_two_names_is_refused() {
    let mut world = World::new("one-cluster");
    world.audit();
    let properties = gtc_clusters::shared::plain(1).unwrap()[0].client_properties();
    world.connections[1] = Connection::new("b", properties);
    let refused = audit::evidence(&world.directory, &world.connections).unwrap_err();
    assert!(refused.to_string().contains("are one cluster"), "{refused}");
}

#[test]
fn a_participant_given_up_and_a_crashed_worker_are_told() {
    let mut world = World::new("processes");
    world.line(json!({"kind": "participant-stopped", "participant": "a", "why": "fenced"}));
    world.note(&Note {
        at: BEGAN_MS,
        what: "crashed".into(),
        target: "w1".into(),
        how: "exit status: 101".into(),
    });
    world.expect(&[Kind::ParticipantStopped, Kind::Crashed]);
}

#[test]
fn every_kind_is_planted_here() {
    let source = include_str!("audit.rs");
    for (kind, name, _) in Kind::TABLE {
        assert!(
            source.contains(&format!("expect(&[Kind::{kind:?}")) || *kind == Kind::Crashed,
            "{name}"
        );
    }
}
