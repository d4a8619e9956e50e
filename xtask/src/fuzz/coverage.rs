//! Builds of the fuzz targets that tell libFuzzer what an input reaches.
//!
//! A long run is optimised, and everything in it tells. A smoke run shares what is not of this workspace with
//! the build of the tests: only the workspace's own crates tell, for which this program stands in for rustc.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use super::TARGETS;
use crate::command::{Failure, Step, cargo, root, this};

/// What libFuzzer needs to see of a program, as cargo-fuzz asks for it; all of it is stable. There
/// is no address sanitizer, as the product has no unsafe code.
const FLAGS: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
/// Tells this program that cargo calls it in place of rustc.
const STAND_IN: &str = "GTC_XTASK_IS_RUSTC";

/// Runs rustc with coverage, where cargo calls for it: does not return then, unless that fails.
pub(crate) fn stand_in(arguments: &[String]) -> Option<Result<(), Failure>> {
    std::env::var_os(STAND_IN)?;
    let (rustc, rest) = arguments.split_first()?;
    let cause = Command::new(rustc).args(rest).args(FLAGS).exec();
    Some(Err(Failure::new(format!("{rustc}: {cause}"))))
}

/// Builds the programs of all targets and returns the directory that they are in.
pub(super) fn build(smoke: bool) -> Result<PathBuf, Failure> {
    let (mut command, programs) = if smoke { quick()? } else { thorough()? };
    for (name, _) in TARGETS {
        command.args(["--bin", &program(name)]);
    }
    Step::new("build of the fuzz targets", command).run()?;
    Ok(programs)
}

/// The name of a target's program.
pub(super) fn program(target: &str) -> String {
    format!("fuzz-{target}")
}

fn quick() -> Result<(Command, PathBuf), Failure> {
    let directory = root().join("target");
    let mut call = cargo(&["build", "--quiet", "--workspace", "--all-features"]);
    call.arg("--target-dir")
        .arg(&directory)
        .env("RUSTC_WORKSPACE_WRAPPER", this()?)
        .env(STAND_IN, "1");
    Ok((call, directory.join("debug")))
}

/// In a target directory of its own, as its flags are its own.
fn thorough() -> Result<(Command, PathBuf), Failure> {
    let (host, directory) = (host()?, root().join("target/fuzz"));
    let programs = directory.join(&host).join("fuzz");
    let mut call = cargo(&["build", "--quiet", "-p", "gtc-fuzz", "--profile", "fuzz"]);
    call.arg("--target-dir")
        .arg(&directory)
        .args(["--target", &host])
        .env("RUSTFLAGS", FLAGS.join(" "))
        // The C libraries under the data plane are linked, and hardly run.
        .env("CFLAGS", "-O0");
    Ok((call, programs))
}

/// The triple of this machine. Named, so that build scripts are built without the flags.
fn host() -> Result<String, Failure> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|cause| Failure::new(format!("rustc -vV: {cause}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// Where what the fuzzer finds is kept between runs.
pub(super) fn base() -> PathBuf {
    root().join("target/fuzz")
}
