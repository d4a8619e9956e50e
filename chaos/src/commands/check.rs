//! `gtc-chaos check`.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use gtc_chaos::check::{Evidence, Link, group_offsets, journal_of, judge, read_cluster};
use gtc_chaos::error::{Context, Error, Result};
use gtc_chaos::journal::Journal;
use gtc_chaos::kafka::Connection;

use super::{ClusterArgs, split};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    clusters: ClusterArgs,

    /// The topic.
    #[arg(long, default_value = "flights")]
    topic: String,

    /// A cluster and the journal of what was written to it; repeat it [default: what the first cluster holds]
    #[arg(long = "journal", value_name = "NAME=FILE")]
    journals: Vec<String>,

    /// A replication to check the group's offsets of; repeat it.
    #[arg(long = "link", value_name = "FROM:TO:GROUP")]
    links: Vec<String>,

    /// How long to wait for a last stable offset that is held back.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    settle_s: u64,

    /// Write JSON instead of tables.
    #[arg(long)]
    json: bool,
}

impl CheckArgs {
    pub(super) fn run(&self) -> Result<bool> {
        let connections = self.clusters.connections()?;
        let settle = Duration::from_secs(self.settle_s);
        let mut evidence = Evidence::default();
        for connection in &connections {
            evidence
                .views
                .push(read_cluster(connection, &self.topic, settle)?);
        }
        for journal in &self.journals {
            let (origin, path) = split(journal, '=', "--journal")?;
            evidence
                .journals
                .push(Journal::open(origin, Path::new(path))?);
        }
        if evidence.journals.is_empty() {
            evidence
                .journals
                .extend(evidence.views.first().map(journal_of));
        }
        for link in &self.links {
            evidence.links.push(self.link(link, &connections)?);
        }
        let report = judge(&evidence);
        if self.json {
            println!(
                "{}",
                serde_json::to_string(&report).context("write the report")?
            );
        } else {
            print!("{}", report.to_text());
        }
        Ok(report.is_clean())
    }

    fn link(&self, text: &str, connections: &[Connection]) -> Result<Link> {
        let (from, rest) = split(text, ':', "--link")?;
        let (to, group) = split(rest, ':', "--link")?;
        let source = connections
            .iter()
            .find(|connection| connection.name == from)
            .ok_or_else(|| Error::new(format!("--link {text}: there is no --cluster {from}")))?;
        let offsets = group_offsets(source, &self.topic, group)?;
        Ok(Link {
            from: from.into(),
            to: to.into(),
            group: group.into(),
            offsets,
        })
    }
}
