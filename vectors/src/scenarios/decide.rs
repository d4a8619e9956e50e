//! What leads to abort, and what stops the coordinator.

use gtc_core::{
    AbortReason, AppendFailure, BrokerState, CommitReturn, Event, Outcome, ParticipantId,
    ParticipantStatus, ProducerIdentity, Refusal, Request, Response, StopReason, TransactionId,
    WriteReport,
};

use super::{ended, plain, seconds, status, vote, with};
use crate::Scenario;
use crate::cluster::delivered;
use crate::play::{EU, Play, Setup, US};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        plain(
            "abort-requested",
            "The application aborts: nothing is forced.",
            requested,
        ),
        plain(
            "abort-before-a-slot",
            "The application aborts while an enlistment still waits for its slot.",
            before_a_slot,
        ),
        plain(
            "abort-failed-delivery",
            "A delivery failed: that branch votes no, and both abort.",
            failed_delivery,
        ),
        plain(
            "abort-expired-branch",
            "The broker has aborted a branch by its time-out: it votes no.",
            expired,
        ),
        plain(
            "abort-stranger",
            "Another producer holds the name of a slot: no, and the participant is stopped (R7).",
            stranger,
        ),
        plain(
            "abort-deadline-passed",
            "A vote is still out when the first branch cannot be promised any longer: too near its time-out (R14).",
            deadline,
        ),
        plain(
            "abort-timed-out",
            "A transaction with a time-out of its own was not asked to commit within it.",
            timed_out,
        ),
        plain(
            "abort-log-full",
            "The log provably wrote nothing of the decision: abort (R11).",
            log_full,
        ),
        plain(
            "abort-at-close",
            "Closing aborts what is undecided, and is drained when nothing is left.",
            close,
        ),
        plain(
            "stop-log-failed",
            "The append of the decision was not answered: stop, and the caller is in doubt (R11).",
            log_failed,
        ),
        plain(
            "stop-log-fenced",
            "Another owner took the log over: stop, and the caller is in doubt (R10).",
            log_fenced,
        ),
        with(
            "refusals",
            "Requests that make no sense are refused, and change nothing.",
            (one_at_a_time, refusals),
        ),
    ]
}

fn requested(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.request(Request::Abort {
        transaction: id,
        reason: "no stock".into(),
    });
    assert_eq!(play.open(), ["end-by-writer", "end-by-writer"]);
    play.settle();
    ended(
        play,
        id,
        &Outcome::Aborted(AbortReason::Requested("no stock".into())),
    );
}

fn before_a_slot(play: &mut Play) {
    play.settle();
    let id = play.begin();
    play.enlist(id, EU);
    play.request(Request::Abort {
        transaction: id,
        reason: "changed its mind".into(),
    });
    play.settle();
    play.told(|event| matches!(event, Event::Ended { .. }));
}

fn ready(play: &mut Play) -> TransactionId {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    id
}

fn aborted(play: &Play, wanted: fn(&AbortReason) -> bool) {
    play.told(|event| {
        matches!(event, Event::Ended { outcome: Outcome::Aborted(reason), .. } if wanted(reason))
    });
}

fn failed_delivery(play: &mut Play) {
    ready(play);
    let writes = WriteReport {
        sent: 2,
        delivered: 1,
        failed: 1,
        detail: Some("message too large".into()),
        ..WriteReport::default()
    };
    play.answer_on((EU, "prepare"), vote(writes, None));
    play.settle();
    aborted(play, |reason| matches!(reason, AbortReason::VotedNo { .. }));
}

fn expired(play: &mut Play) {
    ready(play);
    let name = play.slot_name(EU, 1);
    let producer = play.clusters.producer(EU, &name);
    let broker = Some((BrokerState::CompleteAbort, producer));
    play.answer_on((EU, "prepare"), vote(delivered(), broker));
    play.settle();
    aborted(play, |reason| matches!(reason, AbortReason::VotedNo { .. }));
}

fn stranger(play: &mut Play) {
    ready(play);
    let producer = ProducerIdentity {
        producer_id: 4242,
        epoch: 0,
    };
    let broker = Some((BrokerState::Ongoing, producer));
    play.answer_on((EU, "prepare"), vote(delivered(), broker));
    play.settle();
    aborted(play, |reason| matches!(reason, AbortReason::VotedNo { .. }));
    status(play, EU, |status| {
        matches!(status, ParticipantStatus::Stopped(_))
    });
    let next = play.begin();
    let refused = play.refused(Request::Enlist {
        transaction: next,
        participant: ParticipantId(EU),
    });
    assert!(matches!(refused, Refusal::Fenced(_)), "{refused:?}");
}

fn deadline(play: &mut Play) {
    ready(play);
    play.settle_one("prepare");
    play.pass(seconds(51));
    play.settle();
    aborted(play, |reason| {
        matches!(reason, AbortReason::DeadlinePassed { .. })
    });
}

fn timed_out(play: &mut Play) {
    play.settle();
    let id = play.begin_with(None, Some(seconds(5)));
    play.enlist(id, EU);
    play.settle();
    play.pass(seconds(5));
    play.settle();
    ended(play, id, &Outcome::Aborted(AbortReason::TimedOut));
}

fn to_the_decision(play: &mut Play) {
    ready(play);
    play.settle_one("prepare");
    play.settle_one("prepare");
    assert_eq!(play.open(), ["append"]);
}

fn log_full(play: &mut Play) {
    to_the_decision(play);
    let failure = AppendFailure::Refused("no space left".into());
    play.answer("append", Response::AppendFailed(failure));
    play.settle();
    aborted(play, |reason| matches!(reason, AbortReason::LogFull(_)));
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

fn log_failed(play: &mut Play) {
    to_the_decision(play);
    let failure = AppendFailure::Unknown("sync failed".into());
    play.answer("append", Response::AppendFailed(failure));
    in_doubt(play);
    play.told(|event| matches!(event, Event::Stopped(StopReason::LogFailed(_))));
    play.refused(Request::Close);
}

fn log_fenced(play: &mut Play) {
    to_the_decision(play);
    let failure = AppendFailure::Fenced("a successor".into());
    play.answer("append", Response::AppendFailed(failure));
    in_doubt(play);
    play.told(|event| matches!(event, Event::Stopped(StopReason::LogFenced(_))));
}

fn close(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.request(Request::Close);
    play.settle();
    ended(play, id, &Outcome::Aborted(AbortReason::Closed));
    play.told(|event| *event == Event::Drained);
    play.refused(Request::Begin {
        key: None,
        timeout: None,
    });
}

fn one_at_a_time(setup: &mut Setup) {
    setup.config.limits.transactions_max = 1;
    setup.config.limits.branches_max = 1;
    setup.config.limits.key_bytes_max = 4;
}

fn refusals(play: &mut Play) {
    play.settle();
    let begin = |key: Option<&[u8]>| Request::Begin {
        key: key.map(<[u8]>::to_vec),
        timeout: None,
    };
    assert!(matches!(
        play.refused(begin(Some(b"too long"))),
        Refusal::Limit(..)
    ));
    let id = play.begin();
    assert!(matches!(play.refused(begin(None)), Refusal::Limit(..)));
    play.enlist(id, EU);
    play.settle();
    let enlist = |transaction, p| Request::Enlist {
        transaction,
        participant: ParticipantId(p),
    };
    assert!(matches!(play.refused(enlist(id, US)), Refusal::Limit(..)));
    assert!(matches!(play.refused(enlist(id, 7)), Refusal::Config(_)));
    let other = TransactionId { sequence: 99, ..id };
    assert!(matches!(
        play.refused(enlist(other, EU)),
        Refusal::UnknownTransaction(_)
    ));
    play.refused(Request::Forget { transaction: id });
    play.commit(id);
    let again = Request::Commit {
        transaction: id,
        report: CommitReturn::Acknowledged,
    };
    assert!(matches!(play.refused(again), Refusal::InvalidState(_)));
    play.settle();
}
