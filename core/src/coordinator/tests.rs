mod own;
#[cfg(feature = "explore")]
mod parts;

use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

use super::*;
use crate::config::{Backoff, GivesWay, Limits, ParticipantConfig};
use crate::event::ParticipantStatus;
use crate::evidence::{
    BrokerState, EndAnswer, Inquiry, ListedTransaction, Listing, TransactionDescription,
};
use crate::identity::{LogId, ProducerIdentity, VersionClass};
use crate::record::Record;
use crate::response::ConnectReport;

fn participant(name: &str) -> ParticipantConfig {
    ParticipantConfig {
        name: name.into(),
        slots_max: 1,
        timeout_ms: 60_000,
        margin: Duration::from_secs(10),
        gives_way: GivesWay::Nothing,
        names_max: 2,
    }
}

fn config() -> Config {
    Config {
        coordinator: "orders".into(),
        log_id: LogId(1),
        participants: vec![participant("eu"), participant("us")],
        limits: Limits::default(),
        backoff: Backoff::default(),
        seed: 0,
    }
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Config), words: &str) {
    let mut config = config();
    change(&mut config);
    let error = Coordinator::new(config, Ledger::new(), Now::default());
    let error = error.expect_err("it cannot work").to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_sound_configuration_is_taken() {
    assert!(Coordinator::new(config(), Ledger::new(), Now::default()).is_ok());
}

#[test]
fn names_that_would_break_slot_names_are_refused() {
    for name in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
        refused(|c| c.coordinator = name.into(), "coordinator id");
        refused(|c| c.participants[1].name = name.into(), "participant name");
    }
    refused(|c| c.participants[1].name = "eu".into(), "configured twice");
}

#[test]
fn numbers_that_cannot_work_are_refused() {
    refused(|c| c.participants[0].slots_max = 0, "at least one slot");
    refused(|c| c.participants[0].names_max = 1, "two slot names");
    refused(|c| c.participants[0].timeout_ms = 10_000, "safety margin");
    refused(|c| c.participants[0].timeout_ms = -1, "safety margin");
    refused(|c| c.limits.transactions_max = 0, "transactions_max");
    refused(|c| c.limits.branches_max = 0, "branches_max");
    refused(|c| c.limits.names_per_record = 0, "names_per_record");
    refused(|c| c.limits.checkpoint_bytes = 0, "checkpoint_bytes");
    refused(
        |c| c.limits.sweep_interval = Duration::ZERO,
        "sweep_interval",
    );
    refused(|c| c.backoff.initial = Duration::ZERO, "retry_initial");
    refused(|c| c.participants.clear(), "there is no participant");
}

#[test]
fn a_log_without_an_incarnation_left_is_refused() {
    let mut ledger = Ledger::new();
    let last = Record::Started {
        incarnation: Incarnation(u32::MAX),
        unix_ms: 0,
    };
    ledger.apply(last).expect("in order");
    let error = Coordinator::new(config(), ledger, Now::default());
    let error = error.expect_err("no number is left").to_string();
    assert!(error.contains("incarnation"), "{error}");
}

/// A coordinator whose first record is durable.
fn started(change: impl FnOnce(&mut Config)) -> Coordinator {
    let mut config = config();
    change(&mut config);
    let mut coordinator = Coordinator::new(config, Ledger::new(), Now::default()).expect("valid");
    let Output::Action(id, Action::Append { .. }) = coordinator.poll_output() else {
        panic!("the first action is an append")
    };
    coordinator.handle_response(id, Response::Appended, Now::default());
    drain(&mut coordinator);
    coordinator
}

fn drain(coordinator: &mut Coordinator) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        match coordinator.poll_output() {
            Output::Wait(..) => return outputs,
            output => outputs.push(output),
        }
    }
}

fn begin(coordinator: &mut Coordinator, key: Option<Vec<u8>>) -> Result<TransactionId, Refusal> {
    let request = Request::Begin { key, timeout: None };
    match coordinator.handle_request(request, Now::default())? {
        Accepted::Begun(id) => Ok(id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_begins_before_the_incarnation_is_durable() {
    let mut coordinator = Coordinator::new(config(), Ledger::new(), Now::default()).expect("valid");
    let refusal = begin(&mut coordinator, None);
    assert!(matches!(refusal, Err(Refusal::Unavailable(_))));
}

#[test]
fn limits_are_kept() {
    let mut coordinator = started(|config| {
        config.limits.transactions_max = 1;
        config.limits.branches_max = 1;
        config.limits.key_bytes_max = 3;
    });
    let too_long = begin(&mut coordinator, Some(vec![0; 4]));
    assert_eq!(too_long, Err(Refusal::Limit("key_bytes_max", 3)));
    let id = begin(&mut coordinator, Some(vec![0; 3])).expect("within the limits");
    let second = begin(&mut coordinator, None);
    assert_eq!(second, Err(Refusal::Limit("transactions_max", 1)));
    let enlist = |p| Request::Enlist {
        transaction: id,
        participant: ParticipantId(p),
    };
    let now = Now::default();
    assert_eq!(
        coordinator.handle_request(enlist(0), now),
        Ok(Accepted::Pending)
    );
    assert_eq!(
        coordinator.handle_request(enlist(0), now),
        Ok(Accepted::Pending)
    );
    let third = coordinator.handle_request(enlist(1), now);
    assert_eq!(third, Err(Refusal::Limit("branches_max", 1)));
    let unknown = coordinator.handle_request(enlist(9), now);
    assert!(matches!(unknown, Err(Refusal::Config(_))));
}

/// A failed append stops for good: nothing leaves the core any more, not even a due checkpoint (R11).
#[test]
fn a_failed_append_stops_everything() {
    use crate::response::AppendFailure;
    let failures = [
        AppendFailure::Unknown("disk".into()),
        AppendFailure::Fenced("owner".into()),
    ];
    for failure in failures {
        let mut coordinator =
            Coordinator::new(config(), Ledger::new(), Now::default()).expect("valid");
        let Output::Action(id, _) = coordinator.poll_output() else {
            panic!("the first output is an action")
        };
        coordinator.journal_is_due();
        let response = Response::AppendFailed(failure);
        coordinator.handle_response(id, response, Now::default());
        let outputs = drain(&mut coordinator);
        let stopped = |output: &Output| matches!(output, Output::Event(Event::Stopped(_)));
        assert!(
            outputs.len() == 1 && outputs.iter().all(stopped),
            "{outputs:?}"
        );
        let refusal = begin(&mut coordinator, None);
        assert!(matches!(refusal, Err(Refusal::Stopped(_))));
    }
}

#[test]
fn a_close_while_starting_is_kept() {
    let mut coordinator = Coordinator::new(config(), Ledger::new(), Now::default()).expect("valid");
    let Output::Action(id, _) = coordinator.poll_output() else {
        panic!("the first output is an action")
    };
    let now = Now::default();
    coordinator
        .handle_request(Request::Close, now)
        .expect("accepted");
    assert!(!drain(&mut coordinator).contains(&Output::Event(Event::Drained)));
    coordinator.handle_response(id, Response::Appended, now);
    assert!(drain(&mut coordinator).contains(&Output::Event(Event::Drained)));
    assert_eq!(begin(&mut coordinator, None), Err(Refusal::Closed));
}

#[test]
fn unknown_and_late_responses_are_counted_and_ignored() {
    let mut coordinator = started(|_| {});
    let late = coordinator.counters().late_responses;
    coordinator.handle_response(ActionId(999), Response::Appended, Now::default());
    assert_eq!(coordinator.counters().late_responses, late + 1);
    assert!(drain(&mut coordinator).is_empty());
}

/// Answers everything as sound clusters would, and returns the events.
fn settle(coordinator: &mut Coordinator, cluster_id: &str) -> Vec<Event> {
    settle_with(coordinator, cluster_id, &|_| Inquiry::NotFound)
}

fn settle_with(
    coordinator: &mut Coordinator,
    cluster_id: &str,
    inquire: &dyn Fn(&str) -> Inquiry,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut probes = BTreeMap::new();
    loop {
        let (id, action) = match coordinator.poll_output() {
            Output::Wait(..) => return events,
            Output::Event(event) => {
                events.push(event);
                continue;
            }
            Output::Action(id, action) => (id, action),
        };
        let response = match action {
            Action::Append { .. } => Response::Appended,
            Action::Connect { participant } => Response::Connected(ConnectReport {
                cluster_id: format!("{cluster_id}-{}", participant.0),
                transaction_version: 2,
                timeout_ceiling_ms: None,
            }),
            Action::Fence {
                participant,
                transactional_id,
                ..
            } => {
                probes.insert(participant, transactional_id);
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List { participant, .. } => Response::Listed(Listing {
                // The first look comes before the probe.
                transactions: probes.get(&participant).map_or_else(Vec::new, |probe| {
                    vec![ListedTransaction {
                        transactional_id: Arc::clone(probe),
                        producer_id: 1,
                        state: BrokerState::Empty,
                    }]
                }),
                complete: true,
                detail: None,
            }),
            Action::Inquire {
                transactional_id, ..
            } => Response::Inquired(inquire(&transactional_id)),
            // The slot stays on its way, so that enlistments wait.
            Action::OpenSlot { .. } => continue,
            other => panic!("{other:?}"),
        };
        coordinator.handle_response(id, response, Now::default());
    }
}

fn verified() -> Coordinator {
    let mut coordinator = Coordinator::new(config(), Ledger::new(), Now::default()).expect("valid");
    let events = settle(&mut coordinator, "cluster");
    assert!(events.contains(&Event::Participant(EU, ParticipantStatus::Verified)));
    coordinator
}

const EU: ParticipantId = ParticipantId(0);

fn at_ms(millis: u64) -> Now {
    Now {
        monotonic: Now::default().monotonic + Duration::from_millis(millis),
        ..Now::default()
    }
}

fn wait_for_a_slot(coordinator: &mut Coordinator) -> TransactionId {
    let transaction = begin(coordinator, None).expect("running");
    let enlist = Request::Enlist {
        transaction,
        participant: EU,
    };
    coordinator
        .handle_request(enlist, Now::default())
        .expect("it waits");
    transaction
}

fn refusals(events: &[Event]) -> Vec<&Refusal> {
    let mut found = Vec::new();
    for event in events {
        if let Event::EnlistRefused { refusal, .. } = event {
            found.push(refusal);
        }
    }
    found
}

#[test]
fn an_unreachable_participant_is_told_at_once_and_proved_again() {
    let mut coordinator = verified();
    wait_for_a_slot(&mut coordinator);
    let unreachable = || Request::Unreachable {
        participant: EU,
        why: "connection refused".into(),
    };
    coordinator
        .handle_request(unreachable(), Now::default())
        .expect("taken");
    let told = ParticipantStatus::Unavailable("connection refused".into());
    let events = settle(&mut coordinator, "cluster");
    assert_eq!(events, [Event::Participant(EU, told)]);
    // Said again, it changes nothing: no delay grows, nothing is told twice.
    coordinator
        .handle_request(unreachable(), Now::default())
        .expect("taken");
    assert!(settle(&mut coordinator, "cluster").is_empty());
    // The next try comes long before the next sweep, and proves it again.
    coordinator.handle_timeout(at_ms(1_000));
    let events = settle(&mut coordinator, "cluster");
    assert!(events.contains(&Event::Participant(EU, ParticipantStatus::Verified)));
}

#[test]
fn who_waited_for_a_slot_of_a_dead_cluster_hears_of_the_cluster() {
    let mut coordinator = verified();
    wait_for_a_slot(&mut coordinator);
    let unreachable = Request::Unreachable {
        participant: EU,
        why: "connection refused".into(),
    };
    coordinator
        .handle_request(unreachable, at_ms(29_999))
        .expect("taken");
    coordinator.handle_timeout(at_ms(30_000));
    let told = drain(&mut coordinator).into_iter();
    let events: Vec<Event> = told
        .filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        })
        .collect();
    let expected = Refusal::Unavailable("connection refused".into());
    assert_eq!(refusals(&events), [&expected]);
}

#[test]
fn another_cluster_at_the_address_is_no_fence() {
    let mut coordinator = verified();
    wait_for_a_slot(&mut coordinator);
    let unreachable = Request::Unreachable {
        participant: EU,
        why: "gone".into(),
    };
    coordinator
        .handle_request(unreachable, Now::default())
        .expect("taken");
    coordinator.handle_timeout(at_ms(1_000));
    let events = settle(&mut coordinator, "another");
    let told = refusals(&events);
    assert!(
        matches!(told[..], [Refusal::WrongCluster(why)] if why.contains("another-0")),
        "{told:?}"
    );
    let enlist = Request::Enlist {
        transaction: begin(&mut coordinator, None).expect("running"),
        participant: EU,
    };
    let answer = coordinator.handle_request(enlist, Now::default());
    assert!(
        matches!(answer, Err(Refusal::WrongCluster(_))),
        "{answer:?}"
    );
}

#[test]
fn a_participant_whose_driver_broke_is_stopped_and_says_so() {
    let mut coordinator = verified();
    wait_for_a_slot(&mut coordinator);
    let broken = Request::Broken {
        participant: EU,
        why: "a task panicked".into(),
    };
    coordinator
        .handle_request(broken, Now::default())
        .expect("taken");
    let events = settle(&mut coordinator, "cluster");
    let expected = Refusal::Broken("a task panicked".into());
    assert_eq!(refusals(&events), [&expected]);
    // It stays stopped, whatever is said of it later.
    coordinator.handle_timeout(at_ms(120_000));
    let enlist = Request::Enlist {
        transaction: begin(&mut coordinator, None).expect("running"),
        participant: EU,
    };
    assert_eq!(
        coordinator.handle_request(enlist, Now::default()),
        Err(expected)
    );
}

/// What is remembered of own producers is bounded, and shrinks as their clusters forget them.
#[test]
fn discarded_own_producers_are_forgotten_with_their_identity() {
    let producer = |producer_id| ProducerIdentity {
        producer_id,
        epoch: 0,
    };
    let mut ledger = Ledger::new();
    for (number, id) in ["gone", "kept", "new"].into_iter().enumerate() {
        let discarded = Record::Discarded {
            participant: "eu".into(),
            transactional_id: id.into(),
            producer: producer(number as i64),
        };
        ledger.apply(discarded).expect("in order");
    }
    let mut config = config();
    config.limits.discarded_max = 3;
    let mut coordinator = Coordinator::new(config, ledger, Now::default()).expect("valid");
    let inquire = |id: &str| match id {
        "gone" => Inquiry::NotFound,
        probe if probe.starts_with("gtc.") => Inquiry::NotFound,
        // Initialised again since: whoever still has the old identity is fenced.
        "new" => described(producer(9)),
        _ => described(producer(1)),
    };
    settle_with(&mut coordinator, "cluster", &inquire);
    let left: Vec<_> = coordinator.ledger.discarded.keys().collect();
    assert_eq!(left, [&("eu".into(), "kept".into())]);
    let replayed = replay(&coordinator);
    assert_eq!(replayed.discarded, coordinator.ledger.discarded);
}

#[test]
fn an_own_producer_that_could_not_be_remembered_is_refused() {
    let mut coordinator = verified();
    coordinator.config.limits.discarded_max = 1;
    let discarded = Record::Discarded {
        participant: "eu".into(),
        transactional_id: "old".into(),
        producer: ProducerIdentity {
            producer_id: 1,
            epoch: 0,
        },
    };
    coordinator.ledger.apply(discarded).expect("in order");
    let request = Request::EnlistOwn {
        transaction: begin(&mut coordinator, None).expect("running"),
        participant: EU,
        transactional_id: "mine".into(),
        version_class: VersionClass::V1,
        producer: None,
    };
    let answer = coordinator.handle_request(request, Now::default());
    assert_eq!(answer, Err(Refusal::Limit("discarded_max", 1)));
}

fn described(producer: ProducerIdentity) -> Inquiry {
    Inquiry::Described(TransactionDescription {
        state: BrokerState::CompleteAbort,
        producer,
        start_time_ms: 1,
        timeout_ms: 60_000,
    })
}

/// What a start would read from a checkpoint.
fn replay(coordinator: &Coordinator) -> Ledger {
    let mut replayed = Ledger::new();
    for record in coordinator.ledger.snapshot(coordinator.rules) {
        replayed.apply(record).expect("in order");
    }
    replayed
}

/// A name that is there before this coordinator made one is of another owner of the log, or of a copy; a start that is
/// refused leaves no name itself, and no record by which the next start would take what it found for its own (R13).
#[test]
fn a_name_of_its_own_incarnation_refuses_every_start() {
    let mut ledger = Ledger::new();
    for _ in 0..4 {
        let mut coordinator = Coordinator::new(config(), ledger, Now::default()).unwrap();
        let listed = "gtc.orders.0000000000000001.1.eu.0";
        let stopped = start_among(&mut coordinator, listed, &Inquiry::NotFound);
        assert!(
            matches!(stopped, Some(StopReason::StaleLog(_))),
            "{stopped:?}"
        );
        assert!(coordinator.ledger.names.is_empty());
        ledger = replay(&coordinator);
    }
}

/// By the same rule before a start, from the records alone.
#[test]
fn records_that_do_not_know_a_name_of_their_log_are_stale() {
    let coordinator = verified();
    let known = coordinator.slot_name(EU, 0);
    let ledger = replay(&coordinator);
    let orders = ("orders", LogId(1));
    let listing = |id: &str| Listing {
        transactions: vec![ListedTransaction {
            transactional_id: id.into(),
            producer_id: 1,
            state: BrokerState::Empty,
        }],
        complete: true,
        detail: None,
    };
    assert_eq!(ledger.stale(orders, &listing(&known)), None);
    let later = known.replace(".1.eu.", ".2.eu.");
    let why = ledger
        .stale(orders, &listing(&later))
        .expect("a later start made it");
    assert!(why.contains(&later), "{why}");
    // Of another log, or of another coordinator, these records say nothing.
    assert_eq!(ledger.stale(("orders", LogId(2)), &listing(&later)), None);
    assert_eq!(ledger.stale(("bills", LogId(1)), &listing(&later)), None);
}

/// Before anything is initialised no listing can show that it is allowed to show anything: the probe is asked for by
/// its name. Who may not describe it makes no name known, and who finds it there is not the first of its incarnation.
#[test]
fn a_look_counts_only_where_the_probe_may_be_described() {
    let none = "no such name";
    for inquiry in [
        Inquiry::Refused(53),
        Inquiry::Refused(15),
        Inquiry::NoAnswer("x".into()),
    ] {
        let mut coordinator = Coordinator::new(config(), Ledger::new(), Now::default()).unwrap();
        assert_eq!(start_among(&mut coordinator, none, &inquiry), None);
        assert!(coordinator.ledger.names.is_empty(), "{inquiry:?}");
        let Some(ParticipantStatus::Unavailable(why)) = coordinator.participant_status(EU) else {
            panic!("{inquiry:?}")
        };
        let advises = why.contains("grant Describe");
        assert_eq!(advises, inquiry == Inquiry::Refused(53), "{why}");
    }
    let made = described(ProducerIdentity {
        producer_id: 1,
        epoch: 0,
    });
    let mut coordinator = Coordinator::new(config(), Ledger::new(), Now::default()).unwrap();
    let stopped = start_among(&mut coordinator, none, &made);
    assert!(matches!(stopped, Some(StopReason::StaleLog(_))));
}

/// Why a start stops on a cluster that lists a name, and says this of its probe; it initialises nothing.
fn start_among(coordinator: &mut Coordinator, listed: &str, probe: &Inquiry) -> Option<StopReason> {
    let mut stopped = None;
    loop {
        let (id, action) = match coordinator.poll_output() {
            Output::Wait(..) => return stopped,
            Output::Event(Event::Stopped(why)) => {
                stopped = Some(why);
                continue;
            }
            Output::Event(_) => continue,
            Output::Action(id, action) => (id, action),
        };
        let response = match action {
            Action::Append { .. } => Response::Appended,
            Action::Connect { .. } => Response::Connected(ConnectReport {
                cluster_id: "c".into(),
                transaction_version: 2,
                timeout_ceiling_ms: None,
            }),
            Action::List { .. } => Response::Listed(Listing {
                transactions: vec![ListedTransaction {
                    transactional_id: listed.into(),
                    producer_id: 1,
                    state: BrokerState::Empty,
                }],
                complete: true,
                detail: None,
            }),
            Action::Inquire { .. } => Response::Inquired(probe.clone()),
            other => panic!("nothing is initialised: {other:?}"),
        };
        coordinator.handle_response(id, response, Now::default());
    }
}
