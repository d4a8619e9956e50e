use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::panic::Location;

use super::*;
use BrokerState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use Decision::{Abort, Commit};
use Ground::{Decided, OnePhase, Presumed};
use VersionClass::{V1, V2};

const START_MS: i64 = 5000;

fn producer(epoch: i16) -> ProducerIdentity {
    ProducerIdentity {
        producer_id: 7,
        epoch,
    }
}

fn identity(class: VersionClass) -> BranchIdentity {
    BranchIdentity {
        transactional_id: Arc::from("id"),
        producer: producer(3),
        start_time_ms: START_MS,
        timeout_ms: 60_000,
        version_class: class,
    }
}

fn found(state: BrokerState, epoch: i16, start_time_ms: i64) -> TransactionDescription {
    TransactionDescription {
        state,
        producer: producer(epoch),
        start_time_ms,
        timeout_ms: 60_000,
    }
}

fn ending(decision: Decision, ground: Ground, class: VersionClass, step: Step) -> Ending {
    Ending::identified(decision, ground, identity(class)).starting_with(step)
}

/// What a verdict is, without its words for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Short {
    Go(Step),
    Retry(Step),
    Finished,
    Heuristic(HeuristicKind),
    BrokerAborted,
    Undecidable,
}

fn short(verdict: &Verdict) -> Short {
    match verdict {
        Verdict::Go(step) => Short::Go(*step),
        Verdict::Retry(step, _) => Short::Retry(*step),
        Verdict::Finished => Short::Finished,
        Verdict::Heuristic(kind, _) => Short::Heuristic(*kind),
        Verdict::BrokerAborted => Short::BrokerAborted,
        Verdict::Undecidable(_) => Short::Undecidable,
    }
}

const HAZARD: Short = Short::Heuristic(HeuristicKind::Hazard);
const INQUIRE: Short = Short::Go(Step::Inquire);

#[track_caller]
fn answered(mut ending: Ending, answer: &EndAnswer, wanted: Short) {
    let verdict = ending.on_end_answer(answer);
    let at = Location::caller();
    assert_eq!(short(&verdict), wanted, "{answer:?} to {ending:?}, {at}");
}

#[track_caller]
fn described(mut ending: Ending, found: TransactionDescription, wanted: Short) {
    let verdict = ending.on_inquiry(&Inquiry::Described(found));
    let at = Location::caller();
    assert_eq!(short(&verdict), wanted, "{found:?} for {ending:?}, {at}");
}

fn lost() -> EndAnswer {
    EndAnswer::NoAnswer("timed out".to_string())
}

fn not_sent() -> EndAnswer {
    EndAnswer::NotSent("unreachable".to_string())
}

const ALL: [(Decision, Ground); 5] = [
    (Commit, Decided),
    (Commit, OnePhase),
    (Abort, Decided),
    (Abort, Presumed),
    (Abort, OnePhase),
];

/// The producer's own call: success ends it, anything else is looked at and leaves the slot unclean.
#[test]
fn the_writers_own_call() {
    for (decision, ground) in ALL {
        let by_writer = || ending(decision, ground, V1, Step::ByWriter);
        answered(by_writer(), &EndAnswer::Acknowledged, Short::Finished);
        for answer in [47, 48, 49, 51, 90].map(EndAnswer::Code) {
            answered(by_writer(), &answer, INQUIRE);
        }
        answered(by_writer(), &lost(), INQUIRE);
        answered(by_writer(), &not_sent(), INQUIRE);
        let mut failed = by_writer();
        failed.on_end_answer(&lost());
        assert!(failed.dirty && failed.failed == 1);
        let mut ended = by_writer();
        ended.on_end_answer(&EndAnswer::Acknowledged);
        assert!(!ended.dirty && ended.failed == 0);
    }
}

/// EndTxn by the control client: success of v1 is confirmed (R17), that of v2 is proof; 47, 48, 49 and 90
/// are never a success; everything else is tried again, v1 after another look (R9).
#[test]
fn end_txn_by_the_control_client() {
    for (decision, ground) in ALL {
        let v1 = || ending(decision, ground, V1, Step::Send);
        let v2 = || ending(decision, ground, V2, Step::Send);
        answered(v1(), &EndAnswer::Acknowledged, Short::Go(Step::Confirm));
        answered(v2(), &EndAnswer::Acknowledged, Short::Finished);
        for code in [47, 48, 49, 90] {
            answered(v1(), &EndAnswer::Code(code), INQUIRE);
            answered(v2(), &EndAnswer::Code(code), INQUIRE);
        }
        for code in [14, 15, 16, 51, -1, 7, 53] {
            answered(v1(), &EndAnswer::Code(code), Short::Retry(Step::Inquire));
            answered(v2(), &EndAnswer::Code(code), Short::Retry(Step::Send));
        }
        for answer in [lost(), not_sent()] {
            answered(v1(), &answer, Short::Retry(Step::Inquire));
            answered(v2(), &answer, Short::Retry(Step::Send));
        }
    }
    let mut v1 = ending(Commit, Decided, V1, Step::Send);
    v1.on_end_answer(&EndAnswer::Acknowledged);
    assert!(v1.dirty, "the producer may have tried as well (R3)");
}

/// A start looks at a v1 branch first, and sends at once for v2 (R9).
#[test]
fn the_first_step_of_a_start() {
    assert_eq!(Ending::first_step_without_writer(V1), Step::Inquire);
    assert_eq!(Ending::first_step_without_writer(V2), Step::Send);
}

/// Where a description puts the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Open,
    Committed,
    Aborted,
    Other,
}

/// The recovery table (R9): class, state, epoch, start time, and where that puts a branch of epoch 3.
fn places() -> Vec<(VersionClass, TransactionDescription, Place)> {
    let row = |class, state, epoch, start| (class, found(state, epoch, start));
    let mut rows = Vec::new();
    let mut add = |(class, found), place| rows.push((class, found, place));
    for class in [V1, V2] {
        add(row(class, Ongoing, 3, START_MS), Place::Open);
        add(row(class, Ongoing, 3, START_MS + 1), Place::Other);
        add(row(class, Ongoing, 4, START_MS), Place::Other);
        add(row(class, Empty, 3, -1), Place::Other);
        add(row(class, Empty, 4, -1), Place::Other);
        add(row(class, Dead, 3, START_MS), Place::Other);
        for state in [PrepareAbort, CompleteAbort, PrepareEpochFence] {
            add(row(class, state, 3, START_MS), Place::Aborted);
            add(row(class, state, 4, START_MS), Place::Aborted);
            add(row(class, state, 5, START_MS), Place::Other);
            add(row(class, state, 3, START_MS + 1), Place::Other);
        }
    }
    for state in [PrepareCommit, CompleteCommit] {
        add(row(V1, state, 3, START_MS), Place::Committed);
        add(row(V1, state, 4, START_MS), Place::Other);
        add(row(V2, state, 4, START_MS), Place::Committed);
        add(row(V2, state, 3, START_MS), Place::Other);
        add(row(V1, state, 3, START_MS + 1), Place::Other);
        add(row(V2, state, 4, START_MS + 1), Place::Other);
    }
    rows
}

/// What a place means: the two-phase and the one-phase rows, and presumed abort.
fn meaning(decision: Decision, (ground, class): (Ground, VersionClass), place: Place) -> Short {
    match (decision, ground, place) {
        (_, _, Place::Open) => Short::Go(Step::Send),
        (Commit, _, Place::Committed) | (Abort, _, Place::Aborted) => Short::Finished,
        (Commit, OnePhase, Place::Aborted) => Short::BrokerAborted,
        (Commit, OnePhase, Place::Other) => Short::Undecidable,
        (Commit, _, Place::Aborted) => Short::Heuristic(HeuristicKind::Aborted),
        (Commit, _, Place::Other) => HAZARD,
        // Of v1 it may be the transaction before: a start knows no start time.
        (Abort, Presumed, Place::Committed) if class == V1 => Short::Finished,
        (Abort, _, Place::Other) => Short::Finished,
        (Abort, _, Place::Committed) => Short::Heuristic(HeuristicKind::Committed),
    }
}

#[test]
fn every_description_for_every_decision() {
    for (class, found, place) in places() {
        for (decision, ground) in ALL {
            for step in [Step::Inquire, Step::Confirm] {
                let ending = ending(decision, ground, class, step);
                described(ending, found, meaning(decision, (ground, class), place));
            }
        }
    }
}

#[test]
fn an_unknown_id_proves_nothing() {
    for (decision, ground) in ALL {
        let mut ending = ending(decision, ground, V1, Step::Inquire);
        let verdict = ending.on_inquiry(&Inquiry::NotFound);
        assert_eq!(
            short(&verdict),
            meaning(decision, (ground, V1), Place::Other)
        );
    }
}

#[test]
fn an_inquiry_without_an_answer_is_repeated() {
    for step in [Step::Inquire, Step::Confirm] {
        for inquiry in [Inquiry::NoAnswer("no".into()), Inquiry::Refused(15)] {
            let mut ending = ending(Commit, Decided, V1, step);
            assert_eq!(short(&ending.on_inquiry(&inquiry)), Short::Retry(step));
            assert_eq!(ending.failed, 1);
        }
    }
}

/// EndTxn goes out at once the first time, and with a delay whenever the broker still says Ongoing (R17).
#[test]
fn still_open_after_an_end_txn_waits() {
    let mut ending = ending(Commit, Decided, V1, Step::Send);
    ending.on_end_answer(&EndAnswer::Acknowledged);
    ending.step = Step::Confirm;
    described(
        ending,
        found(Ongoing, 3, START_MS),
        Short::Retry(Step::Send),
    );
}

/// At the last epoch the broker hands out a new producer id with epoch 0.
#[test]
fn epochs_roll_over() {
    let last = |epoch| ProducerIdentity {
        producer_id: 7,
        epoch,
    };
    let rolled = ProducerIdentity {
        producer_id: 8,
        epoch: 0,
    };
    assert!(follows(last(i16::MAX - 1), rolled));
    assert!(follows(last(i16::MAX - 1), last(i16::MAX)));
    assert!(follows(last(i16::MAX), rolled));
    assert!(!follows(last(3), rolled), "not at the end of the epochs");
    assert!(!follows(last(3), last(5)) && !follows(last(3), last(3)));
    assert!(!follows(last(i16::MAX - 1), last(0)), "same producer id");

    let mut branch = identity(V2);
    branch.producer.epoch = i16::MAX - 1;
    let ending = Ending::identified(Commit, Decided, branch).starting_with(Step::Inquire);
    let found = TransactionDescription {
        producer: rolled,
        ..found(CompleteCommit, 0, START_MS)
    };
    described(ending, found, Short::Finished);
}

fn unidentified() -> Ending {
    Ending::unidentified(Decided, V1, Arc::from("id"))
        .written_by(Some(producer(3)))
        .starting_with(Step::Inquire)
}

/// An abort before anything was described: only what the slot's own producer has open is this branch.
#[test]
fn an_abort_of_what_was_never_described() {
    described(unidentified(), found(Ongoing, 3, 9), Short::Go(Step::Send));
    let stranger = TransactionDescription {
        producer: ProducerIdentity {
            producer_id: 99,
            epoch: 0,
        },
        ..found(Ongoing, 0, 9)
    };
    described(unidentified(), stranger, Short::Finished);
    for state in [PrepareAbort, PrepareEpochFence] {
        described(
            unidentified(),
            found(state, 3, 9),
            Short::Retry(Step::Inquire),
        );
    }
    for state in [Empty, CompleteAbort, CompleteCommit, PrepareCommit, Dead] {
        described(unidentified(), found(state, 3, 9), Short::Finished);
    }
    let mut ending = unidentified();
    ending.on_inquiry(&Inquiry::Described(found(Ongoing, 3, 9)));
    let identity = ending.identity().expect("it is known now");
    assert_eq!(
        (identity.producer, identity.start_time_ms),
        (producer(3), 9)
    );
}

/// An own producer's branch without a vote is told from the transaction before it by its start time.
#[test]
fn an_abort_after_a_known_transaction() {
    let own = || {
        let mut identity = identity(V1);
        identity.start_time_ms = -1;
        Ending::identified(Abort, Decided, identity)
            .after(START_MS)
            .starting_with(Step::Inquire)
    };
    described(own(), found(CompleteCommit, 3, START_MS), Short::Finished);
    described(
        own(),
        found(Ongoing, 3, START_MS + 1),
        Short::Go(Step::Send),
    );
    described(
        own(),
        found(CompleteCommit, 3, START_MS + 1),
        Short::Heuristic(HeuristicKind::Committed),
    );
}

fn own(ground: Ground, class: VersionClass) -> Ending {
    let mut identity = identity(class);
    identity.start_time_ms = -1;
    let ending = Ending::identified(Abort, ground, identity).of_own(true);
    ending.starting_with(Step::Inquire)
}

/// An application can end what its own producer wrote without a word: where its producer shows something else
/// since, nobody can tell that from what would have been aborted.
#[test]
fn an_own_branch_that_may_have_committed_is_not_called_aborted() {
    for class in [V1, V2] {
        let unprepared = || own(Decided, class).after(START_MS);
        let prepared = || ending(Abort, Decided, class, Step::Inquire).of_own(true);
        let elsewhere = [
            found(Empty, 4, -1),
            found(Empty, 5, -1),
            found(Ongoing, 4, START_MS + 9),
            found(CompleteCommit, 6, START_MS + 9),
        ];
        for found in elsewhere {
            described(unprepared(), found, HAZARD);
            described(prepared(), found, HAZARD);
            described(own(Presumed, class), found, HAZARD);
        }
        for mut ending in [unprepared(), prepared(), own(Presumed, class)] {
            assert_eq!(short(&ending.on_inquiry(&Inquiry::NotFound)), HAZARD);
        }
        // A slot's producer is nobody else's to commit with.
        let slot = ending(Abort, Decided, class, Step::Inquire);
        described(slot, found(Empty, 5, -1), Short::Finished);
    }
}

/// What was never begun needs no proof of its end: the producer shows what it showed when it was enlisted.
#[test]
fn an_own_branch_that_was_never_begun_is_aborted() {
    let fresh = || own(Decided, V1).after(-1);
    described(fresh(), found(Empty, 3, -1), Short::Finished);
    described(fresh(), found(Empty, 4, -1), HAZARD);
    let later = || own(Decided, V1).after(START_MS);
    described(later(), found(CompleteCommit, 3, START_MS), Short::Finished);
    // Brokers of 4.0 still show it after an initialisation: nothing was begun before that either.
    described(later(), found(Empty, 4, START_MS), Short::Finished);
    // A start does not know what was shown at enlisting.
    for state in [CompleteCommit, CompleteAbort, Empty] {
        described(
            own(Presumed, V1),
            found(state, 3, START_MS),
            Short::Finished,
        );
    }
}

/// What the vote saw is kept: it proves an end that a later look may not show any more.
#[test]
fn the_vote_may_prove_how_an_own_branch_ended() {
    let committed = Short::Heuristic(HeuristicKind::Committed);
    let proofs = [
        (V1, found(PrepareCommit, 3, START_MS + 1), Some(committed)),
        (V1, found(CompleteCommit, 3, START_MS + 1), Some(committed)),
        (V2, found(PrepareCommit, 4, START_MS + 1), Some(committed)),
        (
            V1,
            found(CompleteAbort, 4, START_MS + 1),
            Some(Short::Finished),
        ),
        (V1, found(CompleteCommit, 3, START_MS), None),
        (V1, found(Ongoing, 3, START_MS + 1), None),
        (V1, found(Empty, 4, -1), None),
    ];
    for (class, found, wanted) in proofs {
        let mut ending = own(Decided, class).after(START_MS);
        let verdict = ending.proved_by(&found);
        assert_eq!(verdict.as_ref().map(short), wanted, "{class:?} {found:?}");
    }
}

/// R7: somebody else's initialisation is told from the broker's own abort of what was open.
#[test]
fn a_stranger_is_seen() {
    let cases = [
        (found(Ongoing, 3, START_MS), false),
        (found(CompleteCommit, 3, START_MS), false),
        (found(CompleteAbort, 4, START_MS), false),
        (found(PrepareEpochFence, 4, START_MS), false),
        (found(Empty, 4, -1), true),
        (found(Ongoing, 4, START_MS), true),
    ];
    for (found, stranger) in cases {
        let identified = ending(Commit, Decided, V1, Step::Inquire);
        for mut ending in [identified, unidentified()] {
            ending.on_inquiry(&Inquiry::Described(found));
            assert_eq!(ending.stranger, stranger, "{found:?}");
        }
    }
}

#[test]
fn messages_name_what_the_broker_said() {
    let mut ending = ending(Commit, Decided, V1, Step::Inquire);
    let verdict = ending.on_inquiry(&Inquiry::Described(found(CompleteAbort, 4, START_MS)));
    let Verdict::Heuristic(_, detail) = verdict else {
        panic!("{verdict:?}")
    };
    assert!(
        detail.contains("CompleteAbort") && detail.contains("7/4"),
        "{detail}"
    );
}
