//! Two clusters that all cases share. `us` stands behind a proxy whose faults touch the requests
//! that they are made for, so that cases can run beside each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gtc::kafka::control::ControlClient;
use gtc::kafka::properties::Properties;
use gtc_clusters::{Cluster, ClusterOptions, FrameHeader, Proxy, Verdict};
use gtc_core::ListedTransaction;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use tokio::sync::OnceCell;

use crate::support::{PATIENCE, Result, show_events};

/// The longest transaction time-out that `us` takes.
pub const US_CEILING_MS: i32 = 600_000;
/// Kafka's number of the request that ends a transaction.
pub const END_TXN: i16 = 26;

/// The clusters, and what stands before the second one.
pub struct World {
    pub eu: Cluster,
    pub us: Cluster,
    pub proxy: Proxy,
}

/// The world of this program; it ends with the program.
pub async fn world() -> Result<&'static World> {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    show_events();
    let started = WORLD.get_or_try_init(|| async {
        // Starting brokers blocks for seconds.
        tokio::task::spawn_blocking(World::start).await?
    });
    started.await
}

impl World {
    fn start() -> Result<Self> {
        let proxy = Proxy::start_with_rule(judge)?;
        let us = ClusterOptions::new("us")
            .advertised_port(proxy.port())
            .property("transaction.max.timeout.ms", US_CEILING_MS.to_string());
        let mut started = Cluster::start_all([ClusterOptions::new("eu"), us])?;
        let us = started.pop().ok_or("no second cluster")?;
        let eu = started.pop().ok_or("no first cluster")?;
        proxy.forward_to(us.listen_port());
        Ok(Self { eu, us, proxy })
    }

    pub fn clusters(&self) -> [&Cluster; 2] {
        [&self.eu, &self.us]
    }

    /// Makes a topic with one partition on both.
    pub async fn topic(&self, name: &str) -> Result {
        for cluster in self.clusters() {
            create_topic(cluster, name, &[]).await?;
        }
        Ok(())
    }
}

/// Makes a topic with one partition and these settings.
pub async fn create_topic(cluster: &Cluster, name: &str, settings: &[(&str, &str)]) -> Result {
    let admin: AdminClient<DefaultClientContext> = client(cluster).create()?;
    let fixed = NewTopic::new(name, 1, TopicReplication::Fixed(1));
    let new = settings
        .iter()
        .fold(fixed, |topic, (key, value)| topic.set(key, value));
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    for made in admin.create_topics([&new], &options).await? {
        made.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    Ok(())
}

pub fn client(cluster: &Cluster) -> ClientConfig {
    cluster.client_properties().into_iter().collect()
}

/// Writes records outside of any transaction.
pub async fn write(cluster: &Cluster, topic: &str, values: &[&str]) -> Result {
    let producer: FutureProducer = client(cluster).create()?;
    for value in values {
        let record = FutureRecord::<(), str>::to(topic).payload(*value);
        let sent = producer.send(record, PATIENCE).await;
        sent.map_err(|(error, _)| error)?;
    }
    Ok(())
}

/// A control client of a cluster.
pub fn control(cluster: &Cluster) -> Result<ControlClient> {
    let properties = Properties::parse(cluster.name(), cluster.client_properties())?;
    Ok(ControlClient::open(&properties)?)
}

/// What a cluster holds under the names of a coordinator.
async fn listing(cluster: &Cluster, coordinator: &str) -> Result<Vec<ListedTransaction>> {
    let prefix = format!("gtc.{coordinator}.");
    let listing = control(cluster)?.list_transactions(&prefix).await;
    assert!(listing.complete, "{listing:?}");
    Ok(listing.transactions)
}

/// The transactional.ids that a cluster holds for a coordinator.
pub async fn names(cluster: &Cluster, coordinator: &str) -> Result<Vec<String>> {
    let found = listing(cluster, coordinator).await?;
    let names = found.iter().map(|found| found.transactional_id.to_string());
    Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Waits until a cluster has so many open transactions of a coordinator.
pub async fn wait_until_open(cluster: &Cluster, coordinator: &str, count: usize) -> Result {
    let reached = async {
        loop {
            let found = listing(cluster, coordinator).await?;
            if found.iter().filter(|found| found.state.is_open()).count() == count {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await?
}

type Matches = Box<dyn Fn(&FrameHeader) -> bool + Send>;

static FAULTS: Mutex<Vec<(u64, Verdict, Matches)>> = Mutex::new(Vec::new());

/// What the proxy does to some requests; dropping it lets them pass again.
pub struct Fault(u64);

impl Fault {
    /// From now on every request that `matches` gets this verdict.
    pub fn new(verdict: Verdict, matches: impl Fn(&FrameHeader) -> bool + Send + 'static) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        faults().push((id, verdict, Box::new(matches)));
        Self(id)
    }

    /// No EndTxn of this coordinator's slots arrives.
    pub fn no_end_of(coordinator: &str) -> Self {
        let prefix = format!("gtc.{coordinator}.");
        Self::new(Verdict::Cut, move |frame| {
            frame.api_key == END_TXN && frame.mentions(&prefix)
        })
    }

    /// Nothing of the clients with this `client.id` arrives.
    pub fn no_request_of(client_id: &str) -> Self {
        let client_id = client_id.to_owned();
        Self::new(Verdict::Cut, move |frame| frame.client_id == client_id)
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        faults().retain(|(id, ..)| *id != self.0);
    }
}

fn judge(frame: &FrameHeader) -> Verdict {
    let faults = faults();
    let found = faults.iter().find(|(.., matches)| matches(frame));
    found.map_or(Verdict::Forward, |(_, verdict, _)| *verdict)
}

fn faults() -> MutexGuard<'static, Vec<(u64, Verdict, Matches)>> {
    // Every change is one call, so that a panic elsewhere leaves it whole.
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}
