//! Producers that the application owns: what is told of a branch that nobody can prove, and whose word a question to settle is.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Accepted, Action, ActionId, AppendFailure, Backoff, BranchIdentity, BrokerState, CommitReturn,
    Config, ConnectReport, Coordinator, Decision, EndAnswer, Event, GivesWay, HeuristicKind,
    Inquiry, KnownOutcome, Ledger, Limits, ListedTransaction, Listing, LogId, Now, Outcome, Output,
    ParticipantConfig, ParticipantId, PrepareReport, ProducerIdentity, Record, Refusal, Request,
    Response, Reuse, StopReason, Time, TransactionDescription, TransactionId, VersionClass,
    WriteReport,
};

const EU: ParticipantId = ParticipantId(0);
const OWN: &str = "billing-1";
const START_MS: i64 = 5000;

fn now() -> Now {
    Now {
        monotonic: Time::from_micros(1),
        unix_ms: 1,
    }
}

fn config() -> Config {
    Config {
        coordinator: "orders".into(),
        log_id: LogId(0xab),
        participants: vec![ParticipantConfig {
            name: "eu".into(),
            slots_max: 4,
            timeout_ms: 900_000,
            margin: Duration::from_secs(30),
            gives_way: GivesWay::Nothing,
            names_max: 100,
        }],
        limits: Limits::default(),
        backoff: Backoff::default(),
        seed: 1,
    }
}

fn found(state: BrokerState, epoch: i16, start_time_ms: i64) -> Inquiry {
    Inquiry::Described(TransactionDescription {
        state,
        producer: ProducerIdentity {
            producer_id: 7,
            epoch,
        },
        start_time_ms,
        timeout_ms: 60_000,
    })
}

fn stated() -> WriteReport {
    WriteReport {
        stated_delivered: true,
        ..WriteReport::default()
    }
}

/// A coordinator among a sound cluster and a sound log, of which the test says what they show.
struct Host {
    coordinator: Coordinator,
    log: Vec<Record>,
    /// What the cluster knows of transactional ids.
    known: BTreeMap<Arc<str>, Inquiry>,
    events: Vec<Event>,
    actions: Vec<&'static str>,
    /// Appends of nothing, which ask whose log it is.
    asked: Vec<ActionId>,
    /// What the application says of its deliveries.
    writes: WriteReport,
    now: Now,
}

impl Host {
    fn start(ledger: Ledger) -> Self {
        Self::start_among(
            ledger,
            BTreeMap::from([(Arc::from(OWN), found(BrokerState::Empty, 3, -1))]),
        )
    }

    fn start_among(ledger: Ledger, known: BTreeMap<Arc<str>, Inquiry>) -> Self {
        let mut host = Self {
            coordinator: Coordinator::new(config(), ledger, now()).expect("valid"),
            log: Vec::new(),
            known,
            events: Vec::new(),
            actions: Vec::new(),
            asked: Vec::new(),
            writes: stated(),
            now: now(),
        };
        host.drain();
        host
    }

    fn shows(&mut self, inquiry: Inquiry) {
        self.known.insert(OWN.into(), inquiry);
    }

    fn drain(&mut self) {
        loop {
            match self.coordinator.poll_output() {
                Output::Action(id, action) => {
                    self.actions.push(action.name());
                    if let Some(response) = self.answer(id, action) {
                        self.coordinator.handle_response(id, response, self.now);
                    }
                }
                Output::Event(event) => self.events.push(event),
                Output::Wait(..) => return,
            }
        }
    }

    fn answer(&mut self, id: ActionId, action: Action) -> Option<Response> {
        Some(match action {
            Action::Append { records, .. } if records.is_empty() => {
                self.asked.push(id);
                return None;
            }
            Action::Append { records, .. } => {
                self.log.extend_from_slice(&records);
                Response::Appended
            }
            Action::Checkpoint { snapshot } => {
                self.log = snapshot;
                Response::Appended
            }
            Action::Connect { .. } => Response::Connected(ConnectReport {
                cluster_id: "cluster".into(),
                transaction_version: 2,
                timeout_ceiling_ms: Some(900_000),
            }),
            Action::Inquire {
                transactional_id, ..
            } => Response::Inquired(self.inquire(&transactional_id)),
            Action::Fence {
                transactional_id, ..
            } => {
                let made = found(BrokerState::Empty, 0, -1);
                self.known.insert(transactional_id, made);
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List { .. } => Response::Listed(self.list()),
            Action::Prepare { .. } => Response::Prepared(PrepareReport {
                writes: self.writes.clone(),
                writer: None,
                inquiry: Some(self.inquire(OWN)),
                strayed: None,
            }),
            Action::EndTransaction { branch, .. } => Response::Ended(self.end(&branch)),
            other => panic!("not for this test: {other:?}"),
        })
    }

    /// What is open is aborted, and what has moved on is fenced.
    fn end(&mut self, branch: &BranchIdentity) -> EndAnswer {
        let id = &branch.transactional_id;
        let open = |found: &TransactionDescription| {
            found.state == BrokerState::Ongoing && found.producer == branch.producer
        };
        match self.known.get_mut(id) {
            Some(Inquiry::Described(found)) if open(found) => {
                found.state = BrokerState::CompleteAbort;
                EndAnswer::Acknowledged
            }
            _ => EndAnswer::Code(90),
        }
    }

    fn inquire(&self, id: &str) -> Inquiry {
        self.known.get(id).cloned().unwrap_or(Inquiry::NotFound)
    }

    fn list(&self) -> Listing {
        let slots = self.known.keys().filter(|id| id.starts_with("gtc."));
        let listed = slots.map(|id| ListedTransaction {
            transactional_id: id.clone(),
            producer_id: 1,
            state: BrokerState::Empty,
        });
        Listing {
            transactions: listed.collect(),
            complete: true,
            detail: None,
        }
    }

    fn request(&mut self, request: Request) -> Accepted {
        let accepted = self.coordinator.handle_request(request, self.now);
        self.drain();
        accepted.expect("accepted")
    }

    fn pass(&mut self, time: Duration) {
        self.now.monotonic = self.now.monotonic + time;
        self.coordinator.handle_timeout(self.now);
        self.drain();
    }

    fn begin(&mut self, version_class: VersionClass) -> TransactionId {
        let transaction = self.begin_empty();
        self.enlist((transaction, OWN), version_class, None);
        transaction
    }

    fn begin_empty(&mut self) -> TransactionId {
        let begin = Request::Begin {
            key: None,
            timeout: None,
        };
        let Accepted::Begun(transaction) = self.request(begin) else {
            panic!("a begin is answered at once")
        };
        transaction
    }

    fn enlist(
        &mut self,
        (transaction, id): (TransactionId, &str),
        version_class: VersionClass,
        producer: Option<ProducerIdentity>,
    ) {
        self.request(Request::EnlistOwn {
            transaction,
            participant: EU,
            transactional_id: id.into(),
            version_class,
            producer,
        });
    }

    /// Why the enlistment of an own producer in this transaction was refused.
    fn refusal(&self, id: TransactionId) -> Option<&Refusal> {
        self.events.iter().find_map(|event| match event {
            Event::EnlistRefused {
                transaction,
                own: Some(_),
                refusal,
                ..
            } if *transaction == id => Some(refusal),
            _ => None,
        })
    }

    fn is_enlisted(&self, id: TransactionId) -> bool {
        let enlisted = |event: &Event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == id);
        self.events.iter().any(enlisted)
    }

    fn commit(&mut self, transaction: TransactionId) {
        self.request(Request::Commit {
            transaction,
            report: CommitReturn::Acknowledged,
        });
    }

    fn abort(&mut self, transaction: TransactionId) {
        self.request(Request::Abort {
            transaction,
            reason: "wanted".into(),
        });
    }

    /// Whether the application was told that its producer may go on, and whether the log remembers that it may not.
    fn released(&self) -> (Reuse, bool) {
        let mut released = self.events.iter().filter_map(|event| match event {
            Event::OwnReleased { reuse, .. } => Some(*reuse),
            _ => None,
        });
        let discarded = |record: &Record| matches!(record, Record::Discarded { .. });
        let reuse = released.next_back().expect("it is released");
        (reuse, self.log.iter().any(discarded))
    }

    fn outcome(&self) -> &Outcome {
        let mut ended = self.events.iter().filter_map(|event| match event {
            Event::Ended { outcome, .. } => Some(outcome),
            _ => None,
        });
        ended.next().expect("it has ended")
    }

    fn settle(&mut self) {
        self.request(Request::Settle {
            participant: EU,
            transactional_id: OWN.into(),
        });
    }

    fn is_settled(&self) -> bool {
        let settled = |event: &Event| matches!(event, Event::Settled { .. });
        self.events.iter().any(settled)
    }

    fn stopped(&self) -> Option<&StopReason> {
        self.events.iter().find_map(|event| match event {
            Event::Stopped(reason) => Some(reason),
            _ => None,
        })
    }
}

#[track_caller]
fn mixed(host: &Host, wanted: HeuristicKind) {
    let Outcome::Mixed {
        decision: Decision::Abort,
        heuristic,
    } = host.outcome()
    else {
        panic!("{:?}", host.outcome())
    };
    let kinds: Vec<HeuristicKind> = heuristic.iter().map(|branch| branch.kind).collect();
    assert_eq!(kinds, [wanted]);
    let recorded = |record: &Record| matches!(record, Record::Heuristic { kind, decision: Decision::Abort, .. } if *kind == wanted);
    assert!(host.log.iter().any(recorded));
}

/// The application committed by itself, and its producer was initialised again before the vote: the broker shows
/// nothing of it, and nobody is told that it aborted.
#[test]
fn what_nobody_can_prove_is_not_told_aborted() {
    for class in [VersionClass::V1, VersionClass::V2] {
        let mut host = Host::start(Ledger::new());
        let id = host.begin(class);
        host.shows(found(BrokerState::Empty, 5, -1));
        host.commit(id);
        mixed(&host, HeuristicKind::Hazard);
    }
}

/// Nothing was begun, or its broker aborted it: that is proved, and an abort like any other.
#[test]
fn what_is_proved_is_told_aborted() {
    for shown in [
        found(BrokerState::Empty, 3, -1),
        found(BrokerState::CompleteAbort, 4, START_MS),
    ] {
        let mut host = Host::start(Ledger::new());
        let id = host.begin(VersionClass::V1);
        host.shows(shown.clone());
        host.abort(id);
        assert!(matches!(host.outcome(), Outcome::Aborted(_)), "{shown:?}");
    }
}

/// The vote saw that the branch was being committed: that counts, and nothing is asked that could show less.
#[test]
fn what_the_vote_saw_is_evidence() {
    for (class, epoch) in [(VersionClass::V1, 3), (VersionClass::V2, 4)] {
        let mut host = Host::start(Ledger::new());
        let id = host.begin(class);
        host.shows(found(BrokerState::PrepareCommit, epoch, START_MS));
        host.actions.clear();
        host.commit(id);
        mixed(&host, HeuristicKind::Committed);
        assert!(!host.actions.contains(&"inquire"), "{:?}", host.actions);
    }
}

/// A start finds an undecided own branch whose producer has moved on: nobody can say how that ended.
#[test]
fn a_start_does_not_presume_what_may_have_committed() {
    let mut first = Host::start(Ledger::new());
    let id = first.begin(VersionClass::V2);
    let mut ledger = Ledger::new();
    for record in first.log {
        ledger.apply(record).expect("in order");
    }
    let mut known = first.known;
    known.insert(OWN.into(), found(BrokerState::Empty, 5, -1));
    let second = Host::start_among(ledger, known);
    assert_eq!(second.coordinator.outcome(id), KnownOutcome::Mixed);
}

/// Whoever has lost the log knows nothing of what its successor promises: settle is the log's word, and not the
/// coordinator's.
#[test]
fn settle_asks_the_log_whose_it_is() {
    let mut host = Host::start(Ledger::new());
    host.settle();
    assert!(!host.is_settled(), "the log was not heard");
    let asked = host.asked.remove(0);
    host.coordinator
        .handle_response(asked, Response::Appended, now());
    host.drain();
    assert!(host.is_settled());

    let mut zombie = Host::start(Ledger::new());
    zombie.settle();
    let fenced = AppendFailure::Fenced("another owner".into());
    let asked = zombie.asked.remove(0);
    zombie
        .coordinator
        .handle_response(asked, Response::AppendFailed(fenced), now());
    zombie.drain();
    assert!(!zombie.is_settled());
    assert!(matches!(zombie.stopped(), Some(StopReason::LogFenced(_))));
}

/// A log without room has not said whose it is: it is asked again, and what is promised meanwhile is waited for.
#[test]
fn settle_waits_for_an_answer_and_for_what_began_meanwhile() {
    let mut host = Host::start(Ledger::new());
    host.settle();
    let refused = AppendFailure::Refused("full".into());
    let asked = host.asked.remove(0);
    host.coordinator
        .handle_response(asked, Response::AppendFailed(refused), now());
    host.drain();
    assert!(!host.is_settled());
    let later = Now {
        monotonic: now().monotonic + Duration::from_secs(120),
        ..now()
    };
    host.coordinator.handle_timeout(later);
    host.drain();
    assert_eq!(host.asked.len(), 1, "it is asked again");

    let id = host.begin(VersionClass::V1);
    let asked = host.asked.remove(0);
    host.coordinator
        .handle_response(asked, Response::Appended, now());
    host.drain();
    assert!(!host.is_settled(), "it takes part in {id}");
    host.abort(id);
    let asked = host.asked.remove(0);
    host.coordinator
        .handle_response(asked, Response::Appended, now());
    host.drain();
    assert!(host.is_settled());
}

fn identity(producer_id: i64, epoch: i16) -> ProducerIdentity {
    ProducerIdentity { producer_id, epoch }
}

/// Enlisted under the id of another producer, or after another instance initialised it: the cluster's identity under
/// that id is not the application's, and its records would be no part of what is committed.
#[test]
fn an_own_producer_of_another_identity_is_not_taken_in() {
    let mut host = Host::start(Ledger::new());
    for other in [identity(8, 0), identity(7, 2), identity(7, 4)] {
        let id = host.begin_empty();
        host.enlist((id, OWN), VersionClass::V1, Some(other));
        let refusal = host.refusal(id);
        let Some(Refusal::InvalidState(why)) = refusal else {
            panic!("{other:?}: {refusal:?}")
        };
        let told = format!("{}/{}", other.producer_id, other.epoch);
        assert!(why.contains("has producer 7/3"), "{why}");
        assert!(why.contains(&told), "{why}");
    }
    let id = host.begin_empty();
    host.enlist((id, OWN), VersionClass::V1, Some(identity(7, 3)));
    assert!(host.is_enlisted(id));
}

/// While its last transaction is ending, the producer may not have got its next identity yet.
#[test]
fn an_identity_is_compared_once_the_last_transaction_has_ended() {
    let mut host = Host::start(Ledger::new());
    host.shows(found(BrokerState::PrepareCommit, 3, START_MS));
    let id = host.begin_empty();
    host.enlist((id, OWN), VersionClass::V2, Some(identity(7, 4)));
    assert_eq!(host.refusal(id), None);
    host.shows(found(BrokerState::CompleteCommit, 4, START_MS));
    host.pass(Duration::from_secs(5));
    assert!(host.is_enlisted(id), "{:?}", host.refusal(id));
}

/// Only its application can end the first transaction, so that waiting for it is in vain.
#[test]
fn a_producer_in_an_open_transaction_is_refused_at_once() {
    let mut host = Host::start(Ledger::new());
    let first = host.begin(VersionClass::V1);
    let second = host.begin(VersionClass::V1);
    let Some(Refusal::InvalidState(why)) = host.refusal(second) else {
        panic!("{:?}", host.refusal(second))
    };
    assert!(why.contains(&first.to_string()), "{why}");
    host.abort(first);
    let third = host.begin(VersionClass::V1);
    assert!(host.is_enlisted(third), "{:?}", host.refusal(third));
}

/// The margin is the slots', whose time-out is long: of an own producer's short one a third is kept.
#[test]
fn an_own_producer_of_a_short_time_out_can_commit() {
    let short = |state| {
        let mut inquiry = found(state, 3, START_MS);
        if let Inquiry::Described(found) = &mut inquiry {
            found.timeout_ms = 9000;
        }
        inquiry
    };
    for (late, decides) in [(5900, true), (6100, false)] {
        let mut host = Host::start(Ledger::new());
        host.shows(short(BrokerState::Empty));
        let id = host.begin(VersionClass::V1);
        host.shows(short(BrokerState::Ongoing));
        host.pass(Duration::from_millis(late));
        let decided = |record: &Record| matches!(record, Record::Decided { .. });
        let commit = Request::Commit {
            transaction: id,
            report: CommitReturn::Acknowledged,
        };
        let asked = host.coordinator.handle_request(commit, host.now);
        host.drain();
        assert_eq!(
            host.log.iter().any(decided),
            decides,
            "{late} ms: {asked:?}"
        );
    }
}

/// Who asks to abort writes no more: the vote tells whether anything of its producer may still be under way (R3).
#[test]
fn an_abort_asks_what_became_of_the_deliveries() {
    let failed = WriteReport {
        sent: 2,
        delivered: 1,
        failed: 1,
        ..WriteReport::default()
    };
    let counted = WriteReport {
        sent: 1,
        delivered: 1,
        ..WriteReport::default()
    };
    for (writes, shown, reuse) in [
        (counted, BrokerState::Ongoing, Reuse::Reuse),
        (stated(), BrokerState::Ongoing, Reuse::Reuse),
        (stated(), BrokerState::Empty, Reuse::Reuse),
        (failed, BrokerState::Ongoing, Reuse::Discard),
        (WriteReport::default(), BrokerState::Ongoing, Reuse::Discard),
        (WriteReport::default(), BrokerState::Empty, Reuse::Discard),
    ] {
        let mut host = Host::start(Ledger::new());
        let id = host.begin(VersionClass::V1);
        if shown == BrokerState::Ongoing {
            host.shows(found(shown, 3, START_MS));
        }
        host.writes = writes.clone();
        host.actions.clear();
        host.abort(id);
        assert_eq!(host.actions[0], "prepare", "{:?}", host.actions);
        assert!(matches!(host.outcome(), Outcome::Aborted(_)), "{writes:?}");
        let discards = reuse == Reuse::Discard;
        assert_eq!(host.released(), (reuse, discards), "{writes:?}");
    }
}

/// Nobody has told the application to stop writing: whatever it says now, a record may follow.
#[test]
fn what_ends_without_its_application_is_discarded() {
    type End = fn(&mut Host, TransactionId);
    let ends: [(&str, End); 4] = [
        ("deadline", |host, _| host.pass(Duration::from_secs(60))),
        ("close", |host, _| {
            host.request(Request::Close);
        }),
        ("settle", |host, _| host.settle()),
        ("operator", |host, transaction| {
            host.request(Request::Resolve {
                transaction,
                decision: Decision::Abort,
            });
        }),
    ];
    for (name, end) in ends {
        let mut host = Host::start(Ledger::new());
        let id = host.begin(VersionClass::V1);
        host.shows(found(BrokerState::Ongoing, 3, START_MS));
        host.actions.clear();
        end(&mut host, id);
        assert!(matches!(host.outcome(), Outcome::Aborted(_)), "{name}");
        assert_eq!(host.released(), (Reuse::Discard, true), "{name}");
        assert!(!host.actions.contains(&"prepare"), "{name}");
    }
}
