//! `gtc-chaos load`.

use std::path::PathBuf;

use clap::Args;
use gtc_chaos::error::{Error, Result};
use gtc_chaos::flights;
use gtc_chaos::journal::Journal;
use gtc_chaos::load::Loader;

use super::ClusterArgs;

#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    #[command(flatten)]
    clusters: ClusterArgs,

    /// The topic, which is created.
    #[arg(long, default_value = "flights")]
    topic: String,

    /// Its partitions.
    #[arg(long, default_value_t = 4)]
    partitions: i32,

    /// A .csv or .csv.xz file of flights [default: the shipped part]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Where to keep the journal.
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
}

impl LoadArgs {
    pub(super) fn run(&self) -> Result<bool> {
        let connections = self.clusters.connections()?;
        let [connection] = connections.as_slice() else {
            return Err(Error::new("load writes to one --cluster"));
        };
        let records = flights::records(self.input.as_deref(), &connection.name, self.partitions)?;
        connection.create_topic(&self.topic, self.partitions)?;
        let mut journal = Journal::new(&connection.name);
        Loader::idempotent(connection, &self.topic)?.load(&records, &mut journal)?;
        journal.save(&self.journal)?;
        println!(
            "{} records written to {} of {}",
            journal.len(),
            self.topic,
            connection.name
        );
        Ok(true)
    }
}
