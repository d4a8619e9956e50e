//! What a run consists of: all of it follows from the seed.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::schedule::Targets;
use crate::plan::Seeded;

/// A time-out that no fault of a run outlasts.
const LONG_MS: u64 = 3_600_000;
/// One that some do.
const SHORT_MS: u64 = 15_000;
/// Less than most faults last, so that callers are told in doubt.
const SHORT_PATIENCE_MS: u64 = 3_000;
/// Large keys fill a segment of a log within a minute.
const LARGE_KEY_BYTES: usize = 48 << 10;

/// The numbers of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The workers.
    pub workers: Vec<Worker>,
    /// Partitions of each topic.
    pub partitions: i32,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its ceiling for the time-out of transactions.
    pub timeout_ms: u64,
    /// Whether its broker is an old one (4.0.0, `transaction.version` 1). Only these are killed and restarted: while a
    /// broker of 4.4.0 comes up it drops commit markers of partitions that have no leader yet, and what had been
    /// committed there stays hidden for ever. No coordinator can mend that.
    pub is_old: bool,
}

/// A worker: one coordinator with some lanes of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worker {
    /// Its name, which is the coordinator's id.
    pub name: String,
    /// Lanes of managed transactions.
    pub lanes: u32,
    /// The longest pause of a lane.
    pub pause_ms: u64,
    /// The size of a transaction's key.
    pub key_bytes: usize,
    /// How long it waits for the last acknowledgement before it is told in doubt.
    pub patience_ms: u64,
    /// The cluster to which an own producer writes, and whether it is a Java client.
    pub own: Option<(String, bool)>,
}

impl Shape {
    /// The shape of a seed. `has_small_disk` says whether the last worker's log can have a small file system.
    #[must_use]
    pub fn new(seed: u64, has_small_disk: bool) -> Self {
        let mut seeded = Seeded::new(seed ^ 0x0005_4a9e);
        let clusters = clusters(&mut seeded);
        let count = 2 + seeded.below(3);
        let lanes = u32::try_from(12 / count).unwrap_or(3);
        let worker = |number: u64, seeded: &mut Seeded| Worker {
            name: format!("w{number}"),
            lanes,
            pause_ms: 10 + seeded.below(40),
            key_bytes: match has_small_disk && number == count {
                true => LARGE_KEY_BYTES,
                false => 0,
            },
            patience_ms: if number % 2 == 1 {
                SHORT_PATIENCE_MS
            } else {
                60_000
            },
            own: own(number, &clusters, seeded),
        };
        let workers = (1..=count)
            .map(|number| worker(number, &mut seeded))
            .collect();
        Self {
            workers,
            partitions: i32::try_from(1 + seeded.below(3)).unwrap_or(1),
            clusters,
        }
    }

    /// Whom faults can hit.
    #[must_use]
    pub fn targets(&self) -> Targets {
        let short = self
            .clusters
            .iter()
            .find(|cluster| cluster.timeout_ms < LONG_MS);
        let disk = self.workers.iter().find(|worker| worker.key_bytes > 0);
        Targets {
            workers: self
                .workers
                .iter()
                .map(|worker| worker.name.clone())
                .collect(),
            clusters: self
                .clusters
                .iter()
                .map(|cluster| cluster.name.clone())
                .collect(),
            short: short.map(|c| (c.name.clone(), Duration::from_millis(c.timeout_ms))),
            disk: disk.map(|worker| worker.name.clone()),
            mortal: self
                .clusters
                .iter()
                .filter(|c| c.is_old)
                .map(|c| c.name.clone())
                .collect(),
        }
    }

    /// The ceiling of a cluster.
    pub(super) fn timeout_ms(&self, cluster: &str) -> u64 {
        let found = self.clusters.iter().find(|found| found.name == cluster);
        found.map_or(LONG_MS, |found| found.timeout_ms)
    }

    /// What was chosen, in a line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let clusters = self.clusters.iter().map(|cluster| {
            let old = if cluster.is_old { ", Kafka 4.0.0" } else { "" };
            format!(
                "{} (time-out {} s{old})",
                cluster.name,
                cluster.timeout_ms / 1000
            )
        });
        let workers = self.workers.iter().map(|worker| {
            let own = worker
                .own
                .as_ref()
                .map_or(String::new(), |(cluster, is_java)| {
                    let kind = if *is_java { "Java" } else { "librdkafka" };
                    format!(", own {kind} producer on {cluster}")
                });
            let disk = if worker.key_bytes > 0 {
                ", small disk"
            } else {
                ""
            };
            format!("{} ({} lanes{own}{disk})", worker.name, worker.lanes)
        });
        let (clusters, workers): (Vec<_>, Vec<_>) = (clusters.collect(), workers.collect());
        let (clusters, workers) = (clusters.join(", "), workers.join(", "));
        let partitions = self.partitions;
        format!("clusters {clusters}; workers {workers}; {partitions} partitions a topic")
    }
}

/// Two or three; one of them often has a short time-out, and one or two have old brokers, which can be killed.
fn clusters(seeded: &mut Seeded) -> Vec<Cluster> {
    let count = 2 + seeded.below(2);
    let short = seeded.below(count + 1);
    let old = [seeded.below(count), seeded.below(count)];
    let is_old = |index| index == old[0] || count == 3 && index == old[1];
    let names = ["a", "b", "c"]
        .iter()
        .take(usize::try_from(count).unwrap_or(2));
    names
        .zip(0..)
        .map(|(name, index)| Cluster {
            name: (*name).into(),
            timeout_ms: if index == short { SHORT_MS } else { LONG_MS },
            is_old: is_old(index),
        })
        .collect()
}

/// The first worker has an own producer of librdkafka, the second one of Java where a cluster is fit for it.
fn own(number: u64, clusters: &[Cluster], seeded: &mut Seeded) -> Option<(String, bool)> {
    let is_java = number == 2;
    // The Java program asks for a long time-out, and speaks v2 on new brokers only.
    let fit = |c: &&Cluster| !is_java || !c.is_old && c.timeout_ms == LONG_MS;
    let fit: Vec<&Cluster> = clusters.iter().filter(fit).collect();
    let index = seeded.below(fit.len().max(1) as u64);
    let cluster = fit
        .get(usize::try_from(index).unwrap_or(0))
        .filter(|_| number <= 2)?;
    Some((cluster.name.clone(), is_java))
}

/// Where a worker's log is.
pub(super) fn log_directory(directory: &Path, worker: &str) -> std::path::PathBuf {
    directory.join(format!("log-{worker}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_one_shape_and_seeds_differ() {
        let shapes: Vec<Shape> = (0..40).map(|seed| Shape::new(seed, true)).collect();
        assert_eq!(shapes[5], Shape::new(5, true));
        let has = |found: fn(&Shape) -> bool| shapes.iter().any(found);
        assert!(has(|shape| shape.clusters.len() == 2) && has(|shape| shape.clusters.len() == 3));
        assert!(has(|shape| shape.workers.len() == 2) && has(|shape| shape.workers.len() == 4));
        assert!(has(|shape| shape.targets().short.is_none()));
        assert!(has(|shape| shape.targets().short.is_some()));
        for shape in &shapes {
            let mortal = shape.targets().mortal.len();
            assert!(
                (1..=2).contains(&mortal) && mortal < shape.clusters.len(),
                "{shape:?}"
            );
        }
        assert!(has(|shape| shape
            .workers
            .iter()
            .any(|w| w.own.as_ref().is_some_and(|o| o.1))));
    }
}
