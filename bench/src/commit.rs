//! What a global commit costs beside local ones, on real brokers, in one run.
//!
//! The limit is what the same client needs for two independent local transactions run at once, plus one
//! sync of the log's disk. The clients rotate over as many ids as a pool has slots, with the
//! settings that gtc gives its own.

mod global;
mod local;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gtc_clusters::{Cluster, ClusterOptions};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::figures::{Scratch, median_and_p99, millis, ratio};
use crate::log_sync;

pub const TOPIC: &str = "bench";

#[derive(clap::Args)]
pub struct Options {
    /// Transactions measured of each kind and round.
    #[arg(long, default_value_t = 300)]
    transactions: usize,
    /// Rounds; each measures every kind once, in turn.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Records of 100 bytes a transaction and cluster.
    #[arg(long, default_value_t = 10)]
    records: usize,
    /// Slots of each participant, and ids that the local transactions rotate over.
    #[arg(long, default_value_t = 16)]
    slots: u32,
    /// Workers of the pipelined kinds; as many as slots unless given.
    #[arg(long)]
    workers: Option<usize>,
    /// The directory for the decision log.
    #[arg(long)]
    directory: Option<PathBuf>,
}

/// The times of one kind.
pub struct Sample {
    each: Vec<Duration>,
    whole: Duration,
}

impl Sample {
    pub fn new(each: Vec<Duration>, begun: Instant) -> Self {
        Self {
            each,
            whole: begun.elapsed(),
        }
    }

    fn rate(&self) -> f64 {
        self.each.len() as f64 / self.whole.as_secs_f64()
    }
}

#[derive(Default)]
struct Kind {
    p50: Vec<f64>,
    p99: Vec<f64>,
    rate: Vec<f64>,
}

impl Kind {
    fn take(&mut self, name: &str, round: usize, sample: Sample) {
        let rate = sample.rate();
        let (p50, p99) = median_and_p99(sample.each);
        println!(
            "{round:<6} {name:<28} {:>8} {:>8} {rate:>10.0}",
            millis(p50),
            millis(p99)
        );
        self.p50.push(p50.as_secs_f64() * 1e3);
        self.p99.push(p99.as_secs_f64() * 1e3);
        self.rate.push(rate);
    }
}

/// Spreads transactions over workers, and joins what each measured.
async fn spread<E, F>(
    workers: usize,
    transactions: usize,
    work: impl Fn(usize) -> F,
) -> Result<Sample, Box<dyn std::error::Error>>
where
    E: Into<Box<dyn std::error::Error>> + Send + 'static,
    F: Future<Output = Result<Vec<Duration>, E>> + Send + 'static,
{
    let begun = Instant::now();
    let tasks: Vec<_> = (0..workers)
        .map(|_| tokio::spawn(work(transactions / workers)))
        .collect();
    let mut each = Vec::new();
    for task in tasks {
        each.extend(task.await?.map_err(Into::into)?);
    }
    Ok(Sample::new(each, begun))
}

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let clusters = Cluster::start_all(["eu", "us"].map(ClusterOptions::new))?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(measure(options, &clusters))
}

async fn measure(
    options: &Options,
    clusters: &[Cluster],
) -> Result<(), Box<dyn std::error::Error>> {
    for cluster in clusters {
        create_topic(cluster).await?;
    }
    let scratch = Scratch::new(options.directory.as_deref(), "commit")?;
    let locals = local::Pair::open(clusters, options.slots)?;
    let globals = global::Bench::open(clusters, &scratch.path().join("log"), options.slots).await?;
    let (transactions, records) = (options.transactions, options.records);
    let workers = options.workers.unwrap_or(options.slots as usize);
    let mut kinds: [Kind; 5] = Default::default();
    let mut syncs = Vec::new();
    println!("round  kind                           p50 ms   p99 ms      per s");
    locals.both(transactions / 5, records).await?;
    globals.sequential(transactions / 5, records).await?;
    for round in 1..=options.rounds {
        let sync = log_sync::one_sync(scratch.path(), Duration::from_secs(1))?;
        println!(
            "{round:<6} {:<28} {:>8} {:>8}",
            "log disk sync",
            millis(sync.0),
            millis(sync.1)
        );
        syncs.push((sync.0.as_secs_f64() * 1e3, sync.1.as_secs_f64() * 1e3));
        let one = locals.one(transactions, records).await?;
        kinds[0].take("one local", round, one);
        let both = locals.both(transactions, records).await?;
        kinds[1].take("two local at once", round, both);
        let global = globals.sequential(transactions, records).await?;
        kinds[2].take("global over two", round, global);
        let piped = locals.pipelined(transactions * 4, records, workers).await?;
        kinds[3].take("two local, pipelined", round, piped);
        let piped = globals
            .pipelined(transactions * 4, records, workers)
            .await?;
        kinds[4].take("global, pipelined", round, piped);
    }
    report(&kinds, &syncs);
    globals.close().await
}

fn report(kinds: &[Kind; 5], syncs: &[(f64, f64)]) {
    let add = |two: &[f64], sync: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        two.iter()
            .zip(syncs)
            .map(|(two, one)| two + sync(one))
            .collect()
    };
    let limit_p50 = add(&kinds[1].p50, |sync| sync.0);
    let limit_p99 = add(&kinds[1].p99, |sync| sync.1);
    println!();
    println!(
        "latency p50, global : (two local + one sync)    {:.2}  (aim: at most 1.25)",
        ratio(&kinds[2].p50, &limit_p50)
    );
    println!(
        "latency p99, global : (two local + one sync)    {:.2}  (aim: at most 1.25)",
        ratio(&kinds[2].p99, &limit_p99)
    );
    println!(
        "throughput pipelined, global : two local        {:.2}  (aim: at least 0.80)",
        ratio(&kinds[4].rate, &kinds[3].rate)
    );
}

pub async fn create_topic(cluster: &Cluster) -> Result<(), Box<dyn std::error::Error>> {
    let admin: AdminClient<DefaultClientContext> = client(cluster).create()?;
    let topic = NewTopic::new(TOPIC, 4, TopicReplication::Fixed(1));
    for result in admin.create_topics(&[topic], &AdminOptions::new()).await? {
        result.map_err(|(topic, code)| format!("{topic}: {code}"))?;
    }
    Ok(())
}

pub fn client(cluster: &Cluster) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in cluster.client_properties() {
        config.set(name, value);
    }
    config
}
