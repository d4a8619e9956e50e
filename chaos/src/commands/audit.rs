//! `gtc-chaos audit`.

use std::path::PathBuf;

use clap::Args;
use gtc_chaos::audit;
use gtc_chaos::error::{Context, Result};

use super::ClusterArgs;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The directory of the run: its description, journals and notes.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    #[command(flatten)]
    clusters: ClusterArgs,

    /// Print the verdict as JSON.
    #[arg(long)]
    json: bool,
}

impl AuditArgs {
    pub(super) fn run(self) -> Result<bool> {
        let evidence = audit::evidence(&self.directory, &self.clusters.connections()?)?;
        let verdict = audit::judge(&evidence);
        if self.json {
            let text = serde_json::to_string_pretty(&verdict).context("write the verdict")?;
            println!("{text}");
        } else {
            println!("{}", verdict.to_text());
        }
        Ok(verdict.is_clean())
    }
}
