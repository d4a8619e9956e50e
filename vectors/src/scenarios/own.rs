//! Producers that the application owns.

use gtc_core::{
    AbortReason, BrokerState, EndAnswer, Event, HeuristicKind, Outcome, ParticipantId,
    ProducerIdentity, Refusal, Request, Response, Reuse, TransactionId, VersionClass, WriteReport,
};

use super::{alone, ended, seconds, vote, with};
use crate::Scenario;
use crate::cluster::described;
use crate::play::{EU, Play, Setup};

pub(super) const OWN: &str = "billing-1";

pub(super) fn all() -> Vec<Scenario> {
    vec![
        with(
            "own-v1-commit",
            "An own producer of class v1 is inspected, recorded (R5), decided with a record, and may go on.",
            (own, commit_v1),
        ),
        with(
            "own-v2-commit",
            "Of class v2: EndTxn first, no inquiry needed.",
            (own, commit_v2),
        ),
        with(
            "own-newest-class",
            "Of the newest class that the cluster has, which is v2 there: recorded and ended as such.",
            (own, commit_newest),
        ),
        with(
            "own-voted-no",
            "Nothing was said of its deliveries: no; the producer must be discarded, durably (R3).",
            (own, voted_no),
        ),
        with(
            "own-discard-gone",
            "A discarded producer is remembered until its cluster no longer knows its identity: until then no \
             other one is taken beyond the limit.",
            (one_discarded, discard_gone),
        ),
        with(
            "own-read-only",
            "It wrote nothing and says so, and the broker's state is as at enlisting: read-only.",
            (own, read_only),
        ),
        with(
            "own-already-ongoing",
            "Its transaction is open already at enlisting: when it began is unknown, refused (R14).",
            (own_open, already_ongoing),
        ),
        with(
            "own-still-ending",
            "The broker is still ending its last transaction at enlisting: it is asked about until that is over.",
            (own, still_ending),
        ),
        with(
            "own-expired",
            "Its broker has let the id expire at enlisting: refused.",
            (own_expired, already_ongoing),
        ),
        with(
            "own-in-turn",
            "Enlisting the same producer waits until its earlier branch, which is ending, has ended durably (R4).",
            (own, in_turn),
        ),
        with(
            "own-taken",
            "Enlisting a producer that takes part in an open transaction is refused at once: only its application \
             can end that.",
            (own, taken),
        ),
        with(
            "own-other-identity",
            "The application's producer is not the one that its cluster has under the id: refused. With the right \
             identity it is taken in.",
            (own, other_identity),
        ),
        with(
            "own-settle",
            "A restarted application settles before it initialises: it waits until no promised branch is left (R5).",
            (own, settle),
        ),
        with(
            "own-inspection-unanswered",
            "The inspection at enlisting is not answered at first, and then not in time.",
            (own, inspection_unanswered),
        ),
        with(
            "own-heuristic",
            "The application ended its branch against the decision: heuristic, told as mixed.",
            (own, own_heuristic),
        ),
        with(
            "own-hazard",
            "The application commits by itself, and somebody initialises the producer before the vote: nothing shows how the \
             branch ended, which is recorded as a hazard, told as mixed and never as aborted.",
            (own, own_hazard),
        ),
    ]
}

pub(super) fn own(setup: &mut Setup) {
    alone(setup);
    setup.clusters.know(EU, OWN, BrokerState::Empty);
}

fn own_open(setup: &mut Setup) {
    alone(setup);
    setup.clusters.know(EU, OWN, BrokerState::Ongoing);
}

pub(super) fn enlisted(play: &mut Play, class: VersionClass) -> TransactionId {
    play.settle();
    let id = play.begin();
    play.enlist_own(id, OWN, class);
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { slot: None, .. }));
    id
}

pub(super) fn released(play: &Play, wanted: Reuse) {
    play.told(|event| matches!(event, Event::OwnReleased { reuse, .. } if *reuse == wanted));
}

fn commit_v1(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    play.settle();
    ended(play, id, &Outcome::Committed);
    released(play, Reuse::Reuse);
}

fn commit_v2(play: &mut Play) {
    let id = enlisted(play, VersionClass::V2);
    play.commit(id);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn commit_newest(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.request(Request::EnlistOwnNewest {
        transaction: id,
        participant: ParticipantId(EU),
        transactional_id: OWN.into(),
        producer: None,
    });
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { slot: None, .. }));
    play.commit(id);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn voted_no(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    let producer = play.clusters.producer(EU, OWN);
    let broker = Some((BrokerState::Ongoing, producer));
    play.answer("prepare", vote(WriteReport::default(), broker));
    play.settle();
    play.told(|event| {
        let Event::Ended { outcome, .. } = event else {
            return false;
        };
        matches!(outcome, Outcome::Aborted(AbortReason::VotedNo { .. }))
    });
    released(play, Reuse::Discard);
    let next = play.begin();
    play.enlist_own(next, OWN, VersionClass::V1);
    play.settle();
    refused(play, next);
}

const ANOTHER: &str = "billing-2";

fn one_discarded(setup: &mut Setup) {
    own(setup);
    setup.clusters.know(EU, ANOTHER, BrokerState::Empty);
    setup.config.limits.discarded_max = 1;
}

fn discard_gone(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    let producer = play.clusters.producer(EU, OWN);
    let broker = Some((BrokerState::Ongoing, producer));
    play.answer("prepare", vote(WriteReport::default(), broker));
    play.settle();
    released(play, Reuse::Discard);
    let next = play.begin();
    let full = play.refused(Request::EnlistOwn {
        transaction: next,
        participant: ParticipantId(EU),
        transactional_id: ANOTHER.into(),
        version_class: VersionClass::V1,
        producer: None,
    });
    assert_eq!(full, Refusal::Limit("discarded_max", 1));
    // A sweep finds the identity still there; it is asked about again with every other sweep.
    play.pass(seconds(61));
    play.settle();
    play.clusters.expire(EU, OWN);
    for _ in 0..2 {
        play.pass(seconds(61));
        play.settle();
    }
    play.enlist_own(next, ANOTHER, VersionClass::V1);
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == next));
}

fn read_only(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    let producer = play.clusters.producer(EU, OWN);
    let writes = WriteReport {
        stated_delivered: true,
        ..WriteReport::default()
    };
    let broker = Some((BrokerState::Empty, producer));
    play.answer("prepare", vote(writes, broker));
    play.settle();
    ended(play, id, &Outcome::Committed);
}

pub(super) fn refused(play: &Play, id: TransactionId) {
    play.told(
        |event| matches!(event, Event::EnlistRefused { transaction, .. } if *transaction == id),
    );
}

fn already_ongoing(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist_own(id, OWN, VersionClass::V1);
    play.settle();
    refused(play, id);
}

fn own_expired(setup: &mut Setup) {
    alone(setup);
    setup.clusters.know(EU, OWN, BrokerState::Dead);
}

fn still_ending(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist_own(id, OWN, VersionClass::V1);
    let producer = play.clusters.producer(EU, OWN);
    for state in [
        BrokerState::PrepareCommit,
        BrokerState::PrepareAbort,
        BrokerState::PrepareEpochFence,
    ] {
        play.answer("inquire", Response::Inquired(described(state, producer)));
        play.pass(seconds(1));
    }
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == id));
}

fn in_turn(play: &mut Play) {
    let first = enlisted(play, VersionClass::V1);
    play.commit(first);
    play.settle_but(|action| action.name() == "end-transaction");
    let second = play.begin();
    play.enlist_own(second, OWN, VersionClass::V1);
    assert_eq!(play.open(), ["end-transaction"], "it waits");
    play.settle();
    ended(play, first, &Outcome::Committed);
    play.pass(seconds(1));
    play.settle();
    play.told(
        |event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == second),
    );
}

fn taken(play: &mut Play) {
    let first = enlisted(play, VersionClass::V1);
    let second = play.begin();
    play.enlist_own(second, OWN, VersionClass::V1);
    refused(play, second);
    play.commit(first);
    play.settle();
    ended(play, first, &Outcome::Committed);
}

fn other_identity(play: &mut Play) {
    play.settle();
    let id = play.begin();
    let mut producer = play.clusters.producer(EU, OWN);
    let told = |producer| Request::EnlistOwn {
        transaction: id,
        participant: ParticipantId(EU),
        transactional_id: OWN.into(),
        version_class: VersionClass::V1,
        producer: Some(producer),
    };
    producer.epoch += 1;
    play.request(told(producer));
    play.settle();
    refused(play, id);
    producer.epoch -= 1;
    play.request(told(producer));
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { .. }));
}

fn settle(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    play.settle_but(|action| action.name() == "end-transaction");
    play.request(Request::Settle {
        participant: ParticipantId(EU),
        transactional_id: OWN.into(),
    });
    play.settle();
    play.told(|event| matches!(event, Event::Settled { .. }));
}

fn inspection_unanswered(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist_own(id, OWN, VersionClass::V1);
    let silent = gtc_core::Inquiry::NoAnswer("timed out".into());
    play.answer("inquire", Response::Inquired(silent));
    play.pass(seconds(31));
    refused(play, id);
    play.told(|event| {
        matches!(
            event,
            Event::EnlistRefused {
                refusal: Refusal::Unavailable(_),
                ..
            }
        )
    });
}

fn own_heuristic(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    play.settle_but(|action| action.name() == "inquire" || action.name() == "end-transaction");
    let producer = play.clusters.producer(EU, OWN);
    let found = |state| Response::Inquired(described(state, producer));
    if play.open().contains(&"inquire") {
        play.answer("inquire", found(BrokerState::Ongoing));
    }
    play.answer("end-transaction", Response::Ended(EndAnswer::Code(48)));
    play.answer("inquire", found(BrokerState::CompleteAbort));
    play.settle();
    play.told(|event| matches!(event, Event::Heuristic(_, branch) if branch.kind == HeuristicKind::Aborted));
}

fn own_hazard(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    play.commit(id);
    let before = play.clusters.producer(EU, OWN);
    let anew = ProducerIdentity {
        epoch: before.epoch + 1,
        ..before
    };
    let writes = WriteReport {
        stated_delivered: true,
        ..WriteReport::default()
    };
    play.answer("prepare", vote(writes, Some((BrokerState::Empty, anew))));
    let found = described(BrokerState::Empty, anew);
    play.answer("inquire", Response::Inquired(found));
    play.settle();
    play.told(|event| matches!(event, Event::Heuristic(_, branch) if branch.kind == HeuristicKind::Hazard));
    play.told(|event| {
        let Event::Ended { outcome, .. } = event else {
            return false;
        };
        matches!(outcome, Outcome::Mixed { .. })
    });
    released(play, Reuse::Discard);
}
