//! Slots on a healthy cluster.

use std::time::Duration;

use gtc::kafka::error::DataErrorKind;
use gtc::kafka::slot::SlotInstance;
use gtc_core::{EndAnswer, SlotCondition};

use crate::{CEILING_MS, committed_values, create_topic, open, record, settings, shared};

fn numbers(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

async fn send_all(slot: &SlotInstance, topic: &str, values: &[String]) {
    for value in values {
        slot.send(&record(topic, value)).await.expect("taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn committed_records_are_visible_and_aborted_ones_are_not() {
    let cluster = shared();
    create_topic(cluster, "visible", &[]).await;
    let slot = open(cluster, "visible", &[]).await;
    for (range, commit) in [(0..10, true), (10..15, false), (15..16, true)] {
        let values = numbers(range);
        send_all(&slot, "visible", &values).await;
        let report = slot.settle_deliveries().await;
        let count = values.len() as u64;
        assert_eq!(
            (report.sent, report.delivered, report.failed),
            (count, count, 0)
        );
        let answer = if commit {
            slot.commit().await
        } else {
            slot.abort().await
        };
        assert_eq!(answer, EndAnswer::Acknowledged);
        assert_eq!(slot.verify().await, SlotCondition::Clean);
    }
    slot.close().await;
    let expected = [numbers(0..10), numbers(15..16)].concat();
    assert_eq!(committed_values(cluster, "visible"), expected);
}

/// Case empty-transaction.
#[tokio::test(flavor = "multi_thread")]
async fn empty_transaction() {
    let cluster = shared();
    create_topic(cluster, "empty", &[]).await;
    let slot = open(cluster, "empty", &[("message.max.bytes", "2000")]).await;
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);

    // One that was begun, and into which nothing came.
    let error = slot
        .send(&record("empty", &"x".repeat(5000)))
        .await
        .expect_err("too large");
    assert_eq!(error.kind(), DataErrorKind::NeverAccepted);
    assert!(slot.has_written());
    let report = slot.settle_deliveries().await;
    assert_eq!((report.sent, report.delivered, report.failed), (1, 0, 1));
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);

    send_all(&slot, "empty", &numbers(0..1)).await;
    assert_eq!(slot.settle_deliveries().await.delivered, 1);
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    slot.close().await;
    assert_eq!(committed_values(cluster, "empty"), numbers(0..1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_takes_back_what_is_still_queued() {
    let cluster = shared();
    create_topic(cluster, "purged", &[]).await;
    let slot = open(cluster, "purged", &[("linger.ms", "5000")]).await;
    send_all(&slot, "purged", &numbers(0..100)).await;
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    slot.close().await;
    assert_eq!(committed_values(cluster, "purged"), Vec::<String>::new());
}

/// Case failed-send-then-flush, for a managed producer.
#[tokio::test(flavor = "multi_thread")]
async fn failed_send_then_flush() {
    let cluster = shared();
    create_topic(cluster, "small", &[("max.message.bytes", "1000")]).await;
    let slot = open(cluster, "small", &[]).await;
    send_all(&slot, "small", &numbers(0..3)).await;
    assert_eq!(slot.settle_deliveries().await.delivered, 3);
    slot.send(&record("small", &"x".repeat(5000)))
        .await
        .expect("the client takes it");
    let report = slot.settle_deliveries().await;
    assert_eq!((report.sent, report.delivered, report.failed), (4, 3, 1));
    assert!(report.detail.is_some_and(|why| why.contains("large")));
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert!(matches!(slot.verify().await, SlotCondition::Unproven(_)));
    slot.close().await;
    assert_eq!(committed_values(cluster, "small"), Vec::<String>::new());
}

/// Another producer under the same transactional.id, as a stranger would make it.
async fn take_over(first: &SlotInstance) -> SlotInstance {
    let settings = settings("eu", shared(), first.transactional_id(), &[]);
    let (second, ..) = SlotInstance::open(settings).await.expect("open");
    second
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_producer_says_so() {
    let cluster = shared();
    create_topic(cluster, "fenced", &[]).await;
    let first = open(cluster, "fenced", &[]).await;
    send_all(&first, "fenced", &numbers(0..1)).await;
    first.settle_deliveries().await;
    let second = take_over(&first).await;
    // The write may be refused at once or when it is delivered.
    let _ = first.send(&record("fenced", "late")).await;
    let report = first.settle_deliveries().await;
    assert!(report.fenced, "{report:?}");
    assert_ne!(first.commit().await, EndAnswer::Acknowledged);
    assert!(matches!(first.verify().await, SlotCondition::Unproven(_)));
    first.close().await;
    second.close().await;
    assert_eq!(committed_values(cluster, "fenced"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_after_an_unnoticed_fence_is_not_acknowledged() {
    let cluster = shared();
    create_topic(cluster, "fenced-late", &[]).await;
    let first = open(cluster, "fenced-late", &[]).await;
    send_all(&first, "fenced-late", &numbers(0..1)).await;
    assert!(!first.settle_deliveries().await.fenced);
    let second = take_over(&first).await;
    assert_eq!(first.commit().await, EndAnswer::Code(47));
    assert!(first.settle_deliveries().await.fenced);
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_above_the_ceiling_is_told_apart() {
    let mut settings = settings("eu", shared(), "ceiling", &[]);
    settings.timeout_ms = CEILING_MS + 1;
    let failure = SlotInstance::open(settings).await.err().expect("refused");
    assert!(failure.timeout_above_ceiling, "{}", failure.detail);
    assert!(
        failure.detail.contains("transaction.max.timeout.ms"),
        "{}",
        failure.detail
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_again_without_verification_is_refused() {
    let cluster = shared();
    create_topic(cluster, "unverified", &[]).await;
    let slot = open(cluster, "unverified", &[]).await;
    send_all(&slot, "unverified", &numbers(0..1)).await;
    slot.settle_deliveries().await;
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    let error = slot
        .send(&record("unverified", "early"))
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), DataErrorKind::InvalidState);
    slot.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_full_makes_the_writer_wait() {
    let cluster = shared();
    create_topic(cluster, "full", &[]).await;
    let slot = open(cluster, "full", &[("queue.buffering.max.messages", "100")]).await;
    send_all(&slot, "full", &numbers(0..5000)).await;
    let report = slot.settle_deliveries().await;
    assert_eq!(
        (report.sent, report.delivered, report.failed),
        (5000, 5000, 0)
    );
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);
    slot.close().await;
    assert_eq!(committed_values(cluster, "full"), numbers(0..5000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_its_caller_gives_up_is_a_failure() {
    let cluster = shared();
    create_topic(cluster, "given-up", &[]).await;
    let more = [("queue.buffering.max.messages", "1"), ("linger.ms", "1000")];
    let slot = open(cluster, "given-up", &more).await;
    send_all(&slot, "given-up", &numbers(0..1)).await;
    // There is no room for it until the linger of the first ends.
    let second = record("given-up", "1");
    let given_up = tokio::time::timeout(Duration::from_millis(100), slot.send(&second)).await;
    assert!(given_up.is_err(), "it waited for room");
    let report = slot.settle_deliveries().await;
    assert_eq!((report.sent, report.delivered, report.failed), (2, 1, 1));
    assert_eq!(slot.abort().await, EndAnswer::Acknowledged);
    assert_eq!(slot.verify().await, SlotCondition::Clean);

    // Given up before anybody knows whether the transaction began.
    let begun = tokio::time::timeout(Duration::ZERO, slot.send(&second)).await;
    let report = slot.settle_deliveries().await;
    if begun.is_err() {
        assert_eq!((report.sent, report.delivered, report.failed), (1, 0, 1));
        assert!(matches!(slot.verify().await, SlotCondition::Unproven(_)));
    }
    slot.close().await;
    assert_eq!(committed_values(cluster, "given-up"), Vec::<String>::new());
}
