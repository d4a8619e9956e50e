//! Producers that the application owns: what is told of a branch that nobody can prove, and whose word a question to settle is.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Accepted, Action, ActionId, AppendFailure, Backoff, BrokerState, CommitReturn, Config,
    ConnectReport, Coordinator, Decision, EndAnswer, Event, GivesWay, HeuristicKind, Inquiry,
    KnownOutcome, Ledger, Limits, ListedTransaction, Listing, LogId, Now, Outcome, Output,
    ParticipantConfig, ParticipantId, PrepareReport, ProducerIdentity, Record, Request, Response,
    StopReason, Time, TransactionDescription, TransactionId, VersionClass, WriteReport,
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
                        self.coordinator.handle_response(id, response, now());
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
                writes: WriteReport {
                    stated_delivered: true,
                    ..WriteReport::default()
                },
                writer: None,
                inquiry: Some(self.inquire(OWN)),
            }),
            // What has moved on is fenced.
            Action::EndTransaction { .. } => Response::Ended(EndAnswer::Code(90)),
            other => panic!("not for this test: {other:?}"),
        })
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
        let accepted = self.coordinator.handle_request(request, now());
        self.drain();
        accepted.expect("accepted")
    }

    fn begin(&mut self, version_class: VersionClass) -> TransactionId {
        let begin = Request::Begin {
            key: None,
            timeout: None,
        };
        let Accepted::Begun(transaction) = self.request(begin) else {
            panic!("a begin is answered at once")
        };
        self.request(Request::EnlistOwn {
            transaction,
            participant: EU,
            transactional_id: OWN.into(),
            version_class,
        });
        transaction
    }

    fn commit(&mut self, transaction: TransactionId) {
        self.request(Request::Commit {
            transaction,
            report: CommitReturn::Acknowledged,
        });
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
        host.request(Request::Abort {
            transaction: id,
            reason: "wanted".into(),
        });
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
    host.request(Request::Abort {
        transaction: id,
        reason: "wanted".into(),
    });
    let asked = host.asked.remove(0);
    host.coordinator
        .handle_response(asked, Response::Appended, now());
    host.drain();
    assert!(host.is_settled());
}
