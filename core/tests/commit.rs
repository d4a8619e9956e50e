//! The plain course of a commit over two participants, step by step, with an ideal world.

use core::time::Duration;
use std::sync::Arc;

use gtc_core::{
    Accepted, Action, ActionId, Backoff, BrokerState, CommitReturn, Config, ConnectReport,
    Coordinator, Decision, EndAnswer, Event, GivesWay, Inquiry, Ledger, Limits, ListedTransaction,
    Listing, LogId, Now, Outcome, Output, ParticipantConfig, ParticipantId, PrepareReport,
    ProducerIdentity, Record, Refusal, Request, Response, SlotCondition, Time,
    TransactionDescription, TransactionId, WriteReport,
};

fn participant(name: &str) -> ParticipantConfig {
    ParticipantConfig {
        name: name.into(),
        slots_max: 4,
        timeout_ms: 900_000,
        margin: Duration::from_secs(30),
        gives_way: GivesWay::Nothing,
        names_max: 100,
    }
}

fn config() -> Config {
    Config {
        coordinator: "orders".into(),
        log_id: LogId(0xab),
        participants: vec![participant("eu"), participant("us")],
        limits: Limits::default(),
        backoff: Backoff::default(),
        seed: 1,
    }
}

/// Answers every action as a healthy cluster and log would.
#[derive(Default)]
struct Ideal {
    log: Vec<Record>,
    actions: Vec<&'static str>,
    events: Vec<Event>,
    initialised: Vec<(ParticipantId, Arc<str>)>,
    inquired: Vec<Arc<str>>,
    /// A cluster that gives no answer any more.
    down: Option<ParticipantId>,
    /// Completions are not answered, but kept here.
    held: Option<Vec<ActionId>>,
}

impl Ideal {
    fn drain(&mut self, coordinator: &mut Coordinator, now: Now) {
        loop {
            match coordinator.poll_output() {
                Output::Action(id, action) => {
                    self.actions.push(action.name());
                    if let (Some(held), true) = (&mut self.held, is_completion(&action)) {
                        held.push(id);
                        continue;
                    }
                    let response = self.answer(action);
                    coordinator.handle_response(id, response, now);
                }
                Output::Event(event) => self.events.push(event),
                Output::Wait(..) => return,
            }
        }
    }

    fn answer(&mut self, action: Action) -> Response {
        let silent = self.down.is_some() && action.participant() == self.down;
        match action {
            Action::EndByWriter { .. } | Action::EndTransaction { .. } if silent => {
                Response::Ended(EndAnswer::NoAnswer("down".into()))
            }
            Action::Inquire { .. } if silent => {
                Response::Inquired(Inquiry::NoAnswer("down".into()))
            }
            Action::Inquire {
                transactional_id, ..
            } => {
                self.inquired.push(transactional_id);
                Response::Inquired(Inquiry::NotFound)
            }
            Action::Append { records, .. } => {
                self.log.extend_from_slice(&records);
                Response::Appended
            }
            Action::Checkpoint { snapshot } => {
                self.log = snapshot;
                Response::Appended
            }
            Action::Connect { participant } => Response::Connected(ConnectReport {
                cluster_id: format!("cluster-{}", participant.0),
                transaction_version: 2,
                timeout_ceiling_ms: Some(900_000),
            }),
            Action::OpenSlot { .. } => Response::SlotOpened {
                producer: ProducerIdentity {
                    producer_id: 7,
                    epoch: 0,
                },
                condition: SlotCondition::Clean,
            },
            Action::VerifySlot { .. } => Response::SlotVerified(SlotCondition::Clean),
            Action::CloseSlot { .. } => Response::SlotClosed,
            Action::Prepare { .. } => Response::Prepared(PrepareReport {
                writes: WriteReport {
                    sent: 1,
                    delivered: 1,
                    ..WriteReport::default()
                },
                writer: None,
                inquiry: Some(Inquiry::Described(TransactionDescription {
                    state: BrokerState::Ongoing,
                    producer: ProducerIdentity {
                        producer_id: 7,
                        epoch: 0,
                    },
                    start_time_ms: 1,
                    timeout_ms: 900_000,
                })),
                strayed: None,
            }),
            Action::Fence {
                participant,
                transactional_id,
                ..
            } => {
                self.initialised.push((participant, transactional_id));
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List { participant, .. } => {
                let mine = self.initialised.iter().filter(|(p, _)| *p == participant);
                let transactions = mine.map(|(_, id)| ListedTransaction {
                    transactional_id: id.clone(),
                    producer_id: 1,
                    state: BrokerState::Empty,
                });
                Response::Listed(Listing {
                    transactions: transactions.collect(),
                    complete: true,
                    detail: None,
                })
            }
            _ => Response::Ended(EndAnswer::Acknowledged),
        }
    }
}

fn is_completion(action: &Action) -> bool {
    let completed = |record: &Record| matches!(record, Record::Completed { .. });
    matches!(action, Action::Append { records, .. } if records.iter().any(completed))
}

fn begin_on_both(coordinator: &mut Coordinator, ideal: &mut Ideal, now: Now) -> TransactionId {
    let begin = Request::Begin {
        key: None,
        timeout: None,
    };
    let Ok(Accepted::Begun(id)) = coordinator.handle_request(begin, now) else {
        panic!("a begin is answered at once")
    };
    for index in 0..2 {
        let enlist = Request::Enlist {
            transaction: id,
            participant: ParticipantId(index),
        };
        coordinator.handle_request(enlist, now).expect("accepted");
    }
    ideal.drain(coordinator, now);
    id
}

/// R16, and R9 for the slot: a branch that is acknowledged while the other waits is written down, is not
/// looked at by a later start, and its slot is free.
#[test]
fn an_acknowledged_branch_does_not_wait_for_the_other() {
    let now = Now {
        monotonic: Time::from_micros(1),
        unix_ms: 1,
    };
    let mut coordinator = Coordinator::new(config(), Ledger::new(), now).expect("valid");
    let mut ideal = Ideal::default();
    ideal.drain(&mut coordinator, now);
    let id = begin_on_both(&mut coordinator, &mut ideal, now);
    ideal.down = Some(ParticipantId(1));
    let commit = Request::Commit {
        transaction: id,
        report: CommitReturn::Acknowledged,
    };
    coordinator.handle_request(commit, now).expect("accepted");
    ideal.drain(&mut coordinator, now);
    let acknowledged = |record: &Record| matches!(record, Record::Acknowledged { participant, .. } if &**participant == "eu");
    assert!(ideal.log.iter().any(acknowledged), "{:?}", ideal.log);
    assert_eq!(coordinator.slots(ParticipantId(0)).free, 1);
    assert_eq!(coordinator.slots(ParticipantId(1)).leased, 1);

    let mut replayed = Ledger::new();
    for record in ideal.log.drain(..) {
        replayed.apply(record).expect("in order");
    }
    let mut successor = Coordinator::new(config(), replayed, now).expect("valid");
    ideal.down = None;
    ideal.inquired.clear();
    ideal.drain(&mut successor, now);
    // A start looks for its own probe, and else only at the open branch.
    let looks = ideal.inquired.iter().filter(|id| !id.ends_with(".0"));
    assert_eq!(looks.count(), 1, "{:?}", ideal.inquired);
}

#[test]
fn two_participants_commit_after_one_forced_decision() {
    let now = Now {
        monotonic: Time::from_micros(1),
        unix_ms: 1,
    };
    let mut coordinator = Coordinator::new(config(), Ledger::new(), now).expect("valid");
    let mut ideal = Ideal::default();
    ideal.drain(&mut coordinator, now);
    assert!(
        ideal.events.contains(&Event::Recovered),
        "{:?}",
        ideal.events
    );

    let id = begin_on_both(&mut coordinator, &mut ideal, now);
    ideal.actions.clear();
    let commit = Request::Commit {
        transaction: id,
        report: CommitReturn::Acknowledged,
    };
    coordinator.handle_request(commit, now).expect("accepted");
    ideal.drain(&mut coordinator, now);

    let expected = [
        "prepare",
        "prepare",
        "append",
        "end-by-writer",
        "end-by-writer",
        "verify-slot",
        "verify-slot",
        "append",
    ];
    assert_eq!(ideal.actions, expected);
    let ended = Event::Ended {
        transaction: id,
        outcome: Outcome::Committed,
    };
    assert!(ideal.events.contains(&ended), "{:?}", ideal.events);
    assert_eq!(coordinator.slots(ParticipantId(0)).free, 1);

    let mut replayed = Ledger::new();
    for record in ideal.log {
        replayed.apply(record).expect("in order");
    }
    assert_eq!(replayed.outcome(id), gtc_core::KnownOutcome::Committed);
}

/// Who hears of a mixed outcome may forget it at once, also before its completion is durable.
#[test]
fn a_mixed_outcome_is_forgotten_once_its_completion_is_durable() {
    let now = Now {
        monotonic: Time::from_micros(1),
        unix_ms: 1,
    };
    let mut coordinator = Coordinator::new(config(), Ledger::new(), now).expect("valid");
    let mut ideal = Ideal::default();
    ideal.drain(&mut coordinator, now);
    let id = begin_on_both(&mut coordinator, &mut ideal, now);
    ideal.down = Some(ParticipantId(1));
    let commit = Request::Commit {
        transaction: id,
        report: CommitReturn::Acknowledged,
    };
    coordinator.handle_request(commit, now).expect("accepted");
    ideal.drain(&mut coordinator, now);
    let forget = || Request::Forget { transaction: id };
    let early = coordinator.handle_request(forget(), now);
    assert!(matches!(early, Err(Refusal::InvalidState(_))), "{early:?}");

    ideal.held = Some(Vec::new());
    let give_up = Request::Resolve {
        transaction: id,
        decision: Decision::Abort,
    };
    coordinator.handle_request(give_up, now).expect("accepted");
    ideal.drain(&mut coordinator, now);
    let mixed = |event: &Event| {
        matches!(
            event,
            Event::Ended {
                outcome: Outcome::Mixed { .. },
                ..
            }
        )
    };
    assert!(ideal.events.iter().any(mixed), "{:?}", ideal.events);
    assert_eq!(
        coordinator.handle_request(forget(), now),
        Ok(Accepted::Pending)
    );
    ideal.drain(&mut coordinator, now);
    let forgotten = |record: &Record| matches!(record, Record::Forgotten { .. });
    assert!(!ideal.log.iter().any(forgotten), "not before it is durable");
    for completion in ideal.held.take().into_iter().flatten() {
        coordinator.handle_response(completion, Response::Appended, now);
    }
    ideal.drain(&mut coordinator, now);
    assert!(ideal.log.iter().any(forgotten));
    assert!(coordinator.list().is_empty());
}

/// What has ended is named with how it ended, so that the operator knows what is left to do.
#[test]
fn what_has_ended_is_not_resolved_and_its_state_is_named() {
    let now = Now {
        monotonic: Time::from_micros(1),
        unix_ms: 1,
    };
    let mut coordinator = Coordinator::new(config(), Ledger::new(), now).expect("valid");
    let mut ideal = Ideal::default();
    ideal.drain(&mut coordinator, now);
    let commit = |transaction| Request::Commit {
        transaction,
        report: CommitReturn::Acknowledged,
    };
    let resolve = |transaction, decision| Request::Resolve {
        transaction,
        decision,
    };
    let committed = begin_on_both(&mut coordinator, &mut ideal, now);
    coordinator
        .handle_request(commit(committed), now)
        .expect("accepted");
    ideal.drain(&mut coordinator, now);

    let mixed = begin_on_both(&mut coordinator, &mut ideal, now);
    ideal.down = Some(ParticipantId(1));
    coordinator
        .handle_request(commit(mixed), now)
        .expect("accepted");
    ideal.drain(&mut coordinator, now);
    coordinator
        .handle_request(resolve(mixed, Decision::Abort), now)
        .expect("accepted");
    ideal.held = Some(Vec::new());
    ideal.drain(&mut coordinator, now);
    let told = |coordinator: &mut Coordinator, id, part: &str| {
        let refused = coordinator.handle_request(resolve(id, Decision::Commit), now);
        let Err(Refusal::InvalidState(why)) = refused else {
            panic!("{refused:?}")
        };
        assert!(why.contains(part), "{why}");
    };
    told(&mut coordinator, mixed, "forget it");
    for completion in ideal.held.take().into_iter().flatten() {
        coordinator.handle_response(completion, Response::Appended, now);
    }
    ideal.drain(&mut coordinator, now);
    told(&mut coordinator, mixed, "(mixed)");
    told(&mut coordinator, committed, "has committed");

    let unknown = TransactionId {
        sequence: 99,
        ..mixed
    };
    let refused = coordinator.handle_request(resolve(unknown, Decision::Commit), now);
    assert_eq!(refused, Err(Refusal::UnknownTransaction(unknown)));
}
