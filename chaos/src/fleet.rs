//! The clusters of a run, and the program that runs between them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gtc_clusters::{Acl, Cluster, ClusterOptions, Security};

use crate::config::Configuration;
use crate::error::{Context, Error, Result};
use crate::kafka::Connection;
use crate::program::Program;

/// How long a short command of the program may take.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// Where a run finds the program and keeps its files.
#[derive(Clone, Debug)]
pub struct Place {
    /// The binary `gtc`.
    pub gtc: PathBuf,
    /// A directory for configurations, logs and journals.
    pub directory: PathBuf,
}

impl Place {
    /// Makes the directory anew.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn prepare(&self) -> Result<()> {
        let doing = format!("make {} anew", self.directory.display());
        if self.directory.exists() {
            std::fs::remove_dir_all(&self.directory).context(&doing)?;
        }
        std::fs::create_dir_all(&self.directory).context(doing)
    }

    /// A file of the run.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Running clusters.
#[derive(Debug)]
pub struct Fleet {
    clusters: Vec<Cluster>,
}

impl Fleet {
    /// Starts a cluster for each name.
    ///
    /// # Errors
    /// One of them does not come up.
    pub fn start(names: &[&str], security: Security) -> Result<Self> {
        let options = names
            .iter()
            .map(|name| ClusterOptions::new(*name).security(security));
        Ok(Self {
            clusters: Cluster::start_all(options)?,
        })
    }

    /// How the loaders and the checker reach them.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        let connect =
            |cluster: &Cluster| Connection::new(cluster.name(), cluster.admin_properties());
        self.clusters.iter().map(connect).collect()
    }

    /// One cluster.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn cluster(&self, name: &str) -> Result<&Cluster> {
        let found = self.clusters.iter().find(|cluster| cluster.name() == name);
        found.ok_or_else(|| Error::new(format!("there is no cluster {name}")))
    }

    /// Gives the ordinary principal these rights on every cluster.
    ///
    /// # Errors
    /// A cluster refuses.
    pub fn allow(&self, acls: &[Acl]) -> Result<()> {
        self.clusters
            .iter()
            .try_for_each(|cluster| Ok(cluster.add_acls(acls)?))
    }

    /// Writes the configuration of a coordinator over all these clusters, and prepares a command of the program.
    ///
    /// # Errors
    /// The configuration cannot be written.
    pub fn coordinator(&self, place: &Place, id: &str) -> Result<Coordinator> {
        self.coordinator_over(
            place,
            id,
            &self.clusters.iter().map(Cluster::name).collect::<Vec<_>>(),
        )
    }

    /// As [`Self::coordinator`], over the named clusters only.
    ///
    /// # Errors
    /// The configuration cannot be written, or there is no such cluster.
    pub fn coordinator_over(&self, place: &Place, id: &str, names: &[&str]) -> Result<Coordinator> {
        let mut configuration = Configuration::new(id);
        for name in names {
            let properties = self.cluster(name)?.client_properties();
            configuration = configuration.participant(name, &properties);
        }
        let config = place.file(&format!("{id}.toml"));
        configuration.save(&config)?;
        Ok(Coordinator {
            gtc: place.gtc.clone(),
            config,
            log: place.file(&format!("{id}.log")),
            environment: configuration.environment,
        })
    }
}

/// One coordinator's way to call the program.
#[derive(Clone, Debug)]
pub struct Coordinator {
    gtc: PathBuf,
    config: PathBuf,
    log: PathBuf,
    environment: Vec<(String, String)>,
}

impl Coordinator {
    /// The program with these arguments, telling each phase.
    #[must_use]
    pub fn program(&self, arguments: &[String]) -> Program {
        self.call(arguments, &self.log)
    }

    /// What `gtc list` says; nothing is to be left at the end of a run.
    ///
    /// # Errors
    /// The command fails, as it does where a transaction is in doubt, or it lists something.
    pub fn expect_nothing_listed(&self) -> Result<()> {
        let arguments = ["list".to_owned(), "--json".to_owned()];
        let output = self
            .call(&arguments, &self.log.with_extension("list"))
            .output(COMMAND_PATIENCE)?;
        let listed: serde_json::Value = serde_json::from_str(output.trim())
            .context(format!("read what gtc list wrote: {output}"))?;
        let is_empty = match &listed {
            serde_json::Value::Array(rows) => rows.is_empty(),
            other => other["transactions"].as_array().is_some_and(Vec::is_empty),
        };
        if is_empty {
            return Ok(());
        }
        Err(Error::new(format!(
            "gtc list still shows transactions: {output}"
        )))
    }

    fn call(&self, arguments: &[String], log: &Path) -> Program {
        let config = ["--config".into(), self.config.display().to_string()];
        let format = ["--log-format".into(), "json".into()];
        let mut environment = self.environment.clone();
        environment.push(("GTC_LOG".into(), "info,gtc=debug".into()));
        Program {
            binary: self.gtc.clone(),
            arguments: config
                .into_iter()
                .chain(format)
                .chain(arguments.iter().cloned())
                .collect(),
            environment,
            log: log.to_owned(),
        }
    }
}
