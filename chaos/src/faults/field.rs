//! The clusters behind their proxies, and the workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use gtc_clusters::{Cluster, ClusterOptions, Generation, Proxy};
use serde_json::json;

use super::disk::SmallDisk;
use super::shape::{self, Shape, log_directory};
use super::worker::Worker;
use crate::audit::{DESCRIPTION, Description, Site as Described};
use crate::config::Configuration;
use crate::error::{Context, Error, Result};
use crate::kafka::Connection;

const TOPIC: &str = "ledger";
const COPIES: &str = "copies";
const GROUP: &str = "copier";
/// A killed member of the group is missed soon, and a slow one not at once.
const SESSION_MS: &str = "6000";
/// Answers of a black hole are not waited for much longer than it lasts.
const SOCKET_MS: &str = "5000";
/// With large keys only few outcomes can be kept.
const FEW_OUTCOMES: u64 = 100;

/// A cluster behind its proxy.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) cluster: Cluster,
    pub(super) proxy: Proxy,
    /// A fault has its process in hand.
    pub(super) is_taken: AtomicBool,
}

impl Site {
    /// Takes the process in hand; false where a fault has it.
    pub(super) fn take(&self) -> bool {
        !self.is_taken.swap(true, Ordering::SeqCst)
    }

    pub(super) fn give_back(&self) {
        self.is_taken.store(false, Ordering::SeqCst);
    }
}

/// Everything that faults can hit.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) sites: BTreeMap<String, Site>,
    pub(super) workers: BTreeMap<String, Worker>,
    pub(super) disk: Option<SmallDisk>,
    pub(super) journals: Vec<PathBuf>,
}

impl Field {
    /// Starts the clusters, and makes the topics and all files in `directory`.
    pub(super) fn start(
        (directory, worker): (&Path, &Path),
        (shape, seed): (&Shape, u64),
        disk: Option<SmallDisk>,
    ) -> Result<Self> {
        let sites = sites(shape)?;
        for site in sites.values() {
            let connection = connection(site);
            for topic in [TOPIC, COPIES] {
                connection.create_topic(topic, shape.partitions)?;
            }
        }
        describe(directory, shape)?;
        let mut field = Self {
            sites,
            workers: BTreeMap::new(),
            disk,
            journals: Vec::new(),
        };
        for one in &shape.workers {
            let setup = field.set_up(directory, shape, (one, seed))?;
            let log = directory.join(format!("{}.log", one.name));
            let made = Worker::new(&one.name, worker.to_owned(), setup, log);
            field.workers.insert(one.name.clone(), made);
            field
                .journals
                .push(directory.join(format!("{}.journal", one.name)));
        }
        Ok(field)
    }

    /// How the auditor reaches the clusters.
    pub(super) fn connections(&self) -> Vec<Connection> {
        self.sites.values().map(connection).collect()
    }

    pub(super) fn site(&self, name: &str) -> Result<&Site> {
        let found = self.sites.get(name);
        found.ok_or_else(|| Error::new(format!("there is no cluster {name}")))
    }

    pub(super) fn worker(&self, name: &str) -> Result<&Worker> {
        let found = self.workers.get(name);
        found.ok_or_else(|| Error::new(format!("there is no worker {name}")))
    }

    /// Writes the configuration and the setup of a worker.
    fn set_up(
        &self,
        directory: &Path,
        shape: &Shape,
        (worker, seed): (&shape::Worker, u64),
    ) -> Result<PathBuf> {
        let name = &worker.name;
        let mut configuration =
            Configuration::new(name).limit("report_timeout_ms", worker.patience_ms);
        if worker.key_bytes > 0 {
            configuration = configuration
                .limit("key_bytes_max", worker.key_bytes as u64)
                .limit("outcomes_max", FEW_OUTCOMES);
        }
        for (site, found) in &self.sites {
            let mut properties = found.cluster.client_properties();
            properties.insert("session.timeout.ms".into(), SESSION_MS.into());
            properties.insert("socket.timeout.ms".into(), SOCKET_MS.into());
            configuration = configuration.participant(site, &properties);
            let timeout_ms = shape.timeout_ms(site);
            // By default it is the ceiling, but that is not known to a life that begins while the cluster is down.
            configuration = configuration.participant_number("transaction_timeout_ms", timeout_ms);
        }
        let config = directory.join(format!("{name}.toml"));
        configuration.save(&config)?;
        let own = worker.own.iter();
        let own = own.map(|(cluster, is_java)| json!({"cluster": cluster, "is_java": is_java}));
        let clusters = shape.clusters.iter().map(|cluster| {
            let bootstrap = self.sites[&cluster.name].cluster.bootstrap();
            json!({"name": cluster.name, "bootstrap": bootstrap, "timeout_ms": cluster.timeout_ms})
        });
        let setup = json!({
            "name": name,
            "config": config,
            "journal": directory.join(format!("{name}.journal")),
            "seed": seed,
            "lanes": worker.lanes,
            "pause_ms": worker.pause_ms,
            "key_bytes": worker.key_bytes,
            "derives": true,
            "own": own.collect::<Vec<_>>(),
            "clusters": clusters.collect::<Vec<_>>(),
            "source": source(shape),
            "target": target(shape),
            "topic": TOPIC,
            "copies": COPIES,
            "partitions": shape.partitions,
            "group": GROUP,
        });
        let path = directory.join(format!("{name}.json"));
        let doing = format!("write {}", path.display());
        std::fs::write(&path, setup.to_string()).context(doing)?;
        Ok(path)
    }
}

fn source(shape: &Shape) -> &str {
    &shape.clusters[0].name
}

fn target(shape: &Shape) -> &str {
    &shape.clusters[1].name
}

fn connection(site: &Site) -> Connection {
    Connection::new(site.cluster.name(), site.cluster.client_properties())
}

fn sites(shape: &Shape) -> Result<BTreeMap<String, Site>> {
    let mut proxies = Vec::new();
    let mut options = Vec::new();
    for cluster in &shape.clusters {
        let proxy = Proxy::start()?;
        let generation = match cluster.is_old {
            true => Generation::TransactionVersion1,
            false => Generation::Current,
        };
        let ceiling = cluster.timeout_ms.to_string();
        let mut option = ClusterOptions::new(&cluster.name)
            .advertised_port(proxy.port())
            .generation(generation)
            .property("transaction.max.timeout.ms", ceiling);
        if !cluster.is_old {
            // A broker that is stopped for a while must not lose its leaderships, see `Cluster::is_old`.
            option = option.property("broker.session.timeout.ms", "120000");
        }
        options.push(option);
        proxies.push(proxy);
    }
    let clusters = Cluster::start_all(options)?;
    let sites = clusters.into_iter().zip(proxies).map(|(cluster, proxy)| {
        proxy.forward_to(cluster.listen_port());
        let is_taken = AtomicBool::new(false);
        let name = cluster.name().to_owned();
        let site = Site {
            cluster,
            proxy,
            is_taken,
        };
        (name, site)
    });
    Ok(sites.collect())
}

/// Writes what the auditor has to know.
fn describe(directory: &Path, shape: &Shape) -> Result<()> {
    let site = |cluster: &shape::Cluster| Described {
        name: cluster.name.clone(),
        timeout_ms: cluster.timeout_ms,
    };
    let description = Description {
        clusters: shape.clusters.iter().map(site).collect(),
        topic: TOPIC.into(),
        copies: COPIES.into(),
        source: source(shape).into(),
        target: target(shape).into(),
        group: GROUP.into(),
    };
    let path = directory.join(DESCRIPTION);
    let doing = format!("write {}", path.display());
    let text = serde_json::to_string_pretty(&description).context(&doing)?;
    std::fs::write(&path, text).context(doing)
}

/// Mounts a small disk for the log of the last worker of the seed, where that is allowed.
pub(super) fn small_disk(directory: &Path, seed: u64) -> Result<Option<SmallDisk>> {
    let shape = Shape::new(seed, true);
    let Some(worker) = shape.targets().disk else {
        return Ok(None);
    };
    SmallDisk::mount(&log_directory(directory, &worker))
}
