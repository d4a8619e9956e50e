//! The control client against real brokers.

mod answers;
mod cluster;
mod faults;
mod own_rights;
mod producer;
mod secure;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gtc::kafka::control::ControlClient;
use gtc::kafka::properties::Properties;
use gtc_clusters::{Cluster, ClusterOptions};
use tokio::sync::{Mutex, MutexGuard};

/// The ceiling of the cluster's transaction time-outs.
pub const CEILING_MS: i32 = 900_000;

/// The cluster of all tests that do it no harm. Time-outs of transactions are noticed quickly on it.
pub fn shared() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let options = ClusterOptions::new("control")
            .default_partitions(3)
            .property("transaction.max.timeout.ms", CEILING_MS.to_string())
            .property(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms",
                "250",
            );
        Cluster::start(options).expect("a cluster")
    })
}

/// Taken by tests that start a cluster of their own, so that memory holds one of these at a time.
pub async fn one_more_cluster() -> MutexGuard<'static, ()> {
    static TURN: OnceLock<Arc<Mutex<()>>> = OnceLock::new();
    TURN.get_or_init(Arc::default).lock().await
}

/// A control client of these properties, with a time-out in milliseconds.
pub fn client(mut values: BTreeMap<String, String>, timeout_ms: u32) -> ControlClient {
    values.insert("socket.timeout.ms".to_owned(), timeout_ms.to_string());
    let properties = Properties::parse("eu", values).expect("valid properties");
    ControlClient::open(&properties).expect("a client")
}
