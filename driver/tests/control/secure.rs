//! TLS and SASL as the properties say, with certificates and credentials that fit and that do not.

use std::collections::BTreeMap;

use gtc::kafka::control::{ControlClient, ControlErrorKind};
use gtc::kafka::properties::Properties;
use gtc_clusters::{Acl, Cluster, ClusterOptions, Mechanism, Operation, Resource, Security};
use gtc_core::{BrokerState, EndAnswer, Inquiry, VersionClass};

use tokio::net::{TcpListener, TcpStream};

use crate::producer::{await_state, open};
use crate::{client, one_more_cluster, own_rights};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_sasl_and_acls() {
    let _turn = one_more_cluster().await;
    let options = ClusterOptions::new("control-secure").security(Security::Secure);
    let cluster = Cluster::start(options).expect("a cluster");
    rights_are_asked_for(&cluster).await;
    own_rights::a_topic_that_is_hidden_is_a_no(&cluster).await;
    every_mechanism_reaches_the_brokers(&cluster).await;
    wrong_credentials_are_told(&cluster).await;
    certificates_are_verified(&cluster).await;
}

async fn every_mechanism_reaches_the_brokers(cluster: &Cluster) {
    for mechanism in [
        Mechanism::ScramSha512,
        Mechanism::ScramSha256,
        Mechanism::Plain,
        Mechanism::MutualTls,
    ] {
        let control = client(cluster.properties_for(mechanism), 20_000);
        let id = control
            .cluster_id()
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(id, cluster.cluster_id(), "{mechanism:?}");
        // Through the coordinator that FindCoordinator names, on the same listener.
        let described = control.inquire("secure").await;
        assert!(
            matches!(described, Inquiry::Described(_)),
            "{mechanism:?}: {described:?}"
        );
    }
}

/// Nothing is allowed before it is granted, and then a transaction is ended over TLS.
async fn rights_are_asked_for(cluster: &Cluster) {
    let properties = cluster.client_properties();
    let (control, id) = (client(properties.clone(), 20_000), "secure");
    assert_eq!(control.inquire(id).await, Inquiry::Refused(53));
    let rights = [
        Acl::literal(Resource::TransactionalId, id, Operation::Write),
        Acl::literal(Resource::TransactionalId, id, Operation::Describe),
        Acl::literal(Resource::Topic, id, Operation::Write),
        Acl::literal(Resource::Topic, id, Operation::Create),
    ];
    cluster.add_acls(&rights).expect("granted");
    let (_writer, producer) = open(&control, &properties, id).await;
    let ended = control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await;
    assert_eq!(EndAnswer::from(ended), EndAnswer::Acknowledged);
    await_state(&control, id, BrokerState::CompleteCommit).await;
    assert_eq!(control.inquire("not-mine").await, Inquiry::Refused(53));
    // A listing shows what one may see, and is complete nevertheless: the reason for R8's probe.
    let admin = cluster.admin_properties();
    let _other = open(&client(admin.clone(), 20_000), &admin, "not-mine").await;
    assert!(control.list_proved(id).await.complete);
    let hidden = control.list_proved("not-").await;
    let why = hidden.detail.unwrap_or_default();
    assert!(!hidden.complete && why.contains("Describe"), "{why}");
    let listing = control.list_transactions("").await;
    let ids: Vec<_> = listing
        .transactions
        .iter()
        .map(|t| t.transactional_id.as_ref())
        .collect();
    assert!(listing.complete && ids == [id], "{listing:?}");
}

async fn wrong_credentials_are_told(cluster: &Cluster) {
    for mechanism in [
        Mechanism::ScramSha512,
        Mechanism::ScramSha256,
        Mechanism::Plain,
    ] {
        let mut wrong = cluster.properties_for(mechanism);
        wrong.insert("sasl.password".to_owned(), "planted-7f3a".to_owned());
        let error = client(wrong, 10_000)
            .cluster_id()
            .await
            .expect_err("refused");
        assert_eq!(
            error.kind(),
            ControlErrorKind::Authentication,
            "{mechanism:?}: {error}"
        );
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("planted") && shown.contains("sasl.password"),
            "{shown}"
        );
    }
    let mut anonymous = cluster.properties_for(Mechanism::MutualTls);
    anonymous.remove("ssl.certificate.location");
    anonymous.remove("ssl.key.location");
    let error = client(anonymous, 10_000)
        .cluster_id()
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ControlErrorKind::Authentication, "{error}");
}

async fn certificates_are_verified(cluster: &Cluster) {
    let properties = cluster.client_properties();
    let with = |changes: &[(&str, &str)]| {
        let mut changed = properties.clone();
        changed.extend(
            changes
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        changed
    };
    let ca = properties["ssl.ca.location"].clone();
    let elsewhere = forwarder(&properties["bootstrap.servers"]).await;

    // An authority that did not sign, here the client's own certificate.
    let stranger = cluster.properties_for(Mechanism::MutualTls)["ssl.certificate.location"].clone();
    assert_untrusted(with(&[("ssl.ca.location", &stranger)])).await;
    // The system's authorities know nothing of it.
    let mut system = properties.clone();
    system.remove("ssl.ca.location");
    assert_untrusted_or_none(system).await;
    // A name that the certificate does not hold, unless names are not verified.
    let name = ("bootstrap.servers", elsewhere.as_str());
    assert_untrusted(with(&[name])).await;
    let lenient = with(&[name, ("ssl.endpoint.identification.algorithm", "none")]);
    client(lenient, 10_000)
        .cluster_id()
        .await
        .expect("names are not verified");
    let stranger_without_name = with(&[
        ("ssl.ca.location", &stranger),
        ("ssl.endpoint.identification.algorithm", "none"),
    ]);
    assert_untrusted(stranger_without_name).await;
    let unverified = with(&[
        ("ssl.ca.location", &stranger),
        ("enable.ssl.certificate.verification", "false"),
    ]);
    client(unverified, 10_000)
        .cluster_id()
        .await
        .expect("nothing is verified");
    // The authority in a directory, or as text, instead of a file.
    let directory = cluster.log_path().with_file_name("authorities");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::copy(&ca, directory.join("0a1b2c3d.0")).expect("copied");
    let directory = directory.to_str().expect("a name");
    let control = client(with(&[("ssl.ca.location", directory)]), 10_000);
    control.cluster_id().await.expect("verified");
    let mut text = with(&[(
        "ssl.ca.pem",
        &std::fs::read_to_string(ca).expect("readable"),
    )]);
    text.remove("ssl.ca.location");
    client(text, 10_000).cluster_id().await.expect("verified");
}

/// Another address of the broker, one that its certificate does not hold.
async fn forwarder(broker: &str) -> String {
    let listener = TcpListener::bind("127.0.0.2:0").await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    let broker = broker.to_owned();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let mut to = TcpStream::connect(&broker).await.expect("the broker");
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut from, &mut to).await });
        }
    });
    address
}

async fn assert_untrusted(properties: BTreeMap<String, String>) {
    let error = client(properties, 10_000)
        .cluster_id()
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ControlErrorKind::Authentication, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// As above; a system without authorities is told when the client is made.
async fn assert_untrusted_or_none(values: BTreeMap<String, String>) {
    let properties = Properties::parse("eu", values.clone()).expect("valid");
    match ControlClient::open(&properties) {
        Ok(_) => assert_untrusted(values).await,
        Err(error) => assert_eq!(error.kind(), ControlErrorKind::Config, "{error}"),
    }
}

#[test]
fn unusable_certificates_and_keys_are_told_when_the_client_is_made() {
    let secret = "planted-7f3a";
    let encrypted = format!(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{secret}\n-----END ENCRYPTED PRIVATE KEY-----\n"
    );
    let broken = format!("-----BEGIN PRIVATE KEY-----\n{secret}\n");
    for (changes, expected) in [
        (vec![("ssl.ca.location", "/no/such/file")], "/no/such/file"),
        (vec![("ssl.ca.pem", "no certificate")], "no authority"),
        (
            vec![("ssl.certificate.pem", "x"), ("ssl.key.pem", "x")],
            "ssl.certificate.pem: holds no certificate",
        ),
        (
            vec![
                ("ssl.certificate.pem", CERTIFICATE),
                ("ssl.key.pem", &encrypted),
            ],
            "openssl pkey",
        ),
        (
            vec![
                ("ssl.certificate.pem", CERTIFICATE),
                ("ssl.key.pem", &broken),
            ],
            "no private key",
        ),
    ] {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        values.insert("bootstrap.servers".into(), "127.0.0.1:1".into());
        values.insert("security.protocol".into(), "SSL".into());
        values.insert(
            "ssl.endpoint.identification.algorithm".into(),
            "https".into(),
        );
        if !changes.iter().any(|(name, _)| name.starts_with("ssl.ca")) {
            values.insert("ssl.ca.pem".into(), CERTIFICATE.into());
        }
        values.extend(
            changes
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let properties = Properties::parse("eu", values).expect("valid");
        let error = ControlClient::open(&properties).expect_err("refused");
        assert_eq!(error.kind(), ControlErrorKind::Config);
        let shown = format!("{error} {error:?} {properties:?}");
        assert!(
            shown.contains(expected) && !shown.contains(secret),
            "{shown}"
        );
    }
}

/// A self-signed certificate made for this test; it certifies nothing.
const CERTIFICATE: &str = include_str!("certificate.pem");
