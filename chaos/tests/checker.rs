//! Plants each anomaly on real clusters, by plain producers and consumers, and the checker has to name it.

use std::time::Duration;

use gtc_chaos::check::{Evidence, Link, Report, group_offsets, judge, read_cluster};
use gtc_chaos::flights;
use gtc_chaos::journal::Journal;
use gtc_chaos::kafka::{Connection, Isolation};
use gtc_chaos::load::{Ending, Loader};
use gtc_chaos::record::Record;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};

const PARTITIONS: i32 = 2;
const RECORDS: usize = 300;
const GROUP: &str = "mirror";

/// A source and two destinations on real clusters, where everything was copied faithfully except what a test planted.
struct World {
    connections: Vec<Connection>,
    topic: &'static str,
    journal: Journal,
}

impl World {
    /// Loads the source, lets `plant` change what the destination eu gets, and copies it.
    fn new(topic: &'static str, plant: impl FnOnce(&mut Vec<Record>)) -> Self {
        let clusters = gtc_clusters::shared::plain(3).unwrap();
        let connections: Vec<_> = ["us", "eu", "ap"]
            .iter()
            .zip(clusters)
            .map(|(name, cluster)| Connection::new(*name, cluster.client_properties()))
            .collect();
        let mut records = flights::records(None, "us", PARTITIONS).unwrap();
        records.truncate(RECORDS);
        let mut journal = Journal::new("us");
        let mut eu = records.clone();
        plant(&mut eu);
        for (connection, records) in connections.iter().zip([&records, &eu, &records]) {
            connection.create_topic(topic, PARTITIONS).unwrap();
            let mut written = Journal::new("us");
            let loader = Loader::idempotent(connection, topic).unwrap();
            loader.load(records, &mut written).unwrap();
            if connection.name == "us" {
                journal = written;
            }
        }
        let world = Self {
            connections,
            topic,
            journal,
        };
        world.commit(|end| end);
        world
    }

    /// Puts the group of each partition where `place` says, given the end of the source's data.
    fn commit(&self, place: impl Fn(i64) -> i64) {
        let group = format!("{GROUP}-{}", self.topic);
        let consumer = self.connections[0]
            .consumer(Isolation::Committed, &group)
            .unwrap();
        let mut list = TopicPartitionList::new();
        for (partition, entries) in &self.journal.partitions {
            let end = entries.last().unwrap().offset + 1;
            list.add_partition_offset(self.topic, *partition, Offset::Offset(place(end)))
                .unwrap();
        }
        consumer.commit(&list, CommitMode::Sync).unwrap();
    }

    fn check(&self) -> Report {
        let read =
            |connection| read_cluster(connection, self.topic, Duration::from_secs(1)).unwrap();
        let group = format!("{GROUP}-{}", self.topic);
        let offsets = group_offsets(&self.connections[0], self.topic, &group).unwrap();
        let link = |to: &str| Link {
            from: "us".into(),
            to: to.into(),
            group: group.clone(),
            offsets: offsets.clone(),
        };
        judge(&Evidence {
            journals: vec![self.journal.clone()],
            views: self.connections.iter().map(read).collect(),
            links: vec![link("eu"), link("ap")],
        })
    }
}

/// The sum of one column over the partitions of eu, where everything is planted.
fn eu(report: &Report, column: impl Fn(&gtc_chaos::check::Row) -> usize) -> usize {
    report
        .rows
        .iter()
        .filter(|row| row.cluster == "eu")
        .map(column)
        .sum()
}

#[test]
fn a_faithful_copy_is_clean() {
    let report = World::new("checker-faithful", |_| ()).check();
    assert!(report.is_clean(), "{}", report.to_text());
    assert_eq!(eu(&report, |row| row.records), RECORDS);
}

#[test]
fn a_missing_record_is_missing_and_torn_and_the_group_is_ahead_of_it() {
    let report = World::new("checker-missing", |records| drop(records.remove(40))).check();
    assert_eq!(eu(&report, |row| row.missing), 1, "{}", report.to_text());
    assert_eq!(eu(&report, |row| row.torn), 1);
    assert_eq!(report.groups.iter().map(|row| row.ahead).sum::<usize>(), 1);
    assert_eq!(report.anomalies(), 3, "{}", report.to_text());
    assert!(
        report
            .named
            .iter()
            .any(|name| name.ends_with("missing us:40")),
        "{:?}",
        report.named
    );
}

#[test]
fn a_second_copy_is_duplicated() {
    let world = World::new("checker-duplicate", |records| {
        records.push(records[7].clone())
    });
    let report = world.check();
    assert_eq!(eu(&report, |row| row.duplicated), 1, "{}", report.to_text());
    assert_eq!(report.anomalies(), 1);
}

#[test]
fn a_record_behind_its_successor_is_out_of_order() {
    let report = World::new("checker-reorder", |records| {
        let last = records
            .iter()
            .rposition(|record| record.partition == records[0].partition);
        let first = records.remove(0);
        records.insert(last.unwrap(), first);
    })
    .check();
    assert_eq!(
        eu(&report, |row| row.out_of_order),
        1,
        "{}",
        report.to_text()
    );
    assert_eq!(report.anomalies(), 1);
}

#[test]
fn a_lost_header_and_a_changed_key_are_altered() {
    let report = World::new("checker-altered", |records| {
        records[3].headers.push(("added".into(), None));
        records[4].key = None;
    })
    .check();
    assert_eq!(eu(&report, |row| row.altered), 2, "{}", report.to_text());
    assert_eq!(report.anomalies(), 2);
}

#[test]
fn an_open_transaction_pins_the_stable_offset_and_hides_what_follows() {
    let world = World::new("checker-open", |_| ());
    let stray = Record {
        partition: 1,
        value: Some(b"stray".to_vec()),
        ..Record::default()
    };
    let eu_side = &world.connections[1];
    let writer = Loader::transactional(eu_side, world.topic, "checker-open").unwrap();
    writer.leave_open(std::slice::from_ref(&stray)).unwrap();
    let report = world.check();
    let stuck: Vec<_> = report.rows.iter().filter(|row| row.is_stuck()).collect();
    assert_eq!(stuck.len(), 1, "{}", report.to_text());
    assert_eq!((stuck[0].cluster.as_str(), stuck[0].partition), ("eu", 1));
    assert_eq!(report.anomalies(), 1);
}

#[test]
fn aborted_and_empty_transactions_are_no_anomaly_and_a_stranger_is() {
    let world = World::new("checker-aborted", |_| ());
    // One instance for each: librdkafka may give an instance up after a record that the broker refused.
    let writer =
        || Loader::transactional(&world.connections[2], world.topic, "checker-aborted").unwrap();
    let stray = Record {
        value: Some(b"stray".to_vec()),
        ..Record::default()
    };
    let too_large = Record {
        value: Some(vec![0; 2_000_000]),
        ..Record::default()
    };
    for record in [&stray, &too_large] {
        let records = std::slice::from_ref(record);
        writer()
            .transaction(records, Ending::Abort, &mut Journal::default())
            .unwrap();
    }
    let report = world.check();
    assert!(report.is_clean(), "{}", report.to_text());
    let row = report
        .rows
        .iter()
        .find(|row| row.cluster == "ap" && row.partition == 0)
        .unwrap();
    // The stray record and two markers: the refused record left a marker and nothing else.
    assert_eq!(row.high, i64::try_from(row.records).unwrap() + 3);

    let mut ignored = Journal::default();
    writer()
        .transaction(&[stray], Ending::Commit, &mut ignored)
        .unwrap();
    let report = world.check();
    assert_eq!(
        report.rows.iter().map(|row| row.unexpected).sum::<usize>(),
        1
    );
    assert_eq!(report.anomalies(), 1, "{}", report.to_text());
}

#[test]
fn a_group_ahead_of_the_log_and_one_behind_the_data_are_told() {
    let world = World::new("checker-offsets", |_| ());
    world.commit(|end| end + 1);
    let report = world.check();
    // Both partitions, against both destinations.
    assert_eq!(
        report.groups.iter().map(|row| row.ahead).sum::<usize>(),
        4,
        "{}",
        report.to_text()
    );
    world.commit(|end| end - 2);
    let report = world.check();
    assert_eq!(
        report.groups.iter().map(|row| row.behind).sum::<usize>(),
        8,
        "{}",
        report.to_text()
    );
    assert_eq!(report.anomalies(), 8);
}
