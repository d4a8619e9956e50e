//! A coordinator's configuration as a file, so that a child process opens the same one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gtc::{Config, Coordinator, Error};
use gtc_clusters::Cluster;

use crate::support::{Directory, Result};
use crate::world::World;

/// Where nobody listens.
const NOWHERE: &str = "127.0.0.1:1";

/// A coordinator's id, directory, limits and participants. Clones share the directory, which goes with the last
/// of them: one outlives the coordinator.
#[derive(Clone)]
pub struct Setup {
    id: &'static str,
    directory: Arc<Directory>,
    limits: Vec<String>,
    settings: Vec<String>,
    participants: BTreeMap<&'static str, BTreeMap<String, String>>,
}

impl Setup {
    /// A coordinator of `eu` and `us`. Its id is the `client.id` of its clients, too.
    pub fn new(id: &'static str, world: &World) -> Self {
        Self {
            id,
            directory: Arc::new(Directory::new(id)),
            limits: Vec::new(),
            settings: Vec::new(),
            participants: BTreeMap::new(),
        }
        .participant("eu", &world.eu)
        .participant("us", &world.us)
    }

    pub fn participant(mut self, name: &'static str, cluster: &Cluster) -> Self {
        self.participants.insert(name, cluster.client_properties());
        self
    }

    /// Sets a property of one participant.
    pub fn property(mut self, participant: &'static str, name: &str, value: &str) -> Self {
        let properties = self.participants.entry(participant).or_default();
        properties.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The participant's cluster does not answer from now on.
    pub fn unreachable(self, participant: &'static str) -> Self {
        self.property(participant, "bootstrap.servers", NOWHERE)
            .limit("connect_timeout_ms = 1500")
    }

    /// The configuration forgets a participant.
    pub fn without(mut self, participant: &str) -> Self {
        self.participants.remove(participant);
        self
    }

    /// A line of every participant's section, in place of an earlier one.
    pub fn setting(mut self, line: &str) -> Self {
        set(&mut self.settings, line);
        self
    }

    /// A line of the limits, in place of an earlier one.
    pub fn limit(mut self, line: &str) -> Self {
        set(&mut self.limits, line);
        self
    }

    pub fn directory(&self) -> &Path {
        &self.directory.0
    }

    pub fn log(&self) -> PathBuf {
        self.directory.0.join("log")
    }

    /// Writes the file, and says where.
    pub fn file(&self) -> Result<PathBuf> {
        let mut text = format!("[coordinator]\nid = {:?}\nlog = \"log\"\n", self.id);
        writeln!(text, "[coordinator.limits]\n{}", self.limits.join("\n"))?;
        for (name, properties) in &self.participants {
            writeln!(text, "[participants.{name}]\nkind = \"kafka\"")?;
            writeln!(
                text,
                "client.id = {:?}\n{}",
                self.id,
                self.settings.join("\n")
            )?;
            for (property, value) in properties {
                writeln!(text, "{property:?} = {value:?}")?;
            }
        }
        let file = self.directory.0.join("gtc.toml");
        std::fs::write(&file, text)?;
        Ok(file)
    }

    pub fn config(&self) -> Result<Config> {
        Ok(Config::from_file(self.file()?)?)
    }

    pub async fn open(&self) -> Result<Coordinator> {
        Ok(Coordinator::open(self.config()?).await?)
    }

    /// The error of opening, which has to fail.
    pub async fn refused(&self) -> Result<Error> {
        match Coordinator::open(self.config()?).await {
            Ok(_) => Err(format!("{} was opened", self.id).into()),
            Err(error) => Ok(error),
        }
    }

    /// Opens, waits until everything that was left is ended, and returns it open.
    pub async fn recover(&self) -> Result<Coordinator> {
        let coordinator = self.open().await?;
        coordinator.recovered().await?;
        Ok(coordinator)
    }
}

fn set(lines: &mut Vec<String>, line: &str) {
    let name = line.split(' ').next();
    lines.retain(|other| other.split(' ').next() != name);
    lines.push(line.to_owned());
}
