//! Slots: waiting for one, proving one clean, throwing one away.

use gtc_core::{Event, Outcome, Response, SlotCondition, SlotFailure};

use super::{alone, ended, seconds, with};
use crate::Scenario;
use crate::play::{EU, Play, Setup};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        with(
            "slot-waited-for",
            "One slot for two transactions: the second is enlisted when the first has ended durably (R9).",
            (one_slot, waited_for),
        ),
        with(
            "slot-timeout",
            "No slot became free in time: the enlistment is refused, its transaction goes on.",
            (one_slot, timeout),
        ),
        with(
            "slot-unproven",
            "The client cannot prove that every request was answered: the slot is closed, its name never used again (R3).",
            (one_slot, unproven),
        ),
        with(
            "slot-init-unanswered",
            "An initialisation was not answered at the first attempt: the name is retired, a new one opened (R6).",
            (one_slot, unanswered),
        ),
        with(
            "slot-above-ceiling",
            "The cluster's ceiling is below the slots' time-out: enlisting is refused with the reason.",
            (one_slot, above_ceiling),
        ),
        with(
            "slot-idle",
            "A slot that nobody used for long is closed.",
            (alone, idle),
        ),
    ]
}

fn one_slot(setup: &mut Setup) {
    alone(setup);
    setup.config.participants[0].slots_max = 1;
}

fn waited_for(play: &mut Play) {
    play.settle();
    let first = play.begin();
    play.enlist(first, EU);
    play.settle();
    let second = play.begin();
    play.enlist(second, EU);
    play.commit(first);
    play.settle();
    ended(play, first, &Outcome::Committed);
    play.told(
        |event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == second),
    );
    play.commit(second);
    play.settle();
    ended(play, second, &Outcome::Committed);
}

fn timeout(play: &mut Play) {
    play.settle();
    let first = play.begin();
    play.enlist(first, EU);
    play.settle();
    let second = play.begin();
    play.enlist(second, EU);
    play.pass(seconds(31));
    play.told(
        |event| matches!(event, Event::EnlistRefused { transaction, .. } if *transaction == second),
    );
    play.commit(second);
    ended(play, second, &Outcome::Committed);
    play.settle();
}

fn committed_unverified(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.commit(id);
    play.settle_but(|action| action.name() == "verify-slot");
    ended(play, id, &Outcome::Committed);
}

fn unproven(play: &mut Play) {
    committed_unverified(play);
    let condition = SlotCondition::Unproven("a broker disconnected".into());
    play.answer("verify-slot", Response::SlotVerified(condition));
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == id));
}

fn opening(play: &mut Play, failure: SlotFailure) {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.answer("open-slot", Response::SlotFailed(failure));
}

fn unanswered(play: &mut Play) {
    opening(
        play,
        SlotFailure {
            timeout_above_ceiling: false,
            detail: "no answer".into(),
        },
    );
    play.pass(seconds(1));
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { .. }));
}

fn above_ceiling(play: &mut Play) {
    opening(
        play,
        SlotFailure {
            timeout_above_ceiling: true,
            detail: "the time-out is too large".into(),
        },
    );
    play.told(|event| matches!(event, Event::EnlistRefused { .. }));
}

fn idle(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.commit(id);
    play.settle();
    play.pass(seconds(601));
    play.settle();
}
