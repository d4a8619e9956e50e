//! Slots where the network or the broker fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gtc_clusters::{Cluster, Proxy, Verdict};
use gtc_core::{EndAnswer, SlotCondition};

use crate::{PATIENCE, committed_values, create_topic, one_more_cluster, open, options, record};

const END_TXN: i16 = 26;

/// A cluster behind a proxy that holds the next EndTxn whenever it is armed.
fn behind_proxy(name: &str) -> (Cluster, Proxy, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(false));
    let rule = armed.clone();
    let proxy = Proxy::start_with_rule(move |frame| {
        let is_next = frame.api_key == END_TXN && rule.swap(false, Ordering::SeqCst);
        if is_next {
            Verdict::Hold
        } else {
            Verdict::Forward
        }
    })
    .expect("a proxy");
    let cluster = Cluster::start(options(name).advertised_port(proxy.port())).expect("a cluster");
    proxy.forward_to(cluster.listen_port());
    (cluster, proxy, armed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_end_leaves_the_slot_unproven() {
    let _turn = one_more_cluster().await;
    let (cluster, proxy, armed) = behind_proxy("dataplane-repeat");
    let proxy = Arc::new(proxy);
    create_topic(&cluster, "repeat", &[]).await;
    let slot = open(&cluster, "repeat", &[("socket.timeout.ms", "2000")]).await;

    // A cut on the idle connection is outside: nothing of the epoch was unanswered.
    proxy.cut_all();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for value in ["0", "1"] {
        slot.send(&record("repeat", value)).await.expect("taken");
        slot.settle_deliveries().await;
        assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
        assert_eq!(slot.verify().await, SlotCondition::Clean);
    }

    // A cut while EndTxn waits for its answer: the repeat is answered, the first may still come.
    slot.send(&record("repeat", "2")).await.expect("taken");
    slot.settle_deliveries().await;
    armed.store(true, Ordering::SeqCst);
    let cutter = proxy.clone();
    let cutting = tokio::task::spawn_blocking(move || {
        let held = cutter.await_held(PATIENCE);
        assert_eq!(held.expect("a held EndTxn").header().api_key, END_TXN);
        cutter.cut_all();
    });
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    cutting.await.expect("it was held");
    match slot.verify().await {
        SlotCondition::Unproven(why) => assert!(why.contains("connection broke"), "{why}"),
        SlotCondition::Clean => panic!("nothing proves that the first EndTxn is dead"),
    }
    slot.close().await;
    a_late_answer_leaves_it_unproven(&cluster, &armed).await;
    assert_eq!(committed_values(&cluster, "repeat"), ["0", "1", "2", "3"]);
}

/// The first EndTxn stays on its way, and librdkafka repeats it after its time-out.
async fn a_late_answer_leaves_it_unproven(cluster: &Cluster, armed: &AtomicBool) {
    let slot = open(cluster, "late", &[("socket.timeout.ms", "2000")]).await;
    slot.send(&record("repeat", "3")).await.expect("taken");
    slot.settle_deliveries().await;
    armed.store(true, Ordering::SeqCst);
    assert_eq!(slot.commit().await, EndAnswer::Acknowledged);
    assert!(!armed.load(Ordering::SeqCst), "an EndTxn was held");
    assert!(matches!(slot.verify().await, SlotCondition::Unproven(_)));
    slot.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_broker_fails_the_deliveries_and_leaves_the_end_open() {
    let _turn = one_more_cluster().await;
    let cluster = Cluster::start(options("dataplane-dead")).expect("a cluster");
    create_topic(&cluster, "dead", &[]).await;
    let more = [
        ("message.timeout.ms", "2000"),
        ("socket.timeout.ms", "1000"),
    ];
    let slot = open(&cluster, "dead", &more).await;
    slot.send(&record("dead", "delivered"))
        .await
        .expect("taken");
    assert_eq!(slot.settle_deliveries().await.delivered, 1);
    cluster.kill();
    slot.send(&record("dead", "lost")).await.expect("taken");
    let report = slot.settle_deliveries().await;
    assert_eq!((report.sent, report.delivered, report.failed), (2, 1, 1));
    assert!(!report.fenced);
    let answer = slot.abort().await;
    assert!(matches!(answer, EndAnswer::NoAnswer(_)), "{answer:?}");
    assert!(matches!(slot.verify().await, SlotCondition::Unproven(_)));
    slot.close().await;
}
