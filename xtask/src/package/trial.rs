//! An empty project for each language, and two clusters on which its `basic` has to do what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gtc_clusters::kafka_tool;

use super::{about, home, make_directory};
use crate::command::{Failure, Step};
use crate::languages::Clusters;

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
            let found = read(&address, topic)?;
            if found != [RECORD] {
                let cause = format!("{name} shows {found:?} in {topic}, not [{RECORD:?}]");
                return Err(Failure::new(cause));
            }
        }
        Ok(())
    }
}

fn make_topic(address: &str, topic: &str) -> Result<(), Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.TopicCommand")?;
    tool.args(["--create", "--topic", topic, "--partitions", "1"]);
    said(tool).map(drop)
}

/// What a reader of committed records sees up to the end.
fn read(address: &str, topic: &str) -> Result<Vec<String>, Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.consumer.ConsoleConsumer")?;
    tool.args(["--topic", topic, "--from-beginning"]);
    tool.args(["--isolation-level", "read_committed"]);
    // `basic` has written one: it stops there, or finds that there is none.
    tool.args(["--max-messages", "1", "--timeout-ms", "30000"]);
    Ok(said(tool)?.lines().map(str::to_owned).collect())
}

fn tool(address: &str, class: &str) -> Result<Command, Failure> {
    let mut tool = kafka_tool(class)?;
    tool.args(["--bootstrap-server", address]);
    Ok(tool)
}

fn said(mut tool: Command) -> Result<String, Failure> {
    let output = tool
        .output()
        .map_err(|cause| Failure::new(format!("Kafka's tools: {cause}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::new(String::from_utf8_lossy(&output.stderr))),
    }
}
