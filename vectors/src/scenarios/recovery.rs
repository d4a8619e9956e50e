//! Starts that find transactions in the log.

use gtc_core::{
    BranchIdentity, BrokerState, DecidedBranch, Event, HeuristicKind, Incarnation,
    ProducerIdentity, Record, Response, TransactionId, VersionClass,
};

use super::{seconds, with};
use crate::Scenario;
use crate::cluster::{START_TIME_MS, TIMEOUT_MS, described};
use crate::play::{EU, Play, Setup, US};

pub(super) fn all() -> Vec<Scenario> {
    vec![
        with(
            "recover-decided-open",
            "A decision without a completion, both branches open: both are committed by the control client.",
            (decided_open, all_answered),
        ),
        with(
            "recover-decided-committed",
            "A decision whose branches were committed before the crash: only the completion was missing.",
            (decided_committed, all_answered),
        ),
        with(
            "recover-decided-expired",
            "A branch of a decision has expired at its broker: heuristic, listed as mixed.",
            (decided_expired, expired),
        ),
        with(
            "recover-acknowledged",
            "A branch that was acknowledged before the crash is not looked at again (R16).",
            (decided_acknowledged, all_answered),
        ),
        with(
            "recover-completed",
            "A completed decision needs nothing, and its outcome is still known.",
            (decided_completed, all_answered),
        ),
        with(
            "recover-own-undecided",
            "An own producer's branch without a decision is aborted by its recorded identity (R5).",
            (own_undecided, all_answered),
        ),
        with(
            "recover-cluster-silent",
            "A decision whose cluster is silent blocks neither the start nor the other branch.",
            (decided_open, one_silent),
        ),
    ]
}

const ID: TransactionId = TransactionId {
    incarnation: Incarnation(1),
    sequence: 5,
};

const PARTICIPANTS: [(u16, &str); 2] = [(EU, "eu"), (US, "us")];

fn name(participant: &str) -> String {
    format!("gtc.orders.00000000000000ab.1.{participant}.1")
}

fn before(setup: &mut Setup) {
    setup.log.push(Record::Started {
        incarnation: Incarnation(1),
        unix_ms: 1_699_999_000_000,
    });
    for (p, participant) in PARTICIPANTS {
        setup.log.push(Record::ClusterBound {
            participant: participant.into(),
            cluster_id: format!("cluster-{p}").into(),
        });
        setup.log.push(Record::Names {
            incarnation: Incarnation(1),
            participant: participant.into(),
            first: 0,
            count: 4,
            unix_ms: 1_699_999_000_001,
        });
    }
}

fn branch(participant: &str, producer: ProducerIdentity) -> DecidedBranch {
    DecidedBranch {
        participant: participant.into(),
        identity: BranchIdentity {
            transactional_id: name(participant).into(),
            producer,
            start_time_ms: START_TIME_MS,
            timeout_ms: TIMEOUT_MS,
            version_class: VersionClass::V1,
        },
        own: false,
    }
}

fn decided(setup: &mut Setup, states: [BrokerState; 2]) {
    before(setup);
    let branches = PARTICIPANTS.into_iter().zip(states);
    let branches = branches.map(|((p, participant), state)| {
        let producer = setup.clusters.know(p, &name(participant), state);
        branch(participant, producer)
    });
    let branches = branches.collect();
    setup.log.push(Record::Decided {
        transaction: ID,
        key: Some(b"order-17".as_slice().into()),
        unix_ms: 1_699_999_000_002,
        branches,
    });
}

fn decided_open(setup: &mut Setup) {
    decided(setup, [BrokerState::Ongoing; 2]);
}

fn decided_committed(setup: &mut Setup) {
    decided(setup, [BrokerState::CompleteCommit; 2]);
}

fn decided_expired(setup: &mut Setup) {
    decided(
        setup,
        [BrokerState::CompleteCommit, BrokerState::CompleteAbort],
    );
}

fn decided_acknowledged(setup: &mut Setup) {
    decided(setup, [BrokerState::CompleteCommit, BrokerState::Ongoing]);
    setup.log.push(Record::Acknowledged {
        transaction: ID,
        participant: "eu".into(),
        transactional_id: name("eu").into(),
    });
}

fn decided_completed(setup: &mut Setup) {
    decided_committed(setup);
    setup.log.push(Record::Completed {
        transaction: ID,
        decision: gtc_core::Decision::Commit,
        key: Some(b"order-17".as_slice().into()),
        unix_ms: 1_699_999_000_002,
    });
}

fn own_undecided(setup: &mut Setup) {
    before(setup);
    let producer = setup.clusters.know(EU, "billing-1", BrokerState::Ongoing);
    setup.log.push(Record::OwnEnlisted {
        transaction: ID,
        participant: "eu".into(),
        transactional_id: "billing-1".into(),
        producer,
        version_class: VersionClass::V1,
    });
}

fn all_answered(play: &mut Play) {
    play.settle();
    play.pass(seconds(1));
    play.settle();
    play.told(|event| *event == Event::Recovered);
}

fn expired(play: &mut Play) {
    all_answered(play);
    play.told(|event| matches!(event, Event::Heuristic(_, branch) if branch.kind == HeuristicKind::Aborted));
}

fn one_silent(play: &mut Play) {
    let branch = name("us");
    let of_us = |action: &gtc_core::Action| match action {
        gtc_core::Action::Inquire {
            transactional_id, ..
        } => **transactional_id == *branch,
        _ => false,
    };
    play.settle_but(of_us);
    let silent = gtc_core::Inquiry::NoAnswer("timed out".into());
    play.answer_on((US, "inquire"), Response::Inquired(silent));
    play.settle_but(of_us);
    let id = play.begin();
    play.enlist(id, EU);
    play.settle_but(of_us);
    play.told(|event| matches!(event, Event::Enlisted { .. }));
    play.pass(seconds(2));
    let producer = play.clusters.producer(US, &name("us"));
    let found = described(BrokerState::CompleteCommit, producer);
    play.answer_on((US, "inquire"), Response::Inquired(found));
    play.settle();
    play.told(|event| *event == Event::Recovered);
}
