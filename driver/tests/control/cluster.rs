//! What the client learns of a cluster.

use gtc::kafka::control::{ConfigResource, ControlErrorKind, OffsetQuery};
use gtc_core::{BrokerState, EndAnswer, VersionClass};

use crate::producer::{await_state, describe, open};
use crate::{CEILING_MS, client, shared};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_settings_and_features() {
    let control = client(shared().client_properties(), 20_000);
    let cluster = control.cluster().await.expect("answered");
    assert_eq!(cluster.id, shared().cluster_id());
    assert_eq!(cluster.brokers.len(), 1);
    let broker = ConfigResource::Broker(cluster.brokers[0].id);
    let settings = control.describe_configs(&broker).await.expect("answered");
    assert_eq!(
        settings["transaction.max.timeout.ms"],
        CEILING_MS.to_string()
    );
    assert_eq!(settings["unclean.leader.election.enable"], "false");
    assert!(settings.contains_key("min.insync.replicas"));
    let features = control.finalized_features().await.expect("answered");
    assert_eq!(
        (
            features.transaction_version(),
            features.level("no.such.feature")
        ),
        (2, 0)
    );
    let stranger = control.describe_configs(&ConfigResource::Broker(77)).await;
    assert_eq!(
        stranger.expect_err("none such").kind(),
        ControlErrorKind::Unavailable
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_and_offsets() {
    let control = client(shared().client_properties(), 20_000);
    let id = "offsets";
    assert_eq!(
        control.topic("no-such-topic").await.expect("answered"),
        None
    );
    let (_writer, producer) = open(&control, &shared().client_properties(), id).await;
    let topic = control
        .topic(id)
        .await
        .expect("answered")
        .expect("made by the writer");
    assert_eq!((topic.name.as_str(), topic.partitions.len()), (id, 3));
    assert!(!topic.is_internal && topic.id != [0; 16]);
    let all = control.topics().await.expect("answered");
    assert!(all.iter().any(|other| other == &topic));
    assert!(
        all.iter()
            .any(|other| other.is_internal && other.name == "__transaction_state")
    );
    let settings = control
        .describe_configs(&ConfigResource::Topic(id.to_owned()))
        .await;
    assert_eq!(settings.expect("answered")["cleanup.policy"], "delete");

    let offset = |query| {
        let control = control.clone();
        async move { control.list_offsets(id, query).await.expect("answered")[&0] }
    };
    assert_eq!(offset(OffsetQuery::Earliest).await, 0);
    assert_eq!(offset(OffsetQuery::Latest).await, 1);
    assert_eq!(
        offset(OffsetQuery::LatestCommitted).await,
        0,
        "the open transaction holds it back"
    );
    control
        .end_transaction(id, producer, VersionClass::V1, true)
        .await;
    await_state(&control, id, BrokerState::CompleteCommit).await;
    assert_eq!(
        offset(OffsetQuery::LatestCommitted).await,
        2,
        "the record and its marker"
    );
    let missing = control
        .list_offsets("no-such-topic", OffsetQuery::Latest)
        .await;
    assert_eq!(missing.expect_err("none such").code(), Some(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_shows_what_has_the_prefix_in_every_state() {
    let control = client(shared().client_properties(), 20_000);
    let mut writers = Vec::new();
    for name in ["list.open", "list.committed", "other.open"] {
        writers.push(open(&control, &shared().client_properties(), name).await);
    }
    writers[1].0.commit();
    await_state(&control, "list.committed", BrokerState::CompleteCommit).await;
    let listing = control.list_transactions("list.").await;
    assert!(listing.complete, "{:?}", listing.detail);
    let shown: Vec<_> = listing
        .transactions
        .iter()
        .map(|one| (one.transactional_id.as_ref(), one.producer_id, one.state))
        .collect();
    let expected = [
        (
            "list.committed",
            writers[1].1.producer_id,
            BrokerState::CompleteCommit,
        ),
        ("list.open", writers[0].1.producer_id, BrokerState::Ongoing),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_generation_has_its_own_version() {
    let _turn = crate::one_more_cluster().await;
    let clusters = gtc_clusters::shared::transaction_version_1(1).expect("a cluster");
    let properties = clusters[0].client_properties();
    let control = client(properties.clone(), 20_000);
    let features = control.finalized_features().await.expect("answered");
    assert_eq!(features.transaction_version(), 1);
    // The brokers of Kafka 4.0 take EndTxn of either class whatever is finalised, and the epoch
    // moves by the request's class: nothing but the coordinator's record keeps them apart.
    for (class, moved) in [(VersionClass::V1, 0), (VersionClass::V2, 1)] {
        let id = format!("generation-{}", class.as_str());
        let (_writer, producer) = open(&control, &properties, &id).await;
        let ended = control.end_transaction(&id, producer, class, true).await;
        assert_eq!(EndAnswer::from(ended), EndAnswer::Acknowledged, "{class:?}");
        await_state(&control, &id, BrokerState::CompleteCommit).await;
        let epoch = describe(&control, &id).await.producer.epoch;
        assert_eq!(epoch, producer.epoch + moved, "{class:?}");
    }
}
