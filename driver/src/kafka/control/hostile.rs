//! The client against a broker in this process that misbehaves on purpose.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gtc_core::{BrokerState, Inquiry, ProducerIdentity, VersionClass};
use kafka_protocol::messages::ApiKey;
use tokio::io::AsyncWriteExt;

use super::fake::{FakeBroker, Reaction, Seen};
use super::{Attempt, ControlClient, ControlErrorKind, EndTxnAnswer};
use crate::kafka::properties::Properties;

const TIMEOUT: Duration = Duration::from_millis(400);
const PRODUCER: ProducerIdentity = ProducerIdentity {
    producer_id: 7,
    epoch: 3,
};
/// Far above what any of these tests needs, far below a hang.
const PATIENCE: Duration = Duration::from_secs(10);

fn client_with(broker: &FakeBroker, more: &[(&str, &str)]) -> ControlClient {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    values.insert(
        "bootstrap.servers".to_owned(),
        format!("127.0.0.1:{}", broker.port()),
    );
    values.insert(
        "socket.timeout.ms".to_owned(),
        TIMEOUT.as_millis().to_string(),
    );
    values.insert("reconnect.backoff.ms".to_owned(), "1".to_owned());
    values.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let properties = Properties::parse("eu", values).expect("valid properties");
    ControlClient::open(&properties).expect("a client")
}

fn client(broker: &FakeBroker) -> ControlClient {
    client_with(broker, &[])
}

async fn commit(client: &ControlClient) -> Attempt<EndTxnAnswer> {
    let ended = client.end_transaction("id", PRODUCER, VersionClass::V1, true);
    tokio::time::timeout(PATIENCE, ended)
        .await
        .expect("no hang")
}

/// Answers EndTxn by `reaction` and everything else honestly.
async fn broker_with(key: ApiKey, reaction: Reaction) -> FakeBroker {
    FakeBroker::start(move |seen| {
        if seen.key == key {
            reaction.clone()
        } else {
            seen.honest()
        }
    })
    .await
}

fn no_answer(attempt: Attempt<EndTxnAnswer>) -> ControlErrorKind {
    match attempt {
        Attempt::NoAnswer(error) => error.kind(),
        other => panic!("expected no answer, got {other:?}"),
    }
}

fn not_sent(attempt: Attempt<EndTxnAnswer>) -> ControlErrorKind {
    match attempt {
        Attempt::NotSent(error) => error.kind(),
        other => panic!("expected nothing sent, got {other:?}"),
    }
}

#[tokio::test]
async fn honest_broker_is_understood() {
    let broker = FakeBroker::start(Seen::honest).await;
    let client = client(&broker);
    assert!(matches!(
        commit(&client).await,
        Attempt::Answered(EndTxnAnswer {
            code: 0,
            next: None
        })
    ));
    let ended = client
        .end_transaction("id", PRODUCER, VersionClass::V2, false)
        .await;
    let next = ProducerIdentity {
        producer_id: 7,
        epoch: 4,
    };
    assert!(
        matches!(ended, Attempt::Answered(answer) if answer.next == Some(next)),
        "{ended:?}"
    );
    let described = client
        .describe_transaction("id")
        .await
        .expect("answered")
        .expect("known");
    assert_eq!(described.state, BrokerState::Ongoing);
    let versions = broker.versions_of(ApiKey::EndTxn);
    assert_eq!(versions, [4, 5], "each class in its own version");
    assert_eq!(broker.connections(), 1, "one connection serves all");
}

#[tokio::test]
async fn every_kind_of_broken_answer_is_no_answer_and_is_not_repeated() {
    let oversized = Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let negative = Bytes::from_static(&[0xff, 0xff, 0xff, 0xff]);
    let cases = [
        (
            Reaction::Raw(Bytes::from_static(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            "not Kafka",
        ),
        (Reaction::Raw(oversized), "oversized"),
        (Reaction::Raw(negative), "negative length"),
        (Reaction::Body(Bytes::new()), "empty body"),
        (
            Reaction::Body(Bytes::from_static(&[0xff; 64])),
            "garbage body",
        ),
        (Reaction::WrongCorrelation, "wrong correlation id"),
    ];
    for (reaction, case) in cases {
        let broker = broker_with(ApiKey::EndTxn, reaction).await;
        let kind = no_answer(commit(&client(&broker)).await);
        assert_eq!(kind, ControlErrorKind::Protocol, "{case}");
        assert_eq!(broker.versions_of(ApiKey::EndTxn).len(), 1, "{case}");
    }
}

#[tokio::test]
async fn closed_connection_is_no_answer_and_is_not_repeated() {
    for reaction in [Reaction::Close, Reaction::Cut] {
        let broker = broker_with(ApiKey::EndTxn, reaction).await;
        assert_eq!(
            no_answer(commit(&client(&broker)).await),
            ControlErrorKind::Unavailable
        );
        assert_eq!(broker.versions_of(ApiKey::EndTxn).len(), 1);
    }
}

#[tokio::test]
async fn silence_ends_at_the_time_out() {
    for reaction in [
        Reaction::Silence,
        Reaction::Raw(Bytes::from_static(&[0, 0])),
    ] {
        let broker = broker_with(ApiKey::EndTxn, reaction).await;
        let begun = Instant::now();
        assert_eq!(
            no_answer(commit(&client(&broker)).await),
            ControlErrorKind::Timeout
        );
        assert!(
            (TIMEOUT..TIMEOUT * 5).contains(&begun.elapsed()),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(broker.versions_of(ApiKey::EndTxn).len(), 1);
    }
}

#[tokio::test]
async fn nothing_is_sent_where_no_connection_comes_about() {
    // What is told at once is no time-out, on a busy machine either.
    let patient = |broker: &FakeBroker| client_with(broker, &[("socket.timeout.ms", "5000")]);
    let unbound = FakeBroker::unbound().await;
    assert_eq!(
        not_sent(commit(&patient(&unbound)).await),
        ControlErrorKind::Unavailable
    );
    for (reaction, kind) in [
        (Reaction::Close, ControlErrorKind::Unavailable),
        (Reaction::Silence, ControlErrorKind::Timeout),
        (
            Reaction::Body(Bytes::from_static(&[0xff; 20])),
            ControlErrorKind::Protocol,
        ),
        (
            Reaction::Body(Bytes::from_static(&[0, 35, 0, 0, 0, 0])),
            ControlErrorKind::Unsupported,
        ),
    ] {
        let broker = broker_with(ApiKey::ApiVersions, reaction).await;
        let client = match kind {
            ControlErrorKind::Timeout => client(&broker),
            _ => patient(&broker),
        };
        assert_eq!(not_sent(commit(&client).await), kind);
        assert!(broker.versions_of(ApiKey::EndTxn).is_empty());
    }
}

#[tokio::test]
async fn a_class_that_the_broker_lacks_is_not_sent() {
    let broker = FakeBroker::start(|seen| match seen.key {
        ApiKey::ApiVersions => seen.api_versions(4),
        _ => seen.honest(),
    })
    .await;
    let client = client(&broker);
    let ended = client
        .end_transaction("id", PRODUCER, VersionClass::V2, true)
        .await;
    assert_eq!(not_sent(ended), ControlErrorKind::Unsupported);
    assert!(
        matches!(commit(&client).await, Attempt::Answered(_)),
        "v1 is there"
    );
}

#[tokio::test]
async fn moved_coordinator_is_told_and_found_again_at_the_next_attempt() {
    for code in [14, 15, 16] {
        let broker = FakeBroker::start(move |seen| match seen.key {
            ApiKey::EndTxn => seen.end_txn(code),
            _ => seen.honest(),
        })
        .await;
        let client = client(&broker);
        for attempt in 1..=2 {
            let ended = commit(&client).await;
            assert!(matches!(ended, Attempt::Answered(answer) if answer.code == code));
            assert_eq!(broker.versions_of(ApiKey::FindCoordinator).len(), attempt);
        }
    }
}

#[tokio::test]
async fn reads_are_repeated_and_survive_what_passes() {
    let broker = FakeBroker::start(|seen| match (seen.key, seen.count) {
        (ApiKey::DescribeTransactions, 1) => Reaction::Close,
        (ApiKey::DescribeTransactions, 2) => seen.described(16, "Ongoing"),
        (ApiKey::FindCoordinator, 1) => seen.coordinator(15),
        _ => seen.honest(),
    })
    .await;
    let described = client_with(&broker, &[("socket.timeout.ms", "5000")])
        .inquire("id")
        .await;
    assert!(matches!(described, Inquiry::Described(_)), "{described:?}");
    assert_eq!(broker.versions_of(ApiKey::DescribeTransactions).len(), 3);
}

#[tokio::test]
async fn description_codes_and_unknown_states_are_told_apart() {
    for (code, state, expected) in [(105, "", Inquiry::NotFound), (53, "", Inquiry::Refused(53))] {
        let broker = FakeBroker::start(move |seen| match seen.key {
            ApiKey::DescribeTransactions => seen.described(code, state),
            _ => seen.honest(),
        })
        .await;
        assert_eq!(client(&broker).inquire("id").await, expected);
    }
    let broker = FakeBroker::start(|seen| match seen.key {
        ApiKey::DescribeTransactions => seen.described(0, "PrepareSomething"),
        _ => seen.honest(),
    })
    .await;
    let inquiry = client(&broker).inquire("id").await;
    assert!(matches!(&inquiry, Inquiry::NoAnswer(text) if text.contains("PrepareSomething")));
    let other = client(&broker)
        .describe_transaction("id")
        .await
        .expect_err("unknown state");
    assert_eq!(other.kind(), ControlErrorKind::Protocol);
}

#[tokio::test]
async fn requests_in_flight_are_bounded_and_the_rest_is_withdrawn() {
    let broker = broker_with(ApiKey::EndTxn, Reaction::Silence).await;
    let client = client(&broker);
    client.describe_transaction("id").await.expect("connected");
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { commit(&client).await })
        })
        .collect();
    let (mut unanswered, mut withdrawn) = (0, 0);
    for call in calls {
        match call.await.expect("no panic") {
            Attempt::NoAnswer(_) => unanswered += 1,
            Attempt::NotSent(_) => withdrawn += 1,
            Attempt::Answered(answer) => panic!("nobody answered, yet {answer}"),
        }
    }
    // The fake broker stops reading at its first silence, as a hung one does.
    assert_eq!((unanswered, withdrawn), (64, 136));
}

#[tokio::test]
async fn pipelined_requests_get_their_own_answers() {
    let broker = FakeBroker::start(|seen| match seen.key {
        // The epoch tells which request is answered.
        ApiKey::EndTxn => seen.end_txn_echo(),
        _ => seen.honest(),
    })
    .await;
    let client = client_with(&broker, &[("socket.timeout.ms", "5000")]);
    let calls: Vec<_> = (0..300_i16)
        .map(|epoch| {
            let client = client.clone();
            tokio::spawn(async move {
                let producer = ProducerIdentity {
                    producer_id: 7,
                    epoch,
                };
                client
                    .end_transaction("id", producer, VersionClass::V2, true)
                    .await
            })
        })
        .collect();
    for (epoch, call) in (0..300_i16).zip(calls) {
        let next = ProducerIdentity {
            producer_id: 7,
            epoch: epoch + 1,
        };
        match call.await.expect("no panic") {
            Attempt::Answered(answer) => assert_eq!(answer.next, Some(next)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(broker.connections(), 1);
}

#[tokio::test]
async fn an_answer_in_single_bytes_is_put_together() {
    let broker = FakeBroker::start(|seen| match seen.honest() {
        Reaction::Body(body) if seen.key == ApiKey::EndTxn => Reaction::Drip(body),
        other => other,
    })
    .await;
    assert!(matches!(
        commit(&client(&broker)).await,
        Attempt::Answered(_)
    ));
}

#[tokio::test]
async fn idle_connection_is_closed_and_made_again() {
    let broker = FakeBroker::start(Seen::honest).await;
    let client = client_with(&broker, &[("connections.max.idle.ms", "50")]);
    client.describe_transaction("id").await.expect("answered");
    broker.all_closed(PATIENCE).await;
    client
        .describe_transaction("id")
        .await
        .expect("answered again");
    assert_eq!(broker.connections(), 2);
}

#[tokio::test]
async fn listing_is_complete_only_if_every_broker_answered() {
    let broker = FakeBroker::start(Seen::honest).await;
    let listing = client(&broker).list_transactions("gtc.").await;
    assert!(listing.complete);
    let ids: Vec<_> = listing
        .transactions
        .iter()
        .map(|t| t.transactional_id.as_ref())
        .collect();
    assert_eq!(ids, ["gtc.a", "gtc.b"]);

    let dead = FakeBroker::unbound().await.port();
    let broker = FakeBroker::start(move |seen| match seen.key {
        ApiKey::Metadata => seen.metadata(&[seen.port, dead]),
        _ => seen.honest(),
    })
    .await;
    let listing = client(&broker).list_transactions("gtc.").await;
    assert!(!listing.complete && listing.detail.is_some());
    assert_eq!(listing.transactions.len(), 2, "what was told is kept");
}

/// Brokers learn of rights one by one: one that does not know yet, or no more, lists nothing and says nothing.
#[tokio::test]
async fn a_listing_is_proved_only_if_every_broker_may_be_asked() {
    const HIDES: i16 = 53;
    // What the other broker answers before its listing, and after it.
    for (before, after, proved) in [
        (16, 16, true),
        (105, 105, true),
        (0, 14, true),
        (HIDES, HIDES, false),
        (HIDES, 16, false),
        (16, HIDES, false),
        (-1, 16, false),
    ] {
        let other = FakeBroker::start(move |seen| match (seen.key, seen.count) {
            (ApiKey::DescribeTransactions, 1) => seen.described(before, "Ongoing"),
            (ApiKey::DescribeTransactions, _) => seen.described(after, "Ongoing"),
            (ApiKey::ListTransactions, _) => seen.listed(&[]),
            _ => seen.honest(),
        })
        .await;
        let port = other.port();
        let broker = FakeBroker::start(move |seen| match seen.key {
            ApiKey::Metadata => seen.metadata(&[seen.port, port]),
            _ => seen.honest(),
        })
        .await;
        let listing = client(&broker).list_proved("gtc.").await;
        assert_eq!(listing.complete, proved, "{before} {after}: {listing:?}");
        let told = listing.detail.unwrap_or_default();
        let named = told.contains("Describe") && told.contains(&port.to_string());
        assert_eq!(named, !proved, "{before} {after}: {told}");
        assert_eq!(listing.transactions.len(), 2, "what was told is kept");
        // Who does not ask hears that nothing is missing.
        assert!(client(&broker).list_transactions("gtc.").await.complete);
    }
}

#[tokio::test]
async fn a_listener_that_speaks_no_tls_is_told_apart_from_one_that_is_not_trusted() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let server = format!("localhost:{}", listener.local_addr().expect("bound").port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let unbound = FakeBroker::unbound().await;
    let more = [
        ("security.protocol", "SSL"),
        ("bootstrap.servers", server.as_str()),
        ("enable.ssl.certificate.verification", "false"),
    ];
    let error = client_with(&unbound, &more)
        .cluster_id()
        .await
        .expect_err("no TLS");
    assert_eq!(error.kind(), ControlErrorKind::Protocol, "{error}");
    assert!(error.to_string().contains("security.protocol"), "{error}");
}

mod sasl {
    use super::*;

    const SECRET: &str = "planted-7f3a";

    fn user(broker: &FakeBroker, mechanism: &str) -> ControlClient {
        client_with(
            broker,
            &[
                ("security.protocol", "SASL_PLAINTEXT"),
                ("sasl.mechanism", mechanism),
                ("sasl.username", "ann"),
                ("sasl.password", SECRET),
            ],
        )
    }

    #[tokio::test]
    async fn a_broker_that_repeats_the_password_does_not_bring_it_into_an_error() {
        let broker = FakeBroker::start(|seen| match seen.key {
            ApiKey::SaslAuthenticate => seen.sasl_refused(SECRET),
            _ => seen.honest(),
        })
        .await;
        let client = user(&broker, "PLAIN");
        let error = client.cluster_id().await.expect_err("refused");
        assert_eq!(error.kind(), ControlErrorKind::Authentication);
        let shown = format!("{error} {error:?} {client:?}");
        assert!(
            shown.contains("SASL_AUTHENTICATION_FAILED") && !shown.contains(SECRET),
            "{shown}"
        );
        assert_eq!(
            broker.versions_of(ApiKey::SaslAuthenticate).len(),
            1,
            "and is not asked again"
        );
    }

    #[tokio::test]
    async fn every_broken_exchange_is_an_authentication_failure() {
        for token in [
            "",
            "r=1",
            "garbage",
            "e=unknown-user",
            "r=x,s=eA==,i=4294967295",
        ] {
            let broker = FakeBroker::start(move |seen| match seen.key {
                ApiKey::SaslAuthenticate => seen.sasl_token(token, 0),
                _ => seen.honest(),
            })
            .await;
            let error = user(&broker, "SCRAM-SHA-512")
                .cluster_id()
                .await
                .expect_err("refused");
            assert_eq!(
                error.kind(),
                ControlErrorKind::Authentication,
                "{token}: {error}"
            );
        }
        let broker = FakeBroker::start(|seen| match seen.key {
            ApiKey::SaslHandshake => Reaction::Body(Bytes::from_static(&[0, 33, 0, 0, 0, 0])),
            _ => seen.honest(),
        })
        .await;
        let error = user(&broker, "PLAIN")
            .cluster_id()
            .await
            .expect_err("refused");
        assert!(
            error.to_string().contains("does not offer PLAIN"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_limited_session_is_replaced_before_it_ends() {
        let broker = FakeBroker::start(|seen| match seen.key {
            ApiKey::SaslAuthenticate => seen.sasl_token("", 1000),
            _ => seen.honest(),
        })
        .await;
        let client = user(&broker, "PLAIN");
        client.cluster_id().await.expect("answered");
        client.cluster_id().await.expect("answered");
        assert_eq!(broker.connections(), 1);
        // 80 % of the second that the broker grants.
        tokio::time::sleep(Duration::from_millis(850)).await;
        client.cluster_id().await.expect("answered");
        assert_eq!(broker.connections(), 2);
    }
}
