//! The Node package: a tarball, as `npm pack` makes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::trial::Trial;
use super::{PROFILE, Packed, VERSION, copy, home, with_features};
use crate::command::{Failure, Step, npm, root};

pub(super) fn build(features: &str) -> Result<Packed, Failure> {
    let source = root().join("node");
    let mut tools = npm(&source);
    tools.args(["ci", "--ignore-scripts", "--silent"]);
    Step::new("tools for Node", tools).run()?;
    let arguments = with_features(&format!("--profile {PROFILE}"), features);
    let mut tarball = pack(&source);
    tarball.env("GTC_BUILD", arguments);
    Step::new("tarball", tarball).run()?;
    Ok(Packed {
        native: home().join(format!("gtc-{VERSION}.tgz")),
        others: Vec::new(),
    })
}

pub(super) fn try_out(trial: &Trial, packed: &Packed) -> Result<Vec<PathBuf>, Failure> {
    let project = trial.project("node")?;
    install(&project, &packed.native)?;
    copy(
        &root().join("node/samples/basic.mjs"),
        &project.join("basic.mjs"),
    )?;
    let mut basic = Command::new("node");
    basic.arg("basic.mjs").env_remove("NODE_PATH");
    trial.basic((&project, "basic-node"), basic)?;
    let natives = project.join("node_modules/gtc/native");
    let found = std::fs::read_dir(&natives).and_then(|mut found| match found.next() {
        Some(entry) => Ok(entry?.path()),
        None => Err(std::io::ErrorKind::NotFound.into()),
    });
    Ok(vec![found.map_err(|cause| super::about(&natives, &cause))?])
}

/// Installs a tarball into a project, without a registry.
pub(super) fn install(project: &Path, tarball: &Path) -> Result<(), Failure> {
    let manifest = project.join("package.json");
    let written = std::fs::write(&manifest, "{ \"private\": true, \"type\": \"module\" }\n");
    written.map_err(|cause| super::about(&manifest, &cause))?;
    let mut install = npm(project);
    install.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--offline",
        "--silent",
    ]);
    let tarball = tarball.canonicalize();
    install.arg(tarball.map_err(|cause| super::about(project, &cause))?);
    Step::new("installation", install).run()
}

/// Packs what is in a directory.
pub(super) fn pack(source: &Path) -> Command {
    let mut pack = npm(source);
    pack.args(["pack", "--silent", "--pack-destination"]);
    pack.arg(home().canonicalize().unwrap_or_else(|_| home()));
    pack
}
