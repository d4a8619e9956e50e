//! The archive of classes by which each later broker starts in half the time.
//!
//! Java loads and checks some ten thousand classes at each start of a broker. One broker is started
//! once per set of jars to write down what it has loaded.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::error::{Context, Error, Result};
use crate::install::Jars;
use crate::node::Node;
use crate::options::ClusterOptions;

/// How long it may take to write the archive.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes the archive where there is none.
pub(crate) fn ensure_class_archive(jars: &Jars) -> Result<()> {
    let archive = jars.class_archive();
    if archive.is_file() {
        return Ok(());
    }
    let _lock = jars.lock()?;
    if archive.is_file() {
        return Ok(());
    }
    let dir = archive.with_extension("training");
    fs::remove_dir_all(&dir).ok();
    let made = dir.join("broker.jsa");
    let option = format!("-XX:ArchiveClassesAtExit={}", made.display());
    let node = Node::lay_out(
        (jars.clone(), option),
        ClusterOptions::new("training"),
        &dir,
    )?;
    run_once(&node)?;
    fs::rename(&made, &archive).context(
        format_args!("keeping the archive of classes {}", made.display()),
        "use a JDK 17 or newer, and see whether the disk is full",
    )?;
    fs::remove_dir_all(&dir).ok();
    Ok(())
}

fn run_once(node: &Node) -> Result<()> {
    let process = node.program.start_watched()?;
    let result = node
        .await_health(|| !process.has_ended())
        .and_then(|()| process.signal(Signal::TERM))
        .and_then(|()| match process.await_end(PATIENCE) {
            true => Ok(()),
            false => Err(Error::new(
                "ending the broker that writes the archive of classes",
                node.program.log_tail(),
                "see whether the disk is full",
            )),
        });
    process.end();
    result
}
