//! Each excuse, and a violation near it that it does not hide.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gtc_core::{
    BranchIdentity, HeuristicBranch, Incarnation, ProducerIdentity, Record, TransactionId,
    VersionClass,
};

use super::*;
use crate::model::broker::Call;
use crate::violation::Violation;
use crate::world::account::Account;

const ID: TransactionId = TransactionId {
    incarnation: Incarnation(1),
    sequence: 1,
};
const PRODUCER: ProducerIdentity = ProducerIdentity {
    producer_id: 7,
    epoch: 3,
};

fn own(number: usize) -> Arc<str> {
    format!("own-{number}").into()
}

fn tag(number: usize) -> Tag {
    Tag {
        transaction: ID,
        participant: 0,
        name: own(number),
        stray: false,
    }
}

fn abort(tag: &Tag) -> Call {
    Call::End {
        id: tag.name.clone(),
        producer: PRODUCER,
        version: 5,
        decision: Decision::Abort,
        intent: Some(tag.clone()),
    }
}

fn init(tag: &Tag) -> Call {
    Call::Init {
        id: tag.name.clone(),
        timeout_ms: 60_000,
    }
}

/// The invariant that is violated.
fn violated(act: impl FnOnce()) -> Option<&'static str> {
    let payload = catch_unwind(AssertUnwindSafe(act)).err()?;
    Some(Violation::from_unwind(payload).invariant)
}

fn oracle(account: Account) -> Oracle {
    let mut oracle = Oracle::new(1);
    oracle.accounts.insert(ID, account);
    oracle
}

/// What a request does to a branch of this account.
fn ends(account: &Account, call: &Call, tag: &Tag) -> Option<&'static str> {
    let mut oracle = oracle(account.clone());
    violated(|| oracle.ended_by_call(call, tag, &[Log::default()]))
}

/// What was written before the producer was enlisted, and never taken in, is no part of what was decided.
#[test]
fn early_writes_promise_nothing_until_they_are_taken_in() {
    let mut account = Account {
        decided: true,
        ..Account::default()
    };
    account.early.insert(tag(1));
    assert_eq!(ends(&account, &abort(&tag(1)), &tag(1)), None);
    let other = ends(&account, &abort(&tag(2)), &tag(2));
    assert_eq!(other, Some("ac2-stability"));
    account.early.clear();
    let taken_in = ends(&account, &abort(&tag(1)), &tag(1));
    assert_eq!(taken_in, Some("ac2-stability"));
}

/// A backup brings a branch back that had ended; no other.
#[test]
fn only_what_a_backup_brought_back_may_be_aborted() {
    let mut account = Account {
        decided: true,
        live: true,
        ..Account::default()
    };
    account.excused.insert(tag(1));
    for call in [abort(&tag(1)), init(&tag(1))] {
        assert_eq!(ends(&account, &call, &tag(1)), None);
    }
    assert_eq!(
        ends(&account, &abort(&tag(2)), &tag(2)),
        Some("ac2-stability")
    );
    assert_eq!(ends(&account, &init(&tag(2)), &tag(2)), Some("fencing"));
}

/// Whoever asks to settle gives up what is undecided, and nothing that was promised.
#[test]
fn only_what_its_application_gave_up_may_be_initialised() {
    let mut account = Account {
        live: true,
        ..Account::default()
    };
    account.given_up.insert(tag(1));
    assert_eq!(ends(&account, &init(&tag(1)), &tag(1)), None);
    assert_eq!(ends(&account, &init(&tag(2)), &tag(2)), Some("fencing"));
    account.heuristic = false;
    let mut oracle = oracle(account);
    let mut log = Log::default();
    log.append(
        (0, gtc_core::ActionId(1)),
        decided(1),
        gtc_core::Durability::Forced,
    );
    log.sync_one(crate::world::log::Sync::Durable);
    let promised = violated(|| oracle.ended_by_call(&init(&tag(1)), &tag(1), &[log]));
    assert_eq!(promised, Some("fencing"));
}

fn decided(number: usize) -> Vec<Record> {
    let started = Record::Started {
        incarnation: Incarnation(1),
        unix_ms: 1,
    };
    let decided = Record::Decided {
        transaction: ID,
        key: None,
        unix_ms: 1,
        branches: Arc::new([gtc_core::DecidedBranch {
            participant: "p0".into(),
            identity: BranchIdentity {
                transactional_id: own(number),
                producer: PRODUCER,
                start_time_ms: 5,
                timeout_ms: 60_000,
                version_class: VersionClass::V1,
            },
            own: true,
        }]),
    };
    vec![started, decided]
}

/// A branch that ended as decided, and is reported as this.
fn reported(account: &Account, kind: HeuristicKind, participant: &str) -> Option<&'static str> {
    let mut brokers = vec![Broker::new(2, 0, 0), Broker::new(2, 0, 0)];
    let ended = if account.decided {
        Fate::Committed
    } else {
        Fate::Aborted
    };
    let mut account = account.clone();
    for (p, broker) in brokers.iter_mut().enumerate() {
        let tag = Tag {
            participant: p,
            ..tag(1)
        };
        let initialised = broker.call(&init(&tag), 1);
        assert!(matches!(initialised, crate::model::broker::Reply::Done(_)));
        broker.fates.insert(tag.clone(), ended);
        account.written.insert(tag);
    }
    let branch = HeuristicBranch {
        participant: participant.into(),
        kind,
        detail: String::new(),
    };
    let mut oracle = oracle(account);
    violated(|| oracle.heuristic(ID, &branch, &brokers))
}

/// Of a producer that went on nothing can be proved: a hazard is right there, and nowhere else.
#[test]
fn only_where_a_producer_went_on_a_hazard_is_no_false_alarm() {
    let alarm = Some("no-false-alarm");
    for decided in [true, false] {
        let mut account = Account {
            decided,
            ..Account::default()
        };
        assert_eq!(reported(&account, HeuristicKind::Hazard, "p0"), alarm);
        account.own.insert((0, own(1)));
        assert_eq!(reported(&account, HeuristicKind::Hazard, "p0"), alarm);
        let mut oracle = oracle(account);
        oracle.overtakes((0, "own-1"), None, &[Log::default()]);
        let account = oracle.account(ID).clone();
        assert_eq!(reported(&account, HeuristicKind::Hazard, "p0"), None);
        assert_eq!(reported(&account, HeuristicKind::Hazard, "p1"), alarm);
        let wrong = if decided {
            HeuristicKind::Aborted
        } else {
            HeuristicKind::Committed
        };
        assert_eq!(reported(&account, wrong, "p0"), alarm);
    }
}

/// Who goes on is no stranger to its own transaction, and nothing is left to prove of one that is durably ended.
#[test]
fn only_branches_whose_end_is_not_durable_are_overtaken() {
    let mut account = Account::default();
    account.own.insert((0, own(1)));
    let mut oracle = oracle(account);
    oracle.overtakes((0, "own-1"), Some(ID), &[Log::default()]);
    oracle.overtakes((0, "own-2"), None, &[Log::default()]);
    oracle.overtakes((1, "own-1"), None, &[Log::default()]);
    assert!(oracle.account(ID).overtaken.is_empty());
    oracle.overtakes((0, "own-1"), None, &[Log::default()]);
    assert!(oracle.account(ID).is_unprovable(0));
    assert!(!oracle.account(ID).is_unprovable(1));
}

/// A backup from before an own producer was initialised shows nothing of its branch; of one that it has, it does.
#[test]
fn only_producers_that_a_backup_does_not_have_are_unprovable() {
    let mut before = Broker::new(2, 0, 0);
    before.call(&init(&tag(1)), 1);
    let mut after = before.clone();
    before.call(&init(&tag(2)), 1);
    for (number, unprovable) in [(1, false), (2, true)] {
        let mut account = Account::default();
        account.own.insert((0, own(number)));
        let mut oracle = oracle(account);
        oracle.restored(0, (&before, &after), &[Log::default()]);
        assert_eq!(oracle.account(ID).is_unprovable(0), unprovable, "{number}");
        oracle.restored(1, (&before, &after), &[Log::default()]);
        assert!(!oracle.account(ID).is_unprovable(1));
    }
    after.call(&init(&tag(1)), 1);
    let mut account = Account::default();
    account.own.insert((0, own(1)));
    let mut oracle = oracle(account);
    oracle.restored(0, (&before, &after), &[Log::default()]);
    assert!(oracle.account(ID).is_unprovable(0));
}

/// An early commit behind a crash is unknowable only where the log was never told of that very producer.
#[test]
fn an_early_commit_of_a_recorded_v2_producer_is_known() {
    let mut account = Account {
        rash: true,
        ..Account::default()
    };
    account.rash_own.insert((0, own(1)));
    account.recorded_own.insert((0, own(2)));
    assert!(account.is_unknowable());
    account.recorded_own.insert((0, own(1)));
    assert!(!account.is_unknowable());
}
