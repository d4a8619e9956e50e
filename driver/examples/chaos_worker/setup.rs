//! What the run hands to a worker.

use std::path::PathBuf;

use serde::Deserialize;

use crate::Failure;

/// One worker.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Setup {
    /// Its name, which its transactions carry.
    pub(crate) name: String,
    /// The configuration of its coordinator.
    pub(crate) config: PathBuf,
    /// Its journal.
    pub(crate) journal: PathBuf,
    /// The seed of its choices.
    pub(crate) seed: u64,
    /// Lanes of managed transactions.
    pub(crate) lanes: u32,
    /// The longest pause between two transactions of a lane.
    pub(crate) pause_ms: u64,
    /// The size of a transaction's key; the name is filled up to it.
    pub(crate) key_bytes: usize,
    /// Whether a lane consumes from `source` and produces to `target`.
    pub(crate) derives: bool,
    /// Lanes with an own producer.
    pub(crate) own: Vec<Own>,
    /// All clusters.
    pub(crate) clusters: Vec<Site>,
    /// The cluster that is read, and the one that gets what was made of it.
    pub(crate) source: String,
    pub(crate) target: String,
    /// The topic of plain records, which is also the one that is read, and the one of derived records.
    pub(crate) topic: String,
    pub(crate) copies: String,
    pub(crate) partitions: u64,
    /// The group that all workers read in.
    pub(crate) group: String,
}

/// A cluster.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) bootstrap: String,
    /// Its ceiling for the time-out of transactions.
    pub(crate) timeout_ms: u64,
}

/// An own producer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Own {
    pub(crate) cluster: String,
    /// Whether it is a Java client on a cluster with `transaction.version` 2, rather than librdkafka.
    pub(crate) is_java: bool,
}

impl Setup {
    /// Reads the file.
    pub(crate) fn read(file: &str) -> Result<Self, Failure> {
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    }

    /// The key of a transaction: its name, filled up.
    pub(crate) fn key(&self, tx: &str) -> Vec<u8> {
        let mut key = tx.as_bytes().to_vec();
        key.resize(self.key_bytes.max(key.len()), b'.');
        key
    }

    /// The cluster of this name.
    pub(crate) fn site(&self, name: &str) -> Option<&Site> {
        self.clusters.iter().find(|site| site.name == name)
    }
}
