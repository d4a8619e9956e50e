//! The command line.

mod check;
mod load;

use std::collections::BTreeMap;

use clap::{Args, Parser, Subcommand};
use gtc_chaos::error::{Error, Result};
use gtc_chaos::kafka::Connection;

/// Runs gtc on real clusters under faults, and judges what the clusters hold then.
#[derive(Debug, Parser)]
#[command(name = "gtc-chaos", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  done, and nothing found
  1  an error: the run means nothing
  2  the command line is wrong
  3  an anomaly was found, or the kills did not fall where they were to fall";

#[derive(Debug, Subcommand)]
enum Command {
    /// Write flight records to a cluster and keep a journal of what was acknowledged.
    Load(load::LoadArgs),
    /// Read clusters as read_committed consumers do, and compare them with the journals.
    Check(check::CheckArgs),
}

impl Cli {
    /// Whether all is as it should be.
    pub(crate) fn run(self) -> Result<bool> {
        match self.command {
            Command::Load(args) => args.run(),
            Command::Check(args) => args.run(),
        }
    }
}

/// How to reach the clusters.
#[derive(Debug, Args)]
struct ClusterArgs {
    /// A cluster's name and where to reach it; repeat it.
    #[arg(long = "cluster", value_name = "NAME=HOST:PORT", required = true)]
    clusters: Vec<String>,

    /// Any other librdkafka property of a cluster; repeat it.
    #[arg(long = "property", value_name = "NAME.PROPERTY=VALUE")]
    properties: Vec<String>,
}

impl ClusterArgs {
    fn connections(&self) -> Result<Vec<Connection>> {
        self.clusters
            .iter()
            .map(|cluster| {
                let (name, address) = split(cluster, '=', "--cluster")?;
                Ok(Connection::new(name, self.properties_of(name, address)?))
            })
            .collect()
    }

    fn properties_of(&self, cluster: &str, address: &str) -> Result<BTreeMap<String, String>> {
        let mut properties = BTreeMap::from([("bootstrap.servers".into(), address.into())]);
        for property in &self.properties {
            let (path, value) = split(property, '=', "--property")?;
            let (name, property) = split(path, '.', "--property")?;
            if name == cluster {
                properties.insert(property.into(), value.into());
            }
        }
        Ok(properties)
    }
}

fn split<'a>(text: &'a str, at: char, option: &str) -> Result<(&'a str, &'a str)> {
    text.split_once(at).ok_or_else(|| {
        Error::new(format!(
            "{option} {text}: there is no `{at}` in it; see --help"
        ))
    })
}
