//! A destination of three brokers: leaders and coordinators move when one of them dies.

use gtc_clusters::{Cluster, ClusterOptions, shared};
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::kafka::{
    PATIENCE, assert_same, await_rows, await_true, config, create_topic, numbered, produce, read,
};
use crate::program::Place;

#[test]
fn each_broker_of_three_may_die_and_the_mirror_after_it() {
    const RECORDS: usize = 2000;
    const COMMAND: &str = "replicate --from a --to b --topic brokers --batch-records 20";
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let nodes = Cluster::start_nodes(&ClusterOptions::new("brokers"), 3).unwrap();
    let place = Place::new("brokers", &[("a", a)]);
    let addresses: Vec<_> = nodes.iter().map(Cluster::bootstrap).collect();
    place.add_participant("b", &[("bootstrap.servers", &addresses.join(","))]);
    create_topic(a, "brokers", 3, &[]);
    let mut written = 0;
    let mut write = || {
        produce(a, "brokers", &numbered(written..written + RECORDS, 3));
        written += RECORDS;
        written
    };
    for (number, node) in nodes.iter().enumerate() {
        let other = &nodes[(number + 1) % nodes.len()];
        let running = place.start(COMMAND);
        let before = write() - RECORDS;
        await_rows(other, "brokers", before + RECORDS / 10);
        node.kill();
        // It goes on without the broker, and its successor does too.
        await_rows(other, "brokers", write());
        running.kill();
        let successor = place.start(COMMAND);
        await_rows(other, "brokers", write());
        successor.terminate().expect(0);
        node.restart().unwrap();
        await_true("all replicas to be in sync", || is_in_sync(node, "brokers"));
    }
    let mirrored = read(a, "brokers").into_iter();
    let expected: Vec<_> = mirrored.map(|row| row.after(&[a.cluster_id()])).collect();
    assert_eq!(expected.len(), written);
    assert_same(&await_rows(&nodes[0], "brokers", written), &expected);
    place.run("list").expect(0);
}

/// Each partition has all three replicas.
fn is_in_sync(node: &Cluster, topic: &str) -> bool {
    let consumer: BaseConsumer = config(node).create().unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).unwrap();
    let mut partitions = metadata.topics()[0].partitions().iter();
    partitions.all(|partition| partition.isr().len() == 3)
}
