//! One-phase commits without an answer.

use gtc_core::{
    AbortReason, BrokerState, Decision, Event, Inquiry, Outcome, ProducerIdentity, Request,
    Response, TransactionId,
};

use super::{alone, code, ended, no_answer, seconds, with};
use crate::Scenario;
use crate::cluster::described;
use crate::play::{EU, Play};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        with(
            "one-phase-found-committed",
            "The only commit was not answered, and had arrived.",
            (alone, found_committed),
        ),
        with(
            "one-phase-found-aborted",
            "The only commit came too late: the broker had aborted the branch.",
            (alone, found_aborted),
        ),
        with(
            "one-phase-in-doubt",
            "Another transaction of the name is all that is left: in doubt, never aborted; an operator ends it.",
            (alone, gone),
        ),
        with(
            "one-phase-silent",
            "The cluster is silent: the caller hears in doubt in time, and the branch is asked about until it answers.",
            (alone, silent),
        ),
    ]
}

fn unanswered(play: &mut Play) -> TransactionId {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.commit(id);
    play.settle_one("prepare");
    play.answer("end-by-writer", no_answer());
    id
}

fn producer(play: &Play) -> ProducerIdentity {
    play.clusters.producer(EU, &play.slot_name(EU, 1))
}

fn is(play: &mut Play, state: BrokerState) {
    let (name, producer) = (play.slot_name(EU, 1), producer(play));
    play.clusters.turn(EU, &name, state);
    let found = described(state, producer);
    play.answer("inquire", Response::Inquired(found));
}

fn found_committed(play: &mut Play) {
    let id = unanswered(play);
    is(play, BrokerState::CompleteCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn found_aborted(play: &mut Play) {
    unanswered(play);
    is(play, BrokerState::CompleteAbort);
    play.settle();
    play.told(|event| {
        let reason = match event {
            Event::Ended {
                outcome: Outcome::Aborted(reason),
                ..
            } => reason,
            _ => return false,
        };
        matches!(reason, AbortReason::BrokerAborted { .. })
    });
}

fn in_doubt(play: &Play) {
    play.told(|event| {
        matches!(
            event,
            Event::Ended {
                outcome: Outcome::InDoubt(_),
                ..
            }
        )
    });
}

fn gone(play: &mut Play) {
    let id = unanswered(play);
    let stranger = ProducerIdentity {
        producer_id: 4242,
        epoch: 0,
    };
    let other = described(BrokerState::Ongoing, stranger);
    play.answer("inquire", Response::Inquired(other));
    in_doubt(play);
    play.settle();
    play.request(Request::Resolve {
        transaction: id,
        decision: Decision::Abort,
    });
    play.settle();
}

fn silent(play: &mut Play) {
    unanswered(play);
    let nothing = Inquiry::NoAnswer("timed out".into());
    play.answer("inquire", Response::Inquired(nothing));
    play.pass(seconds(61));
    in_doubt(play);
    play.answer("inquire", Response::Inquired(Inquiry::Refused(53)));
    play.pass(seconds(10));
    is(play, BrokerState::Ongoing);
    play.answer("end-transaction", code(47));
    is(play, BrokerState::CompleteCommit);
    play.settle();
}
