//! The two clusters of the languages' tests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use gtc_clusters::{Cluster, ClusterOptions, FrameHeader, Proxy, Verdict};

use crate::command::Failure;

/// Their names, as configurations call them.
pub(super) const NAMES: [&str; 2] = ["eu", "us"];
/// Tells the tests of every language where the clusters are: `eu=HOST:PORT us=HOST:PORT`.
const ENVIRONMENT: &str = "GTC_TEST_CLUSTERS";
/// A client of `eu` whose `client.id` begins so loses the connection by which it first ends a
/// transaction, and the request with it: for tests of what is in doubt.
const LOSES_FIRST_END: &str = "loses-first-end";
/// Kafka's number of the request that ends a transaction.
const END_TXN: i16 = 26;

/// Two clusters that end with this command; the first one stands behind a proxy.
pub(crate) struct Clusters {
    clusters: Vec<Cluster>,
    _proxy: Proxy,
}

impl Clusters {
    pub(crate) fn start() -> Result<Self, Failure> {
        let proxy = Proxy::start_with_rule(first_end_is_lost())?;
        let [eu, us] = NAMES.map(|name| ClusterOptions::new(format!("languages-{name}")));
        let clusters = Cluster::start_all([eu.advertised_port(proxy.port()), us])?;
        proxy.forward_to(clusters[0].listen_port());
        Ok(Self {
            clusters,
            _proxy: proxy,
        })
    }

    /// Each name with its address.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&'static str, String)> {
        let addresses = self.clusters.iter().map(Cluster::bootstrap);
        NAMES.into_iter().zip(addresses)
    }

    /// Tells `command` where they are.
    pub(super) fn name_in(&self, command: &mut Command) {
        let pairs: Vec<String> = self
            .addresses()
            .map(|(name, address)| format!("{name}={address}"))
            .collect();
        command.env(ENVIRONMENT, pairs.join(" "));
    }

    /// Writes the configuration of a coordinator whose log lies beside the file.
    pub(crate) fn configure(&self, coordinator: &str, file: &Path) -> std::io::Result<()> {
        let mut text = format!("[coordinator]\nid = \"{coordinator}\"\nlog = \"log\"\n");
        for (name, address) in self.addresses() {
            text += &format!("[participants.{name}]\nkind = \"kafka\"\nslots = 4\n");
            text += &format!("bootstrap.servers = \"{address}\"\n");
        }
        std::fs::write(file, text)
    }
}

fn first_end_is_lost() -> impl Fn(&FrameHeader) -> Verdict {
    let lost = Mutex::new(BTreeSet::new());
    move |frame| {
        let is_meant = frame.api_key == END_TXN && frame.client_id.starts_with(LOSES_FIRST_END);
        let mut lost = lost.lock().unwrap_or_else(PoisonError::into_inner);
        match is_meant && lost.insert(frame.client_id.clone()) {
            true => Verdict::Cut,
            false => Verdict::Forward,
        }
    }
}
