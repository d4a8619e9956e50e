//! Branches that do not end at the first attempt, or otherwise than decided.

use gtc_core::{
    AppendFailure, BrokerState, Decision, EndAnswer, Event, HeuristicKind, Inquiry, Outcome,
    ParticipantId, ProducerIdentity, Request, Response, TransactionId, WriteReport,
};

use super::{code, ended, no_answer, plain, seconds, vote};
use crate::Scenario;
use crate::cluster::{delivered, described};
use crate::play::{EU, Play, US};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        plain(
            "end-by-control-client",
            "The producer's own commit was not answered: inquire, EndTxn of class v1, inquire once more (R17).",
            by_control_client,
        ),
        plain(
            "end-already-committed",
            "The producer's own commit was not answered, but it had arrived: the broker says so.",
            already_committed,
        ),
        plain(
            "end-retried",
            "EndTxn answers that the coordinator is loading, and then not at all: again, after delays.",
            retried,
        ),
        plain(
            "end-not-sent",
            "EndTxn could not even be sent: the broker is asked, and it is sent again.",
            not_sent,
        ),
        plain(
            "end-found-committing",
            "The producer's own commit was not answered: the broker is already writing its markers.",
            found_committing,
        ),
        plain(
            "end-completion-refused",
            "The log has no room for the completion: the slots stay taken until it is durable (R9, R10).",
            completion_refused,
        ),
        plain(
            "end-acknowledged-beside-open",
            "One branch is acknowledged while the other cluster is down: that is written down (R16), \
             and its slot is free.",
            beside_open,
        ),
        plain(
            "heuristic-aborted",
            "Decided commit, and the broker has aborted a branch: recorded, told as mixed, forgotten by an operator.",
            aborted,
        ),
        plain(
            "heuristic-committed",
            "One branch votes yes, the other no: abort; and the first was committed by somebody.",
            committed,
        ),
        plain(
            "heuristic-hazard",
            "Decided commit, and another transaction of the name is all that is left: nobody can tell.",
            hazard,
        ),
        plain(
            "heuristic-abandoned",
            "A cluster is down for good: an operator gives its branch up.",
            abandoned,
        ),
        plain(
            "heuristic-record-refused",
            "The log has no room for the heuristic record: it does not count until it is accepted (R10).",
            record_refused,
        ),
        plain(
            "report-timeout",
            "The caller hears in doubt after its time, and the work goes on without it.",
            report_timeout,
        ),
        plain(
            "resolve-commit",
            "An operator asks to try a waiting branch again at once.",
            resolve_commit,
        ),
    ]
}

/// Decides commit, and leaves the branch of `us` without an answer.
fn us_open(play: &mut Play) -> TransactionId {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    play.settle_but(of_us);
    id
}

fn of_us(action: &gtc_core::Action) -> bool {
    action.name() != "prepare" && action.participant() == Some(ParticipantId(US))
}

fn us_producer(play: &Play) -> ProducerIdentity {
    play.clusters.producer(US, &play.slot_name(US, 2))
}

fn us_is(play: &mut Play, state: BrokerState) {
    let (name, producer) = (play.slot_name(US, 2), us_producer(play));
    play.clusters.turn(US, &name, state);
    let found = described(state, producer);
    play.answer_on((US, "inquire"), Response::Inquired(found));
}

fn by_control_client(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    us_is(play, BrokerState::Ongoing);
    assert_eq!(play.open(), ["end-transaction"]);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn already_committed(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn retried(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), code(51));
    us_is(play, BrokerState::Ongoing);
    play.pass(seconds(1));
    play.answer_on((US, "end-transaction"), code(14));
    play.pass(seconds(1));
    us_is(play, BrokerState::Ongoing);
    play.pass(seconds(1));
    play.answer_on((US, "end-transaction"), no_answer());
    play.pass(seconds(1));
    let silent = Inquiry::NoAnswer("timed out".into());
    play.answer_on((US, "inquire"), Response::Inquired(silent));
    play.pass(seconds(1));
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn not_sent(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    us_is(play, BrokerState::Ongoing);
    let not_sent = EndAnswer::NotSent("connection refused".into());
    play.answer_on((US, "end-transaction"), Response::Ended(not_sent));
    play.pass(seconds(1));
    us_is(play, BrokerState::Ongoing);
    play.pass(seconds(1));
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn found_committing(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    us_is(play, BrokerState::PrepareCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn completion_refused(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    play.settle_one("prepare");
    play.settle_one("prepare");
    play.settle_one("append");
    play.settle_but(|action| action.name() == "append");
    ended(play, id, &Outcome::Committed);
    let failure = AppendFailure::Refused("no space left".into());
    play.answer("append", Response::AppendFailed(failure));
    play.settle();
    play.pass(seconds(5));
    play.settle();
}

fn beside_open(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    let silent = Inquiry::NoAnswer("timed out".into());
    play.answer_on((US, "inquire"), Response::Inquired(silent));
    play.settle_but(of_us);
    play.pass(seconds(1));
    play.settle_but(of_us);
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}

fn heuristic(play: &Play, wanted: HeuristicKind) {
    play.told(|event| matches!(event, Event::Heuristic(_, branch) if branch.kind == wanted));
    play.told(|event| {
        matches!(
            event,
            Event::Ended {
                outcome: Outcome::Mixed { .. },
                ..
            }
        )
    });
}

fn aborted(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), code(48));
    us_is(play, BrokerState::CompleteAbort);
    play.settle();
    heuristic(play, HeuristicKind::Aborted);
    play.request(Request::Forget { transaction: id });
    play.settle();
}

fn us_open_now(play: &Play) -> (BrokerState, ProducerIdentity) {
    (BrokerState::Ongoing, us_producer(play))
}

fn committed(play: &mut Play) {
    play.settle();
    let id = play.begin_on_both();
    play.commit(id);
    let failed = WriteReport {
        sent: 1,
        failed: 1,
        ..WriteReport::default()
    };
    let us_yes = vote(delivered(), Some(us_open_now(play)));
    play.answer_on((US, "prepare"), us_yes);
    play.answer_on((EU, "prepare"), vote(failed, None));
    play.answer_on((US, "end-by-writer"), code(48));
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
    heuristic(play, HeuristicKind::Committed);
}

fn hazard(play: &mut Play) {
    us_open(play);
    play.answer_on((US, "end-by-writer"), code(90));
    let stranger = ProducerIdentity {
        producer_id: 4242,
        epoch: 5,
    };
    let other = described(BrokerState::Ongoing, stranger);
    play.answer_on((US, "inquire"), Response::Inquired(other));
    play.settle();
    heuristic(play, HeuristicKind::Hazard);
}

fn abandoned(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    play.request(Request::Resolve {
        transaction: id,
        decision: Decision::Abort,
    });
    play.settle();
    heuristic(play, HeuristicKind::Abandoned);
}

fn record_refused(play: &mut Play) {
    us_open(play);
    play.answer_on((US, "end-by-writer"), code(48));
    us_is(play, BrokerState::CompleteAbort);
    let failure = AppendFailure::Refused("no space left".into());
    play.answer("append", Response::AppendFailed(failure));
    play.settle_but(of_us);
    play.pass(seconds(5));
    play.settle_but(of_us);
    while play.open().contains(&"inquire") {
        us_is(play, BrokerState::CompleteAbort);
    }
    play.settle();
    heuristic(play, HeuristicKind::Aborted);
}

fn report_timeout(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    play.pass(seconds(61));
    play.told(|event| {
        matches!(event, Event::Ended { outcome: Outcome::InDoubt(_), transaction } if *transaction == id)
    });
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
}

fn resolve_commit(play: &mut Play) {
    let id = us_open(play);
    play.answer_on((US, "end-by-writer"), no_answer());
    let silent = Inquiry::NoAnswer("timed out".into());
    play.answer_on((US, "inquire"), Response::Inquired(silent));
    play.request(Request::Resolve {
        transaction: id,
        decision: Decision::Commit,
    });
    us_is(play, BrokerState::CompleteCommit);
    play.settle();
    ended(play, id, &Outcome::Committed);
}
