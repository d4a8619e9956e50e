//! The command line.

mod audit;
mod check;
mod faults;
mod load;
mod runs;

use std::collections::BTreeMap;

use clap::{Args, Parser, Subcommand};
use gtc_chaos::error::{Error, Result};
use gtc_chaos::kafka::Connection;
use gtc_chaos::mesh::Shape;
use gtc_clusters::Security;

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
    /// Run workers with coordinators of their own on clusters under every kind of fault, and audit.
    Faults(faults::FaultsArgs),
    /// Compare what the workers of a run were told with what its clusters show.
    Audit(audit::AuditArgs),
    /// Fan flights out to two clusters while gtc and a broker are killed, and check.
    Demo(runs::DemoArgs),
    /// Two clusters, written to on both sides and copied both ways, with kills.
    Pair(runs::MeshArgs),
    /// The same over TLS with SASL, and no more rights than docs/acls.md lists.
    SecurePair(runs::MeshArgs),
    /// Three clusters, each copied to the next.
    Ring(runs::MeshArgs),
}

impl Cli {
    /// Whether all is as it should be.
    pub(crate) fn run(self) -> Result<bool> {
        match self.command {
            Command::Load(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Faults(args) => args.run(),
            Command::Audit(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Pair(args) => args.run(Shape::Pair, Security::Plain),
            Command::SecurePair(args) => args.run(Shape::Pair, Security::Secure),
            Command::Ring(args) => args.run(Shape::Ring, Security::Plain),
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
