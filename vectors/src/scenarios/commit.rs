//! Commits that go as they should.

use gtc_core::{CommitReturn, Event, Outcome, Request, WriteReport};

use super::{alone, ended, plain, seconds, vote, with};
use crate::Scenario;
use crate::play::{EU, Play, Setup, US};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        plain(
            "commit-two-participants",
            "Both vote yes; one forced decision names both branches; both are ended, verified, and the \
             completion is lazy.",
            two,
        ),
        with(
            "commit-one-phase",
            "A single yes vote of a managed producer without a key: its own commit decides, no record.",
            (alone, one_phase),
        ),
        with(
            "commit-with-key",
            "A key makes even a single branch leave a decision, so that its outcome can be asked for.",
            (alone, with_key),
        ),
        plain(
            "commit-read-only",
            "Nothing was written anywhere: nothing is left to do, and no record.",
            read_only,
        ),
        plain(
            "commit-read-only-beside-yes",
            "One branch wrote, the other did not: one phase for the one, nothing for the other.",
            read_only_beside_yes,
        ),
        plain(
            "commit-told-at-decision",
            "The caller asked to be told at the decision, and hears of it before any branch has ended.",
            told_at_decision,
        ),
        with(
            "commit-checkpoint",
            "The log has grown beyond its limit: when nothing is under way, a snapshot replaces it.",
            (small_log, checkpointed),
        ),
        plain(
            "commit-late-responses",
            "Repeated and unknown responses change nothing.",
            late,
        ),
        plain(
            "commit-slots-again",
            "The next transaction leases the slots of the one before, once they are free (R9).",
            two_in_turn,
        ),
    ]
}

fn two(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    assert_eq!(play.open(), ["prepare", "prepare"]);
    play.settle_one("prepare");
    play.settle_one("prepare");
    assert_eq!(play.open(), ["append"]);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn one_phase(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.commit(id);
    play.settle_one("prepare");
    assert_eq!(play.open(), ["end-by-writer"]);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn with_key(play: &mut Play) {
    play.settle();
    let id = play.begin_with(Some(b"order-17"), None);
    play.enlist(id, EU);
    play.settle();
    play.commit(id);
    play.settle_one("prepare");
    assert_eq!(play.open(), ["append"]);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn read_only(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    play.answer_on((EU, "prepare"), vote(WriteReport::default(), None));
    play.answer_on((US, "prepare"), vote(WriteReport::default(), None));
    ended(play, id, &Outcome::Committed);
    play.settle();
}

fn read_only_beside_yes(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    play.answer_on((US, "prepare"), vote(WriteReport::default(), None));
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn told_at_decision(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.request(Request::Commit {
        transaction: id,
        report: CommitReturn::Decided,
    });
    play.settle_but(|action| action.name() == "end-by-writer");
    play.told(|event| *event == Event::Decided(id));
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn small_log(setup: &mut Setup) {
    setup.config.limits.checkpoint_bytes = 600;
}

fn two_in_turn(play: &mut Play) {
    play.settle();
    for _ in 0..2 {
        let id = play.begin_on_both();
        play.commit(id);
        play.settle();
        ended(play, id, &Outcome::Committed);
        play.pass(seconds(1));
    }
}

fn checkpointed(play: &mut Play) {
    two_in_turn(play);
    assert!(play.asked.contains(&"checkpoint"), "{:?}", play.asked);
}

fn late(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    let vote_of_eu = vote(WriteReport::default(), None);
    let first = play.answer_on((EU, "prepare"), vote_of_eu.clone());
    play.respond(first, vote_of_eu);
    play.respond(gtc_core::ActionId(9999), gtc_core::Response::Appended);
    play.settle();
    ended(play, id, &Outcome::Committed);
}
