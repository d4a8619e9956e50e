//! The WebAssembly package: a tarball. It hosts itself: its example has files for participants, and
//! needs no cluster.

use std::path::PathBuf;
use std::process::Command;

use super::node::{install, pack};
use super::trial::Trial;
use super::{Packed, VERSION, home};
use crate::command::{Failure, Step, root};
use crate::languages::build_wasm;

/// The features are those of librdkafka, which is not in it.
pub(super) fn build(_features: &str) -> Result<Packed, Failure> {
    build_wasm()?;
    Step::new("tarball", pack(&root().join("wasm"))).run()?;
    Ok(Packed {
        native: home().join(format!("gtc-wasm-{VERSION}.tgz")),
        others: Vec::new(),
    })
}

pub(super) fn try_out(trial: &Trial, packed: &Packed) -> Result<Vec<PathBuf>, Failure> {
    let project = trial.project("wasm")?;
    install(&project, &packed.native)?;
    let mut example = Command::new("node");
    example
        .args(["node_modules/gtc-wasm/example/transfer.js", "stores", "100"])
        .current_dir(&project)
        .env_remove("NODE_PATH");
    Step::new("example", example).run()?;
    Ok(vec![project.join("node_modules/gtc-wasm/gtc_core.wasm")])
}
