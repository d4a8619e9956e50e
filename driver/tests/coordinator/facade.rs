//! The façade of the bindings: handles of any thread, ends that reach what they own, batches that
//! are neither skipped nor doubled.

use std::time::Duration;

use gtc::check::{CheckOptions, Level};
use gtc::facade::{Batch, Consumer, Coordinator, Source};
use gtc::{ConsumerOptions, ErrorKind, KnownOutcome, Record, Retry, TransactionOptions};
use gtc_clusters::Cluster;

use crate::support::{Directory, PATIENCE, Result, committed, create_topic, record, two, write};

fn source(id: &str, directory: &Directory, clusters: &[&Cluster]) -> Source {
    let log = directory.0.join("log").display().to_string();
    let mut values = vec![
        ("coordinator.id".to_owned(), id.to_owned()),
        ("coordinator.log".to_owned(), log),
    ];
    for (name, cluster) in ["eu", "us"].into_iter().zip(clusters) {
        values.push((format!("participants.{name}.kind"), "kafka".to_owned()));
        values.push((format!("participants.{name}.slots"), "4".to_owned()));
        let properties = cluster.client_properties().into_iter();
        values.extend(
            properties.map(|(property, value)| (format!("participants.{name}.{property}"), value)),
        );
    }
    Source::Values(values)
}

async fn open(id: &str, directory: &Directory) -> Result<(Coordinator, Vec<&'static Cluster>)> {
    let clusters = two().await?;
    for cluster in &clusters {
        create_topic(cluster, id).await?;
    }
    let coordinator = Coordinator::open(source(id, directory, &clusters)).await?;
    Ok((coordinator, clusters))
}

fn records(topic: &str, values: &[&str]) -> Vec<Record> {
    values.iter().map(|value| record(topic, *value)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_without_an_executor_commits_and_closes_twice() -> Result {
    let directory = Directory::new("facade-blocking");
    let (coordinator, clusters) = open("facade-blocking", &directory).await?;
    let user = coordinator.clone();
    let id = tokio::task::spawn_blocking(move || {
        let transaction = user.begin(TransactionOptions::new().key("k-1"))?;
        for participant in ["eu", "us"] {
            let records = records("facade-blocking", &["a", "b"]);
            transaction.send_many(participant, records).wait()?;
        }
        let late = transaction.clone();
        let id = transaction.commit().wait()?;
        let error = late.send("eu", Record::to("facade-blocking")).wait();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidState);
        assert_eq!(
            late.commit().wait().unwrap_err().kind(),
            ErrorKind::InvalidState
        );
        late.close().wait()?;
        Ok::<_, gtc::Error>(id)
    })
    .await??;
    let keyed = coordinator.outcome_by_key(b"k-1")?.expect("it is known");
    assert_eq!((keyed.id, keyed.outcome), (id, KnownOutcome::Committed));
    assert_eq!(coordinator.in_doubt()?, []);
    for cluster in clusters {
        assert_eq!(committed(cluster, "facade-blocking").await?, ["a", "b"]);
    }
    let findings = coordinator
        .check(CheckOptions::new().participants(["eu"]))
        .await?;
    let reachable = findings.iter().find(|finding| finding.check == "reachable");
    assert_eq!(reachable.map(|finding| finding.level), Some(Level::Ok));
    coordinator.close().await?;
    coordinator.close().await?;
    Ok(())
}

/// The clusters make no topic by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_a_cluster_does_not_have_is_no_reason_to_run_it_again() -> Result {
    let directory = Directory::new("facade-nowhere");
    let topic = "facade-nowhere";
    let (coordinator, clusters) = open(topic, &directory).await?;
    let partition_99 = Record {
        partition: Some(99),
        ..record(topic, "a")
    };
    let missing = record("facade-elsewhere", "a");
    let cases = [
        (partition_99, [topic, "99", "`us`"], "partition"),
        (
            missing,
            ["facade-elsewhere", "`us`", "topic"],
            "create the topic",
        ),
    ];
    for (misplaced, named, remedy) in cases {
        // The second time the producer may know it at once.
        for _ in 0..2 {
            let begun = std::time::Instant::now();
            let transaction = coordinator.begin(TransactionOptions::new())?;
            transaction.send("eu", record(topic, "b")).await?;
            let sent = transaction.send("us", misplaced.clone()).await;
            let failed = transaction.commit().await.expect_err("it has no place");
            assert_eq!(failed.kind(), ErrorKind::Aborted, "{failed}");
            for error in sent.err().iter().chain([&failed]) {
                assert_eq!(error.retry(), Retry::Never, "{error}");
                assert!(error.remedy().contains(remedy), "{error}");
                assert!(
                    named.iter().all(|name| error.problem().contains(name)),
                    "{error}"
                );
            }
            assert!(begun.elapsed() < Duration::from_secs(25), "{failed}");
        }
    }
    coordinator.close().await?;
    assert_eq!(committed(clusters[0], topic).await?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_no_cluster_can_take_is_refused_though_none_is_there() -> Result {
    let directory = Directory::new("facade-flawed");
    let log = directory.0.join("log").display().to_string();
    let values = [
        ("coordinator.id", "facade-flawed"),
        ("coordinator.log", &log),
        ("coordinator.limits.connect_timeout_ms", "0"),
        ("participants.eu.kind", "kafka"),
        // Nobody listens there.
        ("participants.eu.bootstrap.servers", "127.0.0.1:9"),
    ];
    let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let coordinator = Coordinator::open(Source::Values(values.into())).await?;
    let flawed = [
        record("", "a"),
        record("a\0b", "a"),
        Record {
            partition: Some(-9),
            ..record("orders", "a")
        },
        Record {
            timestamp_ms: Some(-5),
            ..record("orders", "a")
        },
    ];
    for record in flawed {
        let transaction = coordinator.begin(TransactionOptions::new())?;
        let error = transaction.send("eu", record).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        let error = transaction.commit().await.expect_err("it is not in it");
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Aborted, Retry::Never),
            "{error}"
        );
    }
    Ok(coordinator.close().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_coordinator_ends_what_it_owns() -> Result {
    let directory = Directory::new("facade-close");
    let (coordinator, clusters) = open("facade-close", &directory).await?;
    let options = ConsumerOptions::new("facade-close", ["facade-close"]);
    let consumer = coordinator.consumer("eu", options).await?;
    let waiting = consumer.next(None);
    let transaction = coordinator.begin(TransactionOptions::new())?;
    transaction.send("eu", record("facade-close", "a")).await?;
    transaction.send("us", record("facade-close", "a")).await?;

    coordinator.close().await?;
    assert_eq!(waiting.await.unwrap_err().kind(), ErrorKind::Closed);
    let next = consumer.next(None).await;
    assert_eq!(next.unwrap_err().kind(), ErrorKind::Closed);
    let sent = transaction.send("eu", record("facade-close", "b")).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::Closed);
    // Its fate is known, which says more than that the coordinator is closed.
    assert_eq!(
        transaction.commit().await.unwrap_err().kind(),
        ErrorKind::Aborted
    );
    consumer.close().await?;
    let begun = coordinator.begin(TransactionOptions::new());
    assert_eq!(begun.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(coordinator.list().unwrap_err().kind(), ErrorKind::Closed);
    for cluster in clusters {
        assert_eq!(committed(cluster, "facade-close").await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_given_up_leaves_only_the_abort() -> Result {
    let directory = Directory::new("facade-torn");
    let (coordinator, clusters) = open("facade-torn", &directory).await?;
    let transaction = coordinator.begin(TransactionOptions::new())?;
    transaction.send("us", record("facade-torn", "a")).await?;
    // The slot has to be opened first, so that it is under way when it is given up.
    drop(transaction.send("eu", record("facade-torn", "a")));
    let error = transaction.commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    for cluster in clusters {
        assert_eq!(committed(cluster, "facade-torn").await?, [""; 0]);
    }
    coordinator.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_neither_skipped_nor_doubled() -> Result {
    let directory = Directory::new("facade-batches");
    let (coordinator, clusters) = open("facade-batches", &directory).await?;
    write(clusters[0], "facade-batches", &["a", "b", "c"]).await?;
    let options = ConsumerOptions::new("facade-batches", ["facade-batches"]);
    let consumer = coordinator.consumer("eu", options).await?;

    // Handed out, and its offsets never sent: it comes again.
    let ignored = next(&consumer).await?;
    let aborted = next(&consumer).await?;
    assert_eq!(aborted.records()[0].offset, 0);
    let transaction = coordinator.begin(TransactionOptions::new())?;
    let error = transaction.send_offsets(&ignored).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    mirror(&transaction, &aborted).await?;
    transaction.abort("a test").await?;

    let mut moved = 0;
    while moved < 3 {
        let batch = next(&consumer).await?;
        assert_eq!(
            batch.records().first().map_or(moved, |first| first.offset),
            moved
        );
        let transaction = coordinator.begin(TransactionOptions::new())?;
        mirror(&transaction, &batch).await?;
        transaction.commit().await?;
        moved += i64::try_from(batch.records().len())?;
    }
    assert_eq!(
        committed(clusters[1], "facade-batches").await?,
        ["a", "b", "c"]
    );
    assert!(
        consumer
            .next(Some(Duration::from_millis(500)))
            .await?
            .is_none()
    );
    consumer.close().await?;
    consumer.close().await?;

    // A new member of the group goes on behind them.
    write(clusters[0], "facade-batches", &["d"]).await?;
    let options = ConsumerOptions::new("facade-batches", ["facade-batches"]);
    let consumer = coordinator.consumer("eu", options).await?;
    assert_eq!(next(&consumer).await?.records()[0].offset, 3);
    coordinator.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_another_coordinator_is_refused() -> Result {
    let directories = ["facade-own", "facade-other"].map(Directory::new);
    let (own, clusters) = open("facade-own", &directories[0]).await?;
    let (other, _) = open("facade-other", &directories[1]).await?;
    write(clusters[0], "facade-other", &["a"]).await?;
    let options = ConsumerOptions::new("facade-other", ["facade-other"]);
    let consumer = other.consumer("eu", options).await?;
    let batch = next(&consumer).await?;
    let transaction = own.begin(TransactionOptions::new())?;
    let error = transaction.send_offsets(&batch).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    own.close().await?;
    other.close().await?;
    Ok(())
}

async fn mirror(transaction: &gtc::facade::Transaction, batch: &Batch) -> Result {
    for read in batch.records() {
        let written = Record {
            value: read.value.clone(),
            ..Record::to(read.topic.clone())
        };
        transaction.send("us", written).await?;
    }
    transaction.send_offsets(batch).await?;
    Ok(())
}

async fn next(consumer: &Consumer) -> Result<Batch> {
    let batch = consumer.next(Some(PATIENCE)).await?;
    Ok(batch.ok_or("no batch in time")?)
}
