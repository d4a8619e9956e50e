//! Consumers with an instance id: who comes back, and who is replaced.

use std::time::{Duration, Instant};

use gtc::kafka::consumer::{ConsumerEvent, ConsumerSettings, TransactionalConsumer};
use rdkafka::admin::NewPartitions;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::consumer::filled;
use crate::{
    PATIENCE, admin, batch, create_topic, event, open_reader, patiently, plain_config,
    reader_settings, shared,
};

/// The static member `one` of a group.
fn named(group: &str, topic: &str, more: &[(&str, &str)]) -> ConsumerSettings {
    ConsumerSettings {
        instance: Some("one".into()),
        ..reader_settings(shared(), group, topic, more)
    }
}

async fn join(settings: ConsumerSettings) -> TransactionalConsumer {
    TransactionalConsumer::open(settings).await.expect("opens")
}

async fn assigned(consumer: &TransactionalConsumer) -> Vec<(String, i32)> {
    loop {
        if let ConsumerEvent::Assigned(places) = event(consumer).await {
            let place = |(topic, partition): (_, i32)| (String::from(topic), partition);
            return places
                .iter()
                .map(|(topic, number)| place((topic.as_ref(), *number)))
                .collect();
        }
    }
}

/// The group coordinator would give it what it had.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_back_with_other_topics_reads_those() {
    for topic in ["back-old", "back-new"] {
        filled(topic, 2, false).await;
    }
    let before = join(named("back", "back-old", &[])).await;
    assert_eq!(assigned(&before).await, [("back-old".to_owned(), 0)]);
    before.close().await;
    let after = join(named("back", "back-new", &[])).await;
    assert_eq!(assigned(&after).await, [("back-new".to_owned(), 0)]);
    assert_eq!(batch(&after).await.records[0].topic.as_ref(), "back-new");
    after.close().await;
}

/// Not only the leader: the group coordinator keeps to itself that another member's topics are other ones.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_back_with_other_topics_reads_those_in_company() {
    for topic in ["company-old", "company-new"] {
        filled(topic, 2, false).await;
    }
    let leader = open_reader(shared(), "company", "company-old", 10, &[]).await;
    assert_eq!(assigned(&leader).await.len(), 1);
    // It takes part in rebalances for as long as it reads.
    let leading = tokio::spawn(async move { while leader.next().await.is_ok() {} });
    let before = join(named("company", "company-old", &[])).await;
    assigned(&before).await;
    before.close().await;
    let after = join(named("company", "company-new", &[])).await;
    assert_eq!(assigned(&after).await, [("company-new".to_owned(), 0)]);
    after.close().await;
    leading.abort();
}

/// Whoever comes back is the one that shares partitions out.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_back_sees_partitions_that_are_added() {
    create_topic(shared(), "grown", &[]).await;
    let often = [("topic.metadata.refresh.interval.ms", "500")];
    let before = join(named("grown", "grown", &often)).await;
    assert_eq!(assigned(&before).await.len(), 1);
    before.close().await;
    let consumer = join(named("grown", "grown", &often)).await;
    assert_eq!(assigned(&consumer).await.len(), 1);
    let more = NewPartitions::new("grown", 2);
    let answers = admin(shared())
        .create_partitions([&more], &patiently())
        .await;
    answers.expect("an answer")[0]
        .as_ref()
        .expect("a second partition");
    assert_eq!(assigned(&consumer).await.len(), 2);
    consumer.close().await;
}

/// A static member whose name another consumer takes fails, and answers instead of waiting for ever.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_replaced_fails_and_still_answers() {
    filled("replaced", 3, false).await;
    let first = join(named("replaced", "replaced", &[])).await;
    let kept = batch(&first).await;
    let second = join(named("replaced", "replaced", &[])).await;
    batch(&second).await;
    let failing = async { while first.next().await.is_ok() {} };
    tokio::time::timeout(PATIENCE, failing)
        .await
        .expect("it learns that it was replaced");
    let asked = tokio::time::timeout(PATIENCE, first.committed()).await;
    assert!(asked.expect("an answer").is_err());
    let rewound = tokio::time::timeout(PATIENCE, first.rewind(kept)).await;
    assert!(rewound.expect("an answer").is_err());
    first.close().await;
    second.close().await;
}

/// The member id that the static member `one` of a group has, once it is one that is waited for. Each that joins in its
/// place gets another one, and is shown while the group still rebalances.
fn member_one(group: &str, wanted: impl Fn(&str) -> bool) -> String {
    let watcher: BaseConsumer = plain_config(shared()).create().expect("a client");
    let deadline = Instant::now() + PATIENCE;
    let look = || -> Option<String> {
        let found = watcher.fetch_group_list(Some(group), PATIENCE).ok()?;
        let members = found.groups().first()?.members();
        let mut ids = members.iter().map(|member| member.id().to_owned());
        ids.find(|id| id.starts_with("one-") && wanted(id))
    };
    tokio::task::block_in_place(|| {
        loop {
            if let Some(id) = look() {
                return id;
            }
            assert!(Instant::now() < deadline, "nobody joined in its place");
            std::thread::sleep(Duration::from_millis(50));
        }
    })
}

/// Its predecessor may hear that it was removed, and join again, while the new one still joins. A member
/// that does not poll keeps the group from ending its rebalance meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_fenced_before_it_had_joined_takes_its_place_back() {
    filled("ousted", 2, false).await;
    let other = |more: &[(&str, &str)]| {
        let mut config = plain_config(shared());
        config
            .set("group.id", "ousted")
            .set("session.timeout.ms", "30000");
        for (name, value) in more {
            config.set(*name, *value);
        }
        let consumer: BaseConsumer = config.create().expect("a consumer");
        consumer.subscribe(&["ousted"]).expect("subscribed");
        consumer
    };
    // The group waits for it as long as it may take between two polls.
    let slow = other(&[("max.poll.interval.ms", "30000")]);
    while slow.assignment().expect("known").count() == 0 {
        drop(slow.poll(Duration::from_millis(50)));
    }
    let consumer = join(named("ousted", "ousted", &[])).await;
    let joining = member_one("ousted", |_| true);
    let predecessor = other(&[("group.instance.id", "one")]);
    member_one("ousted", |id| id != joining);
    drop(slow);
    assert_eq!(assigned(&consumer).await, [("ousted".to_owned(), 0)]);
    assert_eq!(batch(&consumer).await.records.len(), 2);
    drop(predecessor);
    consumer.close().await;
}
