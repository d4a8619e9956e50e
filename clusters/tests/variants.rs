//! Broker generations, and the clusters that tests share.

use gtc_clusters::{Cluster, kafka_tool, shared};

/// The finalised `transaction.version`, as Kafka's feature tool of the current jars tells it.
fn transaction_version(cluster: &Cluster) -> String {
    let output = kafka_tool("org.apache.kafka.tools.FeatureCommand")
        .unwrap()
        .arg("--bootstrap-server")
        .arg(cluster.bootstrap())
        .arg("describe")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text
        .lines()
        .find(|line| line.contains("transaction.version"));
    let mut words = line.unwrap_or_else(|| panic!("{text}")).split_whitespace();
    words
        .find(|word| *word == "FinalizedVersionLevel:")
        .unwrap_or_else(|| panic!("{text}"));
    words.next().unwrap().to_string()
}

#[test]
fn the_older_generation_has_transaction_version_1_and_the_current_one_2() {
    let old = shared::transaction_version_1(1).unwrap()[0];
    let current = shared::plain(1).unwrap()[0];
    assert_eq!(transaction_version(old), "1");
    assert_eq!(transaction_version(current), "2");
}

#[test]
fn shared_clusters_are_started_once_and_are_different() {
    let both = shared::plain(2).unwrap();
    let again = shared::plain(1).unwrap();
    assert_eq!(both[0].pid(), again[0].pid());
    assert_ne!(both[0].cluster_id(), both[1].cluster_id());
    assert!(both.iter().all(|cluster| cluster.is_healthy()));
}
