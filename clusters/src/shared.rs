//! Clusters that all tests of one program share, as a broker costs seconds and 300 MB.
//!
//! They end with the program. A test that kills, pauses or reconfigures a broker starts its own
//! with [`crate::Cluster::start`]; topics, groups and transactional ids of a test carry its name
//! here.

use std::sync::{Mutex, PoisonError};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::options::{ClusterOptions, Generation, Security};

static PLAIN: Pool = Pool::new("shared");
static SECURE: Pool = Pool::new("shared-secure");
static TRANSACTION_VERSION_1: Pool = Pool::new("shared-tv1");

/// The first `count` plain clusters of the current generation.
pub fn plain(count: usize) -> Result<Vec<&'static Cluster>> {
    PLAIN.first(count, |options| options)
}

/// The first `count` secure clusters; the ordinary principal has the rights that tests have given
/// it so far.
pub fn secure(count: usize) -> Result<Vec<&'static Cluster>> {
    SECURE.first(count, |options| options.security(Security::Secure))
}

/// The first `count` plain clusters with `transaction.version` 1.
pub fn transaction_version_1(count: usize) -> Result<Vec<&'static Cluster>> {
    TRANSACTION_VERSION_1.first(count, |o| o.generation(Generation::TransactionVersion1))
}

struct Pool {
    name: &'static str,
    clusters: Mutex<Vec<&'static Cluster>>,
}

impl Pool {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            clusters: Mutex::new(Vec::new()),
        }
    }

    /// Starts those that are missing, at the same time.
    fn first(
        &self,
        count: usize,
        variant: impl Fn(ClusterOptions) -> ClusterOptions,
    ) -> Result<Vec<&'static Cluster>> {
        // A start that failed leaves the list as it was, so a poisoned lock guards nothing broken.
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = (clusters.len()..count)
            .map(|n| variant(ClusterOptions::new(format!("{}-{n}", self.name))));
        for cluster in Cluster::start_all(missing)? {
            // The pool is a static, which is never dropped: the broker's watcher ends it with the
            // program.
            clusters.push(Box::leak(Box::new(cluster)));
        }
        Ok(clusters[..count].to_vec())
    }
}
