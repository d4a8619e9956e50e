//! The model of a cluster is held against the truth: seeded sequences of requests go to real brokers and
//! to the model, and every answer must be equal. `GTC_TRUTH_SEQUENCES=N` runs another number of them.

mod real;
mod sequence;
mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gtc_clusters::{Cluster, ClusterOptions, Generation};
use gtc_sim::model::call::{Call, Reply};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use real::Real;
use sequence::Sequence;
use wire::Connection;

const TOPIC: &str = "truth";
const CONNECTIONS: u64 = 12;

fn start(name: &str, generation: Generation) -> Cluster {
    let options = ClusterOptions::new(name)
        .generation(generation)
        .property(
            "transaction.max.timeout.ms",
            sequence::CEILING_MS.to_string(),
        )
        .property(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            "100",
        );
    Cluster::start(options).expect("a cluster")
}

/// Makes the topic, and waits until the broker coordinates transactions and groups.
fn make_ready(bootstrap: &str) {
    let mut connection = Connection::open(bootstrap);
    let topic = CreatableTopic::default()
        .with_name(TopicName(StrBytes::from_static_str(TOPIC)))
        .with_num_partitions(1)
        .with_replication_factor(1);
    let request = CreateTopicsRequest::default()
        .with_timeout_ms(10_000)
        .with_topics(vec![topic]);
    let answer: CreateTopicsResponse = connection.ask(ApiKey::CreateTopics, 5, &request);
    assert_eq!(answer.topics[0].error_code, 0, "the topic");
    for (key_type, key) in [(0, "group-warm-up"), (1, "warm-up")] {
        await_coordinator(&mut connection, key_type, key);
    }
    let began = Instant::now();
    let mut real = Real::open(bootstrap, TOPIC);
    let id = "warm-up".into();
    let call = Call::Init {
        id,
        timeout_ms: 1000,
    };
    while !matches!(real.call(&call), Reply::Done(_)) {
        assert!(began.elapsed() < Duration::from_secs(60), "never ready");
        thread::sleep(Duration::from_millis(50));
    }
}

fn await_coordinator(connection: &mut Connection, key_type: i8, key: &'static str) {
    let began = Instant::now();
    loop {
        let request = FindCoordinatorRequest::default()
            .with_key_type(key_type)
            .with_coordinator_keys(vec![StrBytes::from_static_str(key)]);
        let answer: FindCoordinatorResponse = connection.ask(ApiKey::FindCoordinator, 4, &request);
        if answer.coordinators[0].error_code == 0 {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no coordinator");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Runs this many sequences and returns how many requests they sent.
fn hold_against(bootstrap: &str, transaction_version: i16, count: u64) -> usize {
    let next = AtomicU64::new(0);
    let work = || {
        let mut real = Real::open(bootstrap, TOPIC);
        let mut requests = 0;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= count {
                return Ok(requests);
            }
            requests += Sequence::new(seed, transaction_version, &mut real).run()?;
        }
    };
    let results: Vec<Result<usize, String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    let differences: Vec<&String> = results.iter().filter_map(|r| r.as_ref().err()).collect();
    let listed: Vec<&str> = differences.iter().map(|text| text.as_str()).collect();
    assert!(listed.is_empty(), "{}", listed.join("\n\n"));
    results.into_iter().map(Result::unwrap_or_default).sum()
}

#[test]
fn the_model_answers_as_brokers_do() {
    let wanted = std::env::var("GTC_TRUTH_SEQUENCES").ok();
    let count = wanted.map_or(1000, |text| text.parse().expect("a number of sequences"));
    let began = Instant::now();
    let generations = [
        (1, Generation::TransactionVersion1),
        (2, Generation::Current),
    ];
    for (version, generation) in generations {
        let cluster = start(&format!("truth-tv{version}"), generation);
        make_ready(&cluster.bootstrap());
        let requests = hold_against(&cluster.bootstrap(), version, count / 2);
        println!(
            "transaction.version {version}: {} sequences, {requests} requests",
            count / 2
        );
    }
    println!(
        "{count} sequences in {:.1} s",
        began.elapsed().as_secs_f64()
    );
}
