//! Own producers whose transaction aborts before it is asked to commit.

use gtc_core::{
    AbortReason, BrokerState, Event, Outcome, Request, Reuse, TransactionId, VersionClass,
    WriteReport,
};

use super::own::{OWN, enlisted, own, refused, released};
use super::{ended, seconds, vote, with};
use crate::Scenario;
use crate::play::{EU, Play};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        with(
            "own-abort",
            "Its application aborts: its vote is asked for first, says that all is delivered, and it may go on (R3).",
            (own, abort),
        ),
        with(
            "own-abort-failed-delivery",
            "Its application aborts after a failed delivery, which its vote tells: it must be discarded, durably (R3).",
            (own, abort_failed),
        ),
        with(
            "own-timed-out",
            "Its transaction's time-out passes: nobody has told the application to stop, so that it is not asked and must be \
             discarded (R3).",
            (own, timed_out),
        ),
    ]
}

fn abort_asked(play: &mut Play, transaction: TransactionId) {
    play.request(Request::Abort {
        transaction,
        reason: "no stock".into(),
    });
    assert_eq!(play.open(), ["prepare"]);
}

fn abort(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    abort_asked(play, id);
    play.settle();
    requested(play);
    released(play, Reuse::Reuse);
}

fn abort_failed(play: &mut Play) {
    let id = enlisted(play, VersionClass::V1);
    abort_asked(play, id);
    let writes = WriteReport {
        sent: 2,
        delivered: 1,
        failed: 1,
        detail: Some("timed out".into()),
        ..WriteReport::default()
    };
    play.clusters.turn(EU, &OWN.into(), BrokerState::Ongoing);
    let producer = play.clusters.producer(EU, OWN);
    play.answer(
        "prepare",
        vote(writes, Some((BrokerState::Ongoing, producer))),
    );
    play.settle();
    requested(play);
    released(play, Reuse::Discard);
    let next = play.begin();
    play.enlist_own(next, OWN, VersionClass::V1);
    play.settle();
    refused(play, next);
}

fn timed_out(play: &mut Play) {
    play.settle();
    let id = play.begin_with(None, Some(seconds(5)));
    play.enlist_own(id, OWN, VersionClass::V1);
    play.settle();
    play.clusters.turn(EU, &OWN.into(), BrokerState::Ongoing);
    play.pass(seconds(5));
    assert_eq!(play.open(), ["inquire"]);
    play.settle();
    ended(play, id, &Outcome::Aborted(AbortReason::TimedOut));
    released(play, Reuse::Discard);
}

fn requested(play: &Play) {
    play.told(|event| {
        let Event::Ended { outcome, .. } = event else {
            return false;
        };
        matches!(outcome, Outcome::Aborted(AbortReason::Requested(_)))
    });
}
