use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use RecordError::Order;

fn id(sequence: u64) -> TransactionId {
    TransactionId {
        incarnation: Incarnation(1),
        sequence,
    }
}

fn open(ledger: &Ledger, sequence: u64) -> &OpenEntry {
    ledger.open.get(&id(sequence)).expect("it is open")
}

fn name(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn key(text: &str) -> Option<Arc<[u8]>> {
    Some(Arc::from(text.as_bytes()))
}

fn producer(epoch: i16) -> ProducerIdentity {
    ProducerIdentity {
        producer_id: 5,
        epoch,
    }
}

fn branch(participant: &str, transactional_id: &str, own: bool) -> DecidedBranch {
    DecidedBranch {
        participant: name(participant),
        identity: BranchIdentity {
            transactional_id: name(transactional_id),
            producer: producer(1),
            start_time_ms: 9,
            timeout_ms: 1000,
            version_class: VersionClass::V1,
        },
        own,
    }
}

fn started(incarnation: u32) -> Record {
    Record::Started {
        incarnation: Incarnation(incarnation),
        unix_ms: 1,
    }
}

fn own(sequence: u64, participant: &str, transactional_id: &str) -> Record {
    Record::OwnEnlisted {
        transaction: id(sequence),
        participant: name(participant),
        transactional_id: name(transactional_id),
        producer: producer(1),
        version_class: VersionClass::V2,
    }
}

fn decided(sequence: u64, with: Option<Arc<[u8]>>) -> Record {
    Record::Decided {
        transaction: id(sequence),
        key: with,
        unix_ms: 77,
        branches: Arc::new([branch("eu", "a", false), branch("us", "b", true)]),
    }
}

fn acknowledged(sequence: u64, participant: &str, transactional_id: &str) -> Record {
    Record::Acknowledged {
        transaction: id(sequence),
        participant: name(participant),
        transactional_id: name(transactional_id),
    }
}

fn heuristic(sequence: u64, decision: Decision) -> Record {
    Record::Heuristic {
        transaction: id(sequence),
        decision,
        participant: name("eu"),
        transactional_id: name("a"),
        kind: HeuristicKind::Hazard,
        detail: name("expired"),
    }
}

fn completed(sequence: u64, decision: Decision, with: Option<Arc<[u8]>>) -> Record {
    Record::Completed {
        transaction: id(sequence),
        decision,
        key: with,
        unix_ms: 78,
    }
}

fn ledger(records: impl IntoIterator<Item = Record>) -> Ledger {
    let mut ledger = Ledger::new();
    for record in records {
        ledger.apply(record).expect("in order");
    }
    ledger
}

#[track_caller]
fn replays(ledger: &Ledger) {
    let again = self::ledger(ledger.snapshot(Rules::default()));
    assert_eq!(&again, ledger);
}

#[test]
fn outcomes_and_views_follow_the_records() {
    let mut ledger = ledger([started(1), own(1, "us", "b")]);
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::Undecided);
    ledger.apply(decided(1, key("k"))).expect("in order");
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::InDoubt);
    assert_eq!(ledger.find_key(b"k"), Some(id(1)));
    let view = ledger.describe(id(1)).expect("it is open");
    assert_eq!(view.state, TransactionState::Completing);
    let states: Vec<_> = view.branches.iter().map(|branch| branch.state).collect();
    assert_eq!(states, ["unacknowledged", "unacknowledged"]);
    ledger.apply(acknowledged(1, "eu", "a")).expect("in order");
    let view = ledger.describe(id(1)).expect("it is open");
    assert_eq!(view.branches[0].state, "acknowledged");
    assert_eq!(ledger.list().len(), 1);
    let done = completed(1, Decision::Commit, key("k"));
    ledger.apply(done).expect("in order");
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::Committed);
    assert!(ledger.list().is_empty());
    assert_eq!(ledger.find_key(b"k"), Some(id(1)));
    assert_eq!(ledger.outcome(id(2)), KnownOutcome::Unknown);
}

#[test]
fn a_mixed_outcome_is_kept_until_it_is_forgotten() {
    let mut ledger = ledger([decided(1, key("k")), heuristic(1, Decision::Commit)]);
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::Mixed);
    let done = completed(1, Decision::Commit, key("k"));
    ledger.apply(done).expect("in order");
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::Mixed);
    let forget = Record::Forgotten { transaction: id(1) };
    ledger.apply(forget).expect("in order");
    assert_eq!(ledger.outcome(id(1)), KnownOutcome::Unknown);
    assert_eq!(ledger.find_key(b"k"), None);
}

type Shown = (String, &'static str, Option<String>);

/// An own branch is known from its enlistment, and shown as what became of it later.
#[test]
fn an_own_branch_is_shown_as_it_ended() {
    let shown = |records: &[Record]| {
        let all = [started(1), own(1, "eu", "a"), own(1, "us", "c")];
        let ledger = ledger(all.into_iter().chain(records.iter().cloned()));
        let view = ledger.describe(id(1)).expect("it is open");
        let branches = view.branches.into_iter();
        let shown = branches.map(|it| (it.participant, it.state, it.detail));
        shown.collect::<Vec<Shown>>()
    };
    let eu = |state, detail: Option<&str>| ("eu".into(), state, detail.map(Into::into));
    let us = |state| ("us".into(), state, None);
    assert_eq!(shown(&[]), [eu("undecided", None), us("undecided")]);
    assert_eq!(
        shown(&[acknowledged(1, "us", "c")]),
        [eu("undecided", None), us("acknowledged")]
    );
    let hazard = eu("heuristic hazard", Some("expired"));
    let aborting = heuristic(1, Decision::Abort);
    assert_eq!(
        shown(core::slice::from_ref(&aborting)),
        [hazard.clone(), us("unacknowledged")]
    );
    assert_eq!(
        shown(&[aborting, completed(1, Decision::Abort, None)]),
        [hazard, us("acknowledged")]
    );
    let eu_decided = Record::Decided {
        transaction: id(1),
        key: None,
        unix_ms: 77,
        branches: Arc::new([branch("eu", "a", true)]),
    };
    assert_eq!(
        shown(&[eu_decided]),
        [eu("unacknowledged", None), us("read-only")]
    );
}

#[test]
fn records_out_of_order_are_refused_and_change_nothing() {
    let cases = [
        (started(3), started(3)),
        (started(3), started(2)),
        (decided(1, None), decided(1, None)),
        (completed(1, Decision::Commit, None), decided(1, None)),
        (heuristic(1, Decision::Abort), decided(1, None)),
        (started(1), acknowledged(1, "eu", "a")),
        (
            completed(1, Decision::Commit, None),
            acknowledged(1, "eu", "a"),
        ),
    ];
    for (first, second) in cases {
        let mut ledger = ledger([first]);
        let before = ledger.clone();
        let result = ledger.apply(second.clone());
        assert!(matches!(result, Err(Order(_))), "{second:?}: {result:?}");
        assert_eq!(ledger, before, "{second:?}");
    }
}

#[test]
fn what_a_start_has_to_end() {
    let names = |ledger: &Ledger| -> Vec<Arc<str>> {
        let unfinished = open(ledger, 1).unfinished();
        unfinished
            .map(|b| b.identity.transactional_id.clone())
            .collect()
    };
    let mut ledger = ledger([
        own(1, "us", "b"),
        own(1, "us", "read-only"),
        decided(1, None),
    ]);
    assert_eq!(names(&ledger), [name("a"), name("b")]);
    assert_eq!(open(&ledger, 1).undecided().count(), 0);
    let read_only = (name("us"), name("read-only"));
    assert!(
        ledger.has_ended(id(1), &read_only),
        "the decision leaves it out"
    );
    ledger.apply(acknowledged(1, "us", "b")).expect("in order");
    ledger
        .apply(heuristic(1, Decision::Commit))
        .expect("in order");
    assert!(names(&ledger).is_empty());
}

#[test]
fn an_abort_that_is_partly_recorded_still_ends_the_rest() {
    let mut ledger = ledger([own(1, "eu", "a"), own(1, "eu", "c"), own(1, "us", "b")]);
    assert_eq!(open(&ledger, 1).undecided().count(), 3);
    ledger
        .apply(heuristic(1, Decision::Abort))
        .expect("in order");
    ledger.apply(acknowledged(1, "eu", "c")).expect("in order");
    let left: Vec<_> = open(&ledger, 1).undecided().collect();
    assert_eq!(left.len(), 1);
    assert_eq!((&*left[0].0, &*left[0].1.transactional_id), ("us", "b"));
    assert_eq!(left[0].1.start_time_ms, -1);
}

#[test]
fn the_newest_transaction_of_a_key_is_found_also_after_a_checkpoint() {
    let ledger = ledger([
        started(1),
        decided(1, key("k")),
        decided(2, key("k")),
        completed(2, Decision::Commit, key("k")),
        decided(3, key("other")),
    ]);
    assert_eq!(ledger.find_key(b"k"), Some(id(2)));
    let again = self::ledger(ledger.snapshot(Rules::default()));
    assert_eq!(again.find_key(b"k"), Some(id(2)));
    assert_eq!(again.find_key(b"kk"), None);
    replays(&ledger);
}

#[test]
fn old_outcomes_are_dropped_with_their_keys() {
    let mut ledger = ledger((1..=5).map(|n| completed(n, Decision::Commit, key("k"))));
    ledger.set_outcomes_max(2);
    assert_eq!(ledger.outcome(id(3)), KnownOutcome::Unknown);
    assert_eq!(ledger.outcome(id(4)), KnownOutcome::Committed);
    assert_eq!(ledger.find_key(b"k"), Some(id(5)));
    ledger.set_outcomes_max(0);
    assert_eq!(ledger.find_key(b"k"), None);
}

#[test]
fn names_are_known_up_to_their_number_and_until_they_are_gone() {
    let names = |first, count| Record::Names {
        incarnation: Incarnation(1),
        participant: name("eu"),
        first,
        count,
        unix_ms: 4,
    };
    let mut ledger = ledger([started(1), names(0, 2), names(2, 4)]);
    assert!(ledger.knows("eu", Incarnation(1), 5) && !ledger.knows("eu", Incarnation(1), 6));
    assert!(!ledger.knows("us", Incarnation(1), 0) && !ledger.knows("eu", Incarnation(2), 0));
    replays(&ledger);
    let overflow = ledger.apply(names(u32::MAX, u32::MAX));
    assert_eq!(overflow, Ok(()));
    let gone = Record::NamesGone {
        incarnation: Incarnation(1),
        participant: name("eu"),
    };
    ledger.apply(gone).expect("in order");
    assert!(ledger.names.is_empty());
    replays(&ledger);
}

/// Every prefix of a log replays from its snapshot to the same ledger.
#[test]
fn a_snapshot_replays_to_the_same_ledger() {
    let discarded = Record::Discarded {
        participant: name("us"),
        transactional_id: name("b"),
        producer: producer(1),
    };
    let bound = Record::ClusterBound {
        participant: name("eu"),
        cluster_id: name("cluster"),
    };
    let records = [
        started(1),
        bound,
        own(1, "us", "b"),
        decided(1, key("k")),
        acknowledged(1, "us", "b"),
        discarded,
        own(2, "us", "b"),
        started(2),
        heuristic(1, Decision::Commit),
        completed(2, Decision::Abort, None),
        completed(1, Decision::Commit, key("k")),
        own(3, "eu", "a"),
        heuristic(3, Decision::Abort),
        completed(3, Decision::Abort, key("z")),
        decided(4, None),
    ];
    let mut ledger = Ledger::new();
    for record in records {
        ledger.apply(record).expect("in order");
        replays(&ledger);
    }
}

/// A name may have been initialised until its incarnation ended, however long ago it was made known.
#[test]
fn names_age_from_the_end_of_their_incarnation() {
    let at = |incarnation, unix_ms| Record::Started {
        incarnation: Incarnation(incarnation),
        unix_ms,
    };
    let names = |incarnation, unix_ms| Record::Names {
        incarnation: Incarnation(incarnation),
        participant: name("eu"),
        first: 0,
        count: 4,
        unix_ms,
    };
    let mut ledger = Ledger::new();
    for record in [
        at(1, 10),
        names(1, 20),
        at(2, 900),
        names(2, 910),
        at(3, 2000),
    ] {
        ledger.apply(record).unwrap();
    }
    let age = |ledger: &Ledger, incarnation| {
        ledger.names[&(name("eu"), Incarnation(incarnation))].unix_ms
    };
    assert_eq!((age(&ledger, 1), age(&ledger, 2)), (900, 2000));
    let mut copy = Ledger::new();
    for record in ledger.snapshot(Rules::default()) {
        copy.apply(record).unwrap();
    }
    assert_eq!((age(&copy, 1), age(&copy, 2)), (900, 2000));
}

/// What was forgotten as gone was made by this log all the same: a process that slept for weeks may initialise
/// it again.
#[test]
fn forgotten_names_are_known_to_have_been_made() {
    let gone = Record::NamesGone {
        incarnation: Incarnation(2),
        participant: name("eu"),
    };
    let ledger = ledger([started(1), started(2), started(3), gone]);
    let copy = self::ledger(ledger.snapshot(Rules::default()));
    for ledger in [ledger, copy] {
        assert!(ledger.knows("eu", Incarnation(1), 7));
        assert!(ledger.knows("eu", Incarnation(2), 0));
        assert!(!ledger.knows("eu", Incarnation(3), 0));
        assert!(!ledger.knows("us", Incarnation(1), 0));
    }
}
