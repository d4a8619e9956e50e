//! A cluster of one node, or a node of a larger one, with the life of a value.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::acl::Acl;
use crate::config;
use crate::error::{Context, Error, Result};
use crate::files::{make_dir, target_dir};
use crate::node::{Node, properties, trained};
use crate::nodes::seats;
use crate::options::{ClusterOptions, Security};
use crate::process::Process;

/// How long a broker may take to end after SIGTERM.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// A way in which the ordinary principal `gtc` proves who it is, on a secure cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mechanism {
    /// SASL with SCRAM-SHA-512 over TLS.
    ScramSha512,
    /// SASL with SCRAM-SHA-256 over TLS.
    ScramSha256,
    /// SASL with PLAIN over TLS.
    Plain,
    /// TLS with a client certificate.
    MutualTls,
}

/// A running cluster of one node, or one node of several; dropping it kills the broker and removes
/// the data, but keeps the log.
///
/// All methods take `&self`, so that a test may act on a cluster from any thread.
#[derive(Debug)]
pub struct Cluster {
    node: Node,
    process: Mutex<Option<Process>>,
}

impl Cluster {
    /// Starts a cluster and returns once it answers and leads all its partitions.
    pub fn start(options: ClusterOptions) -> Result<Self> {
        let dir = new_directory(&options.name)?;
        Self::run(Node::prepare(options, &dir)?)
    }

    fn run(node: Node) -> Result<Self> {
        let cluster = Self {
            node,
            process: Mutex::new(None),
        };
        cluster.spawn()?;
        Ok(cluster)
    }

    /// Starts several clusters at the same time, in the order given.
    pub fn start_all(options: impl IntoIterator<Item = ClusterOptions>) -> Result<Vec<Self>> {
        at_once(options, Self::start)
    }

    /// Starts one cluster of several nodes, each of them broker and controller, with three replicas of
    /// everything where there are as many nodes; returns the nodes, which live and die on their own. A
    /// client finds all of them by any one that runs.
    pub fn start_nodes(options: &ClusterOptions, count: u32) -> Result<Vec<Self>> {
        let jars = trained(options)?;
        at_once(seats(options, count)?, |(seat, options)| {
            let dir = new_directory(&options.name)?;
            let node = Node::take_seat(seat, jars.clone(), options, &dir)?;
            Self::run(node)
        })
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.node.options.name
    }

    /// Its cluster.id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.node.cluster_id
    }

    /// Where clients connect: the broker, or the proxy before it.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        self.node.bootstrap()
    }

    /// The port on which the broker itself listens, for a proxy to connect to.
    #[must_use]
    pub fn listen_port(&self) -> u16 {
        self.node.ports.client.number()
    }

    /// The broker's log file.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.node.program.log
    }

    /// The properties, named as librdkafka names them, by which the ordinary principal `gtc`
    /// connects.
    #[must_use]
    pub fn client_properties(&self) -> BTreeMap<String, String> {
        match self.node.options.security {
            Security::Plain => properties([("bootstrap.servers", self.bootstrap())]),
            Security::Secure => self.properties_for(Mechanism::ScramSha512),
        }
    }

    /// As [`Self::client_properties`], by a chosen mechanism of a secure cluster.
    ///
    /// # Panics
    /// On a plain cluster, which has no mechanisms.
    #[must_use]
    pub fn properties_for(&self, mechanism: Mechanism) -> BTreeMap<String, String> {
        let name = match mechanism {
            Mechanism::MutualTls => return self.node.mutual_tls_properties(),
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::Plain => "PLAIN",
        };
        self.node
            .sasl_properties(name, (config::USER, config::USER_PASSWORD))
    }

    /// The properties by which the super user connects.
    #[must_use]
    pub fn admin_properties(&self) -> BTreeMap<String, String> {
        match self.node.options.security {
            Security::Plain => self.client_properties(),
            Security::Secure => self
                .node
                .sasl_properties("SCRAM-SHA-512", (config::ADMIN, config::ADMIN_PASSWORD)),
        }
    }

    /// Gives rights to the ordinary principal of a secure cluster; they hold when this returns.
    pub fn add_acls(&self, acls: &[Acl]) -> Result<()> {
        let operation = format!("cluster {}: adding ACLs", self.name());
        let remedy = "start the cluster with Security::Secure, and add while it runs";
        self.node
            .wire()
            .and_then(|mut wire| wire.create_acls(acls))
            .context(operation, remedy)
    }

    /// The process id of the broker, while there is one.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::id)
    }

    /// Whether the broker's process lives.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process()
            .as_ref()
            .is_some_and(|process| !process.has_ended())
    }

    /// Whether the broker answers now and leads all its partitions.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.node
            .wire()
            .and_then(|mut wire| wire.is_ready())
            .unwrap_or(false)
    }

    /// Ends the broker in order, and waits for that.
    pub fn stop(&self) -> Result<()> {
        let Some(process) = self.process().take() else {
            return Ok(());
        };
        // A stopped process takes SIGTERM only once it goes on.
        let asked = process
            .signal(Signal::TERM)
            .and_then(|()| process.signal(Signal::CONT));
        let ended = asked.is_ok() && process.await_end(STOP_PATIENCE);
        process.end();
        if ended {
            return Ok(());
        }
        let cause = format!("it had to be killed\n{}", self.node.program.log_tail());
        Err(Error::new(
            format!("cluster {}: stopping", self.name()),
            cause,
            "see its log",
        ))
    }

    /// Ends the broker by SIGKILL, and waits for that.
    pub fn kill(&self) {
        if let Some(process) = self.process().take() {
            process.end();
        }
    }

    /// Ends the broker by SIGKILL if it runs, starts it on the same data and ports, and returns
    /// once it is healthy.
    pub fn restart(&self) -> Result<()> {
        self.kill();
        self.spawn()
    }

    /// Stops the broker in its tracks by SIGSTOP: connections stay open, nothing is answered.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused broker go on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn spawn(&self) -> Result<()> {
        let mut slot = self.process();
        let process = self.node.program.start_watched()?;
        match self.node.await_health(|| !process.has_ended()) {
            Ok(()) => {
                *slot = Some(process);
                Ok(())
            }
            Err(error) => {
                process.end();
                Err(error)
            }
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match &*self.process() {
            Some(process) => process.signal(signal),
            None => Err(Error::new(
                format_args!("cluster {}: sending {signal:?}", self.name()),
                "no broker runs",
                "call restart first",
            )),
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        // A test that panicked while it held this leaves nothing half done.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        fs::remove_dir_all(&self.node.program.data).ok();
    }
}

/// Starts all of them at the same time.
fn at_once<T: Send>(
    what: impl IntoIterator<Item = T>,
    start: impl Fn(T) -> Result<Cluster> + Sync,
) -> Result<Vec<Cluster>> {
    std::thread::scope(|scope| {
        let start = &start;
        let starts: Vec<_> = what
            .into_iter()
            .map(|what| scope.spawn(move || start(what)))
            .collect();
        starts
            .into_iter()
            .map(|start| {
                start
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// A directory that no other cluster of this or another process has.
fn new_directory(name: &str) -> Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let dir = target_dir().join(format!("clusters/run/{process}-{number}-{name}"));
    // A process of the same id left it before the last boot.
    fs::remove_dir_all(&dir).ok();
    make_dir(&dir)?;
    Ok(dir)
}
