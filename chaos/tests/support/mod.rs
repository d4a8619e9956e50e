//! Programs that the runs need, and places for their files.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use gtc_chaos::fleet::Place;

/// As `cargo test` builds the workspace, with the same features: so it finds these programs built, and
/// puts none in the place of one that another test is running.
const BUILD: [&str; 7] = [
    "build",
    "--workspace",
    "--all-features",
    "--bin",
    "gtc",
    "--examples",
    "--message-format=json",
];

/// Builds a program of this workspace, as `cargo test` builds none of another package, and returns where it is.
pub fn build(name: &str) -> PathBuf {
    let output = cargo()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(BUILD)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "cargo build failed");
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("an executable was built")
}

/// Without what cargo tells a test of its package: build scripts would see a change in that, and what
/// depends on them would be built again.
fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (key, _) in std::env::vars_os() {
        let text = key.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(key);
        }
    }
    command
}

/// A place for a run of this name.
pub fn place(name: &str, gtc: PathBuf) -> Place {
    Place {
        gtc,
        directory: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
    }
}
