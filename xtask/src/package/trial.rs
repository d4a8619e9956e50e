//! An empty project for each language, and two clusters on which its `basic` has to do what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{about, home, make_directory};
use crate::command::{Failure, Step};
use crate::languages::Clusters;
use crate::records::{make_topic, read};

/// What `basic` writes to both clusters.
const RECORD: &str = "an order";

/// The clusters.
pub(super) struct Trial {
    clusters: Clusters,
}

impl Trial {
    pub(super) fn start() -> Result<Self, Failure> {
        Ok(Self {
            clusters: Clusters::start()?,
        })
    }

    /// A new directory with nothing in it.
    pub(super) fn project(&self, name: &str) -> Result<PathBuf, Failure> {
        let project = home().join("projects").join(name);
        if project.exists() {
            fs::remove_dir_all(&project).map_err(|cause| about(&project, &cause))?;
        }
        make_directory(&project)?;
        project
            .canonicalize()
            .map_err(|cause| about(&project, &cause))
    }

    /// Runs `basic` as its users would, and reads what it has written with Kafka's own consumer.
    /// The name is that of its topic too, so that what is found there is not another's.
    pub(super) fn basic(
        &self,
        (project, topic): (&Path, &str),
        mut basic: Command,
    ) -> Result<(), Failure> {
        for (_, address) in self.clusters.addresses() {
            make_topic(&address, topic)?;
        }
        // A directory of its own, as the log is beside it.
        let directory = project.join(topic.to_owned() + "-log");
        make_directory(&directory)?;
        let config = directory.join("gtc.toml");
        let written = self.clusters.configure(topic, &config);
        written.map_err(|cause| about(&config, &cause))?;
        let names = self.clusters.addresses().map(|(name, _)| name);
        basic.arg(&config).args(names).arg(topic);
        basic.current_dir(project);
        Step::new("basic", basic).run()?;
        for (name, address) in self.clusters.addresses() {
            // `basic` has written one: it stops there, or finds that there is none.
            let end = ["--max-messages", "1", "--timeout-ms", "30000"];
            let found = read(&address, topic, &end)?;
            if found != [RECORD] {
                let cause = format!("{name} shows {found:?} in {topic}, not [{RECORD:?}]");
                return Err(Failure::new(cause));
            }
        }
        Ok(())
    }
}
