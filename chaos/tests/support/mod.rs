//! Programs that the runs need, and places for their files.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use gtc_chaos::fleet::Place;

/// Builds a program of this workspace, as `cargo test` builds none of another package, and returns where it is.
pub fn build(arguments: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--message-format=json"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "cargo build {arguments:?} failed");
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
        .expect("an executable was built")
}

/// A place for a run of this name.
pub fn place(name: &str, gtc: PathBuf) -> Place {
    Place {
        gtc,
        directory: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
    }
}
