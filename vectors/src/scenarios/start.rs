//! Starts, and the cycle that proves a participant.

use gtc_core::{
    BrokerState, ConnectReport, Decision, Event, GivesWay, Incarnation, Listing, ParticipantId,
    ParticipantStatus, Record, Refusal, Request, Response, StopReason,
};

use super::{alone, plain, seconds, status, with};
use crate::Scenario;
use crate::play::{EU, Play, Setup, US};

pub(super) fn all() -> Vec<Scenario> {
    let mut all = starts();
    all.extend(first_looks());
    all
}

/// What a start asks before it lists.
fn first_looks() -> Vec<Scenario> {
    vec![
        with(
            "start-look-refused",
            "The cluster refuses to say whether it knows the probe, so that its listing would say nothing either: nothing \
             is listed nor initialised, and it is asked again until it answers (R8, R13).",
            (alone, look_refused),
        ),
        with(
            "start-probe-known",
            "The cluster knows the probe that this start is about to make: another owner of this incarnation has been \
             there, the log is a copy, so it stops without a listing (R13).",
            (own_probe, probe_known),
        ),
    ]
}

fn starts() -> Vec<Scenario> {
    vec![
        plain(
            "start-first",
            "An empty log: the incarnation is forced, then each cluster is bound, names are made known, \
             it is listed, the probe initialised, and what is listed then swept.",
            first,
        ),
        with(
            "start-second",
            "A log of an earlier start: the clusters are bound already, the incarnation is raised (R13).",
            (known_clusters, second),
        ),
        with(
            "start-cluster-silent",
            "A cluster that does not answer is unavailable, and is tried again after a delay.",
            (alone, silent),
        ),
        with(
            "start-stale-log",
            "The cluster lists a name of a later incarnation of this log: the log is an old copy, so it stops and \
             leaves no name itself (R13).",
            (later_name, stale),
        ),
        with(
            "start-foreign-branch",
            "An open branch of another log is listed as foreign and left alone, until an operator ends it (R12).",
            (foreign_name, foreign),
        ),
        with(
            "start-orphan",
            "An open transaction under a name of an earlier incarnation, named by no decision, is aborted \
             and fenced with a small time-out (R8, R15).",
            (orphan_name, orphan),
        ),
        with(
            "start-listing-incomplete",
            "A broker does not answer the first listing: the participant is unavailable, nothing is presumed (R8) \
             and nothing initialised (R13).",
            (alone, incomplete),
        ),
        with(
            "start-sweep-incomplete",
            "A broker that answered the first listing is silent at the next: the participant is unavailable (R8).",
            (alone, incomplete_after_the_probe),
        ),
        with(
            "start-probe-hidden",
            "The listing does not show the probe that was just initialised, so that it may hide more (R8).",
            (alone, hidden),
        ),
        with(
            "start-another-cluster",
            "The address leads to another cluster than the log knows: the participant is stopped (R17).",
            (known_clusters, another),
        ),
        with(
            "start-ceiling-lower",
            "The cluster's ceiling is below the time-out that was asked for: the participant is unavailable, with \
             the remedy.",
            (low_ceiling, above_the_ceiling),
        ),
        with(
            "start-timeout-gives-way",
            "The time-out may give way to a lower ceiling: slots are opened with it, and are promised for less.",
            (timeout_gives_way, lowered),
        ),
        with(
            "start-margin-gives-way",
            "The ceiling is lower still, and the margin gives way as well: to a third of it.",
            (margin_gives_way, lowered),
        ),
        with(
            "start-names-gone",
            "Names of an old incarnation that the cluster has forgotten for more than eight days leave the log (R6).",
            (old_names, second),
        ),
        with(
            "start-log-full",
            "The log refuses the very first record: there is no start, so stop.",
            (alone, no_room),
        ),
        plain(
            "participant-unreachable",
            "The driver finds that a participant does not answer: it is unavailable until a cycle has proved it again.",
            unreachable,
        ),
        plain(
            "participant-broken",
            "What drives a participant failed in a way nobody foresaw: it is stopped until the next start.",
            broken,
        ),
    ]
}

fn first(play: &mut Play) {
    play.settle();
    play.told(|event| *event == Event::Recovered);
    status(play, US, |status| *status == ParticipantStatus::Verified);
}

fn known_clusters(setup: &mut Setup) {
    alone(setup);
    setup.log = vec![
        Record::Started {
            incarnation: Incarnation(1),
            unix_ms: 1_699_999_000_000,
        },
        Record::ClusterBound {
            participant: "eu".into(),
            cluster_id: "cluster-0".into(),
        },
    ];
}

fn second(play: &mut Play) {
    play.settle();
    status(play, EU, |status| *status == ParticipantStatus::Verified);
}

fn silent(play: &mut Play) {
    play.settle_one("append");
    play.answer("connect", Response::ConnectFailed("refused".into()));
    is_unavailable(play);
    play.pass(seconds(1));
    play.settle();
    status(play, EU, |status| *status == ParticipantStatus::Verified);
}

const OWN_LOG: &str = "00000000000000ab";

fn later_name(setup: &mut Setup) {
    alone(setup);
    let id = format!("gtc.orders.{OWN_LOG}.7.eu.3");
    setup.clusters.know(EU, &id, BrokerState::Empty);
}

fn stale(play: &mut Play) {
    play.settle();
    play.told(|event| matches!(event, Event::Stopped(StopReason::StaleLog(_))));
    assert!(!play.asked.contains(&"fence"), "{:?}", play.asked);
}

const FOREIGN: &str = "gtc.orders.00000000000000cd.4.eu.2";

fn foreign_name(setup: &mut Setup) {
    alone(setup);
    setup.clusters.know(EU, FOREIGN, BrokerState::Ongoing);
}

fn foreign(play: &mut Play) {
    play.settle();
    play.told(|event| matches!(event, Event::Foreign(_)));
    play.request(Request::ResolveForeign {
        participant: ParticipantId(EU),
        transactional_id: FOREIGN.into(),
        decision: Decision::Abort,
    });
    play.settle();
    play.told(|event| matches!(event, Event::ForeignResolved { error: None, .. }));
}

fn orphan_name(setup: &mut Setup) {
    known_clusters(setup);
    setup.log.push(Record::Names {
        incarnation: Incarnation(1),
        participant: "eu".into(),
        first: 0,
        count: 4,
        unix_ms: 1_699_999_000_001,
    });
    let id = format!("gtc.orders.{OWN_LOG}.1.eu.2");
    setup.clusters.know(EU, &id, BrokerState::Ongoing);
}

fn orphan(play: &mut Play) {
    play.settle_but(|action| action.name() == "fence" && !is_probe(action));
    assert_eq!(play.open(), ["fence"]);
    play.settle();
    play.told(|event| *event == Event::Recovered);
}

fn is_probe(action: &gtc_core::Action) -> bool {
    matches!(action, gtc_core::Action::Fence { transactional_id, .. } if transactional_id.ends_with(".0"))
}

fn to_the_listing(play: &mut Play) {
    play.settle_but(|action| action.name() == "list");
}

fn without_an_answer() -> Response {
    Response::Listed(Listing {
        detail: Some("broker 3 does not answer".into()),
        ..Listing::default()
    })
}

fn is_unavailable(play: &Play) {
    status(play, EU, |status| {
        matches!(status, ParticipantStatus::Unavailable(_))
    });
}

fn incomplete(play: &mut Play) {
    to_the_listing(play);
    play.answer("list", without_an_answer());
    is_unavailable(play);
    assert!(!play.asked.contains(&"fence"), "{:?}", play.asked);
}

fn to_the_listing_after_the_probe(play: &mut Play) {
    to_the_listing(play);
    play.settle_one("list");
    to_the_listing(play);
    assert!(play.asked.contains(&"fence"), "{:?}", play.asked);
}

fn incomplete_after_the_probe(play: &mut Play) {
    to_the_listing_after_the_probe(play);
    play.answer("list", without_an_answer());
    is_unavailable(play);
}

fn hidden(play: &mut Play) {
    to_the_listing_after_the_probe(play);
    let listing = Listing {
        complete: true,
        ..Listing::default()
    };
    play.answer("list", Response::Listed(listing));
    is_unavailable(play);
}

/// TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
const NOT_ALLOWED: i16 = 53;

fn look_refused(play: &mut Play) {
    play.settle_but(|action| action.name() == "inquire");
    let refused = gtc_core::Inquiry::Refused(NOT_ALLOWED);
    play.answer("inquire", Response::Inquired(refused));
    is_unavailable(play);
    assert!(!play.asked.contains(&"list"), "{:?}", play.asked);
    assert!(!play.asked.contains(&"fence"), "{:?}", play.asked);
    play.pass(seconds(1));
    play.settle();
    status(play, EU, |status| *status == ParticipantStatus::Verified);
}

fn own_probe(setup: &mut Setup) {
    known_clusters(setup);
    let id = format!("gtc.orders.{OWN_LOG}.2.eu.0");
    setup.clusters.know(EU, &id, BrokerState::Empty);
}

fn probe_known(play: &mut Play) {
    stale(play);
    assert!(!play.asked.contains(&"list"), "{:?}", play.asked);
}

fn another(play: &mut Play) {
    play.settle_one("append");
    let report = ConnectReport {
        cluster_id: "cluster-9".into(),
        transaction_version: 2,
        timeout_ceiling_ms: Some(900_000),
    };
    play.answer("connect", Response::Connected(report));
    status(play, EU, |status| {
        matches!(status, ParticipantStatus::Stopped(_))
    });
    let id = play.begin();
    let refused = play.refused(Request::Enlist {
        transaction: id,
        participant: ParticipantId(EU),
    });
    assert!(matches!(refused, Refusal::WrongCluster(_)), "{refused:?}");
}

fn low_ceiling(setup: &mut Setup) {
    alone(setup);
    setup.clusters.ceiling_ms = Some(30_000);
}

fn above_the_ceiling(play: &mut Play) {
    play.settle();
    is_unavailable(play);
}

fn timeout_gives_way(setup: &mut Setup) {
    low_ceiling(setup);
    setup.config.participants[0].gives_way = GivesWay::Timeout;
}

fn margin_gives_way(setup: &mut Setup) {
    alone(setup);
    setup.clusters.ceiling_ms = Some(9_000);
    setup.config.participants[0].gives_way = GivesWay::TimeoutAndMargin;
}

fn lowered(play: &mut Play) {
    play.settle();
    status(play, EU, |status| *status == ParticipantStatus::Verified);
    let id = play.begin();
    play.enlist(id, EU);
    play.settle();
    play.told(|event| matches!(event, Event::Enlisted { transaction, .. } if *transaction == id));
}

fn old_names(setup: &mut Setup) {
    orphan_name(setup);
    setup.clusters = crate::cluster::Clusters::default();
    let month_ms = 30 * 24 * 3600 * 1000;
    for record in &mut setup.log {
        match record {
            Record::Started { unix_ms, .. } | Record::Names { unix_ms, .. } => *unix_ms -= month_ms,
            _ => {}
        }
    }
    setup.log.push(Record::Started {
        incarnation: Incarnation(2),
        unix_ms: 1_699_999_000_000 - month_ms + 1000,
    });
}

fn no_room(play: &mut Play) {
    let failure = gtc_core::AppendFailure::Refused("no space left".into());
    play.answer("append", Response::AppendFailed(failure));
    play.told(|event| matches!(event, Event::Stopped(StopReason::LogFailed(_))));
}

fn unreachable(play: &mut Play) {
    play.settle();
    play.events.clear();
    play.request(Request::Unreachable {
        participant: ParticipantId(EU),
        why: "no heartbeat".into(),
    });
    is_unavailable(play);
    play.pass(seconds(1));
    play.settle();
    status(play, EU, |status| *status == ParticipantStatus::Verified);
}

fn broken(play: &mut Play) {
    play.settle();
    play.request(Request::Broken {
        participant: ParticipantId(EU),
        why: "its task panicked".into(),
    });
    status(play, EU, |status| {
        matches!(status, ParticipantStatus::Stopped(_))
    });
    let id = play.begin();
    play.refused(Request::Enlist {
        transaction: id,
        participant: ParticipantId(EU),
    });
}
