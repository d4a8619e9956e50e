//! The transactional consumer.

use std::time::Duration;

use bytes::Bytes;
use gtc::kafka::consumer::{Batch, ConsumerEvent, TransactionalConsumer};
use gtc::kafka::error::DataErrorKind;
use gtc::kafka::record::{OutgoingRecord, PartitionOffset};
use gtc::kafka::slot::SlotInstance;
use gtc_core::{EndAnswer, SlotCondition};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

use crate::{
    PATIENCE, admin, batch, create_topic, event, open, open_reader, patiently, plain_config,
    reader, record, settings, shared,
};

async fn write(slot: &SlotInstance, records: &[OutgoingRecord], commit: bool) {
    for record in records {
        slot.send(record).await.expect("taken");
    }
    slot.settle_deliveries().await;
    let answer = if commit {
        slot.commit().await
    } else {
        slot.abort().await
    };
    assert_eq!(answer, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
}

async fn until(is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    waited.await.expect("in time");
}

/// A topic with the values 0 to `count`, one transaction each if `one_by_one`.
pub async fn filled(topic: &str, count: u32, one_by_one: bool) {
    create_topic(shared(), topic, &[]).await;
    let slot = open(shared(), topic, &[]).await;
    let records: Vec<_> = (0..count).map(|n| record(topic, &n.to_string())).collect();
    let size = if one_by_one { 1 } else { records.len() };
    for part in records.chunks(size) {
        write(&slot, part, true).await;
    }
    slot.close().await;
}

/// Commits a batch's offsets by a transaction that holds nothing else.
async fn commit(slot: &SlotInstance, batch: Batch) {
    slot.send_offsets(batch.offsets()).await.expect("accepted");
    let report = slot.settle_deliveries().await;
    assert_eq!((report.offsets_sent, report.offsets_failed), (1, 0));
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    batch.done();
}

fn values(batch: &Batch) -> Vec<String> {
    let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
    batch
        .records
        .iter()
        .map(|record| record.value.as_ref().map_or_else(String::new, text))
        .collect()
}

async fn committed(consumer: &TransactionalConsumer) -> Vec<PartitionOffset> {
    consumer.committed().await.expect("told")
}

#[tokio::test(flavor = "multi_thread")]
async fn records_keep_all_that_kafka_tells_apart() {
    create_topic(shared(), "faithful", &[]).await;
    let slot = open(shared(), "faithful", &[]).await;
    let repeated = vec![
        ("h".to_owned(), Some(Bytes::from_static(b"1"))),
        ("h".to_owned(), None),
        ("h".to_owned(), Some(Bytes::new())),
        ("other".to_owned(), Some(Bytes::from_static(&[0, 255]))),
    ];
    let plain = OutgoingRecord {
        timestamp_ms: Some(1_600_000_000_123),
        ..record("faithful", "v")
    };
    let tombstone = OutgoingRecord {
        key: Some(Bytes::from_static(b"k")),
        value: None,
        headers: repeated,
        ..plain.clone()
    };
    let empty = OutgoingRecord {
        key: Some(Bytes::new()),
        value: Some(Bytes::new()),
        partition: Some(0),
        ..plain.clone()
    };
    let sent = [plain, tombstone, empty];
    write(&slot, &sent, true).await;
    slot.close().await;
    let consumer = reader(shared(), "faithful", "faithful", 100).await;
    let found = batch(&consumer).await;
    assert_eq!(found.records.len(), sent.len());
    for (found, sent) in found.records.iter().zip(&sent) {
        assert_eq!(
            (&found.key, &found.value, &found.headers, found.timestamp_ms),
            (&sent.key, &sent.value, &sent.headers, sent.timestamp_ms)
        );
    }
    consumer.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_pass_markers_and_aborted_records() {
    create_topic(shared(), "markers", &[]).await;
    let slot = open(shared(), "markers", &[]).await;
    // Offsets 0 and a marker; 2, 3 and a marker, aborted.
    write(&slot, &[record("markers", "seen")], true).await;
    write(
        &slot,
        &[record("markers", "a"), record("markers", "b")],
        false,
    )
    .await;
    let consumer = reader(shared(), "markers", "markers", 100).await;
    let mut reached = 0;
    let mut seen = Vec::new();
    while reached < 5 {
        let mut found = batch(&consumer).await;
        seen.extend(values(&found));
        reached = found.offsets().positions()[0].offset;
        found
            .offsets_mut()
            .set_metadata(|topic, partition| format!("id of {topic} {partition}"));
        commit(&slot, found).await;
    }
    assert_eq!((reached, seen), (5, vec!["seen".to_owned()]));
    let stored = committed(&consumer).await;
    assert_eq!(stored.len(), 1);
    // Its own transaction left a marker in the group's topic only.
    assert_eq!(
        (stored[0].offset, stored[0].metadata.as_str()),
        (5, "id of markers 0")
    );
    // What was being collected is told as of the last statistics.
    until(|| consumer.is_caught_up()).await;
    assert_eq!(consumer.lag().len(), 1);
    slot.close().await;
    consumer.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_not_done_is_read_again() {
    filled("again", 9, false).await;
    let slot = open(shared(), "again-offsets", &[]).await;
    let consumer = reader(shared(), "again", "again", 3).await;
    let first = batch(&consumer).await;
    let second = batch(&consumer).await;
    let third = batch(&consumer).await;
    assert_eq!(values(&second), ["3", "4", "5"]);
    commit(&slot, first).await;
    // Aborted: its offsets take part in nothing, and neither do later ones.
    slot.send_offsets(second.offsets()).await.expect("accepted");
    slot.settle_deliveries().await;
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    consumer.rewind(second).await.expect("rewound");
    assert!(third.is_stale());
    let error = slot
        .send_offsets(third.offsets())
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), DataErrorKind::GroupMoved);
    assert_eq!(slot.settle_deliveries().await.offsets_failed, 1);
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    drop(third);
    let second = batch(&consumer).await;
    assert_eq!(values(&second), ["3", "4", "5"]);
    commit(&slot, second).await;
    let third = batch(&consumer).await;
    assert_eq!(values(&third), ["6", "7", "8"]);
    // Dropped without a word, as by an early return.
    drop(third);
    assert_eq!(values(&batch(&consumer).await), ["6", "7", "8"]);
    slot.close().await;
    consumer.close().await;
}

/// A consumer that has read all and goes back must not look as if all was done: who reads until
/// the end would leave the batch out.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_again_is_not_done() {
    create_topic(shared(), "undone", &[]).await;
    // Without a marker, which would make a batch of its own.
    let writer: FutureProducer = plain_config(shared()).create().expect("a producer");
    let record = FutureRecord::<(), _>::to("undone").payload("0");
    writer.send(record, PATIENCE).await.expect("delivered");
    let consumer = reader(shared(), "undone", "undone", 1).await;
    assert!(!consumer.is_caught_up());
    let all = batch(&consumer).await;
    until(|| consumer.lag().iter().any(|line| line.position == Some(1))).await;
    assert!(!consumer.is_caught_up());
    consumer.rewind(all).await.expect("rewound");
    assert!(!consumer.is_caught_up(), "{:?}", consumer.lag());
    consumer.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_consumer_goes_on_where_the_group_stands() {
    filled("restart", 4, true).await;
    let slot = open(shared(), "restart-offsets", &[]).await;
    let consumer = reader(shared(), "restart", "restart", 2).await;
    let first = batch(&consumer).await;
    assert_eq!(values(&first), ["0", "1"]);
    commit(&slot, first).await;
    consumer.close().await;
    let consumer = reader(shared(), "restart", "restart", 2).await;
    assert_eq!(values(&batch(&consumer).await), ["2", "3"]);
    slot.close().await;
    consumer.close().await;
}

/// Case group-moved, where the consumer notices.
#[tokio::test(flavor = "multi_thread")]
async fn group_moved() {
    filled("moved", 4, false).await;
    let slot = open(shared(), "moved-offsets", &[]).await;
    let first = reader(shared(), "moved", "moved", 100).await;
    let found = batch(&first).await;
    let second = reader(shared(), "moved", "moved", 100).await;
    while !found.is_stale() {
        tokio::time::timeout(PATIENCE, first.next())
            .await
            .expect("a rebalance")
            .expect("working");
    }
    let error = slot
        .send_offsets(found.offsets())
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), DataErrorKind::GroupMoved);
    assert_eq!(slot.settle_deliveries().await.offsets_failed, 1);
    for consumer in [first, second] {
        consumer.close().await;
    }
    slot.close().await;
}

/// Case group-moved, where only the group coordinator knows.
#[tokio::test(flavor = "multi_thread")]
async fn group_moved_behind_its_back() {
    filled("behind", 6, false).await;
    let slot = open(shared(), "behind-offsets", &[]).await;
    let more = [
        ("session.timeout.ms", "6000"),
        ("max.poll.interval.ms", "6000"),
    ];
    // It reads two batches ahead and then waits for its caller, for too long.
    let slow = open_reader(shared(), "behind", "behind", 1, &more).await;
    let found = batch(&slow).await;
    let next = open_reader(shared(), "behind", "behind", 1, &more).await;
    assert_eq!(values(&batch(&next).await), ["0"]);
    assert!(!found.is_stale(), "it has not heard of it");
    let error = slot
        .send_offsets(found.offsets())
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), DataErrorKind::GroupMoved, "{error}");
    let report = slot.settle_deliveries().await;
    assert_eq!((report.offsets_sent, report.offsets_failed), (1, 1));
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(
        slot.verify().await,
        SlotCondition::Clean,
        "all was answered"
    );
    slot.close().await;
    slow.close().await;
    next.close().await;
}

/// Case foreign-group-metadata.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_group_metadata() {
    filled("foreign", 1, false).await;
    let (slot, ..) = SlotInstance::open(settings("us", shared(), "foreign-us", &[]))
        .await
        .expect("open");
    let consumer = reader(shared(), "foreign", "foreign", 1).await;
    let found = batch(&consumer).await;
    let error = slot
        .send_offsets(found.offsets())
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), DataErrorKind::ForeignGroup);
    let text = error.to_string();
    assert!(
        text.contains("participant eu") && text.contains("participant `us`"),
        "{text}"
    );
    let report = slot.settle_deliveries().await;
    assert_eq!((report.offsets_sent, report.offsets_failed), (1, 1));
    assert!(!slot.has_written(), "nothing went over the network");
    slot.close().await;
    consumer.close().await;
}

/// Case truncated-source, as far as the consumer can see it.
#[tokio::test(flavor = "multi_thread")]
async fn truncated_source() {
    filled("cut", 20, false).await;
    let slot = open(shared(), "cut-offsets", &[]).await;
    let consumer = reader(shared(), "cut", "cut", 10).await;
    commit(&slot, batch(&consumer).await).await;
    consumer.close().await;
    let mut cut = TopicPartitionList::new();
    cut.add_partition_offset("cut", 0, Offset::Offset(15))
        .expect("a valid offset");
    admin(shared())
        .delete_records(&cut, &patiently())
        .await
        .expect("deleted");
    let consumer = reader(shared(), "cut", "cut", 10).await;
    let lost = loop {
        match event(&consumer).await {
            ConsumerEvent::OutOfRange(lost) => break lost,
            ConsumerEvent::Assigned(_) => {}
            other => panic!("{other:?} where a loss was expected"),
        }
    };
    assert_eq!((lost.position, lost.low, lost.resumed_at), (10, 15, None));
    let waiting = tokio::time::timeout(Duration::from_secs(1), consumer.next()).await;
    assert!(
        waiting.is_err(),
        "nothing is read until it is resumed: {waiting:?}"
    );
    consumer.resume_at("cut", 0, 15).await.expect("resumed");
    assert_eq!(
        values(&batch(&consumer).await),
        ["15", "16", "17", "18", "19"]
    );
    slot.close().await;
    consumer.close().await;
}
