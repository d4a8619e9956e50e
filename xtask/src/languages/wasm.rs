//! The WebAssembly package: built for its target, packed, installed from the tarball into a project
//! under target/, its tests run there. It needs no clusters: the core does no I/O.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::clusters::Clusters;
use crate::command::{Failure, Step, cargo, npm, root, run_reading};
use crate::package::built;
use crate::test_run::Sum;

const TARGET: &str = "wasm32-unknown-unknown";

pub(super) fn test(_clusters: &Clusters) -> Result<Sum, Failure> {
    build()?;
    let project = make_project().map_err(|cause| Failure::new(format!("wasm: {cause}")))?;
    let mut pack = npm(&root().join("wasm"));
    pack.args(["pack", "--silent", "--pack-destination"])
        .arg(&project);
    Step::new("package for WebAssembly", pack).run()?;
    let mut install = npm(&project);
    install.args([
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--offline",
    ]);
    install.arg(format!("./gtc-wasm-{}.tgz", env!("CARGO_PKG_VERSION")));
    Step::new("tarball for WebAssembly", install).run()?;
    let mut tests = Command::new("node");
    tests
        .args(["--test", "--test-reporter=tap", "tests/"])
        .current_dir(&project)
        .env(
            "GTC_VECTORS",
            root()
                .join("vectors/golden")
                .canonicalize()
                .unwrap_or_default(),
        );
    let mut sum = Sum::default();
    let status = run_reading("tests of WebAssembly", tests, |line| count(&mut sum, line))?;
    match (status.success(), sum.passed) {
        (true, 1..) => Ok(sum),
        (false, _) if sum.failed > 0 => Ok(sum),
        _ => Err(Failure::new(format!(
            "the tests of WebAssembly ended with {status}"
        ))),
    }
}

/// The standard library for the target, which rustup brings.
fn require_target() -> Result<(), Failure> {
    let mut place = Command::new("rustc");
    place.args(["--print", "target-libdir", "--target", TARGET]);
    let is_there = place
        .output()
        .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
    if is_there {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", TARGET]).current_dir(root());
    Step::new("target for WebAssembly", add)
        .remedy("install the standard library of Rust for wasm32-unknown-unknown")
        .run()
}

/// Builds the module and puts it beside its glue.
pub(crate) fn build() -> Result<(), Failure> {
    require_target()?;
    let build = [
        "build",
        "--quiet",
        "-p",
        "gtc-wasm",
        "--profile",
        "wasm",
        "--target",
        TARGET,
    ];
    Step::new("module", cargo(&build)).run()?;
    shrink(&built(TARGET).join("wasm/gtc_wasm.wasm"))
}

/// Binaryen makes it a sixth smaller than the compiler does.
fn shrink(module: &Path) -> Result<(), Failure> {
    let source = root().join("wasm");
    let mut tools = npm(&source);
    tools.args(["ci", "--ignore-scripts", "--silent"]);
    Step::new("tools for WebAssembly", tools).run()?;
    let mut shrink = Command::new("node");
    shrink
        .args(["node_modules/binaryen/bin/wasm-opt", "-Oz", "--converge"])
        .args(["--strip-producers", "--strip-target-features"])
        .arg(module)
        .args(["-o", "gtc_core.wasm"])
        .current_dir(&source);
    Step::new("smaller module", shrink).run()
}

/// A project with nothing in it but the tests, which use the package by its name.
fn make_project() -> std::io::Result<PathBuf> {
    let home = root().join("target/languages/wasm");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    let tests = home.join("tests");
    fs::create_dir_all(&tests)?;
    for entry in fs::read_dir(root().join("wasm/tests"))? {
        let entry = entry?;
        fs::copy(entry.path(), tests.join(entry.file_name()))?;
    }
    let manifest = "{ \"private\": true, \"type\": \"module\" }\n";
    fs::write(home.join("package.json"), manifest)?;
    home.canonicalize()
}

/// Adds a line such as `# pass 8` of the summary; a test that did not come to its end has failed.
fn count(sum: &mut Sum, line: &str) {
    match line
        .trim()
        .split_once("# ")
        .and_then(|(_, rest)| rest.split_once(' '))
    {
        Some(("pass", number)) => sum.passed += number.parse().unwrap_or(0),
        Some(("fail" | "cancelled", number)) => sum.failed += number.parse().unwrap_or(0),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_the_tests_is_read() {
        let mut sum = Sum::default();
        for line in [
            "# tests 10",
            "# pass 8",
            "# fail 1",
            "# cancelled 1",
            "ok 1 - pass 7",
        ] {
            count(&mut sum, line);
        }
        assert_eq!((sum.passed, sum.failed), (8, 2));
    }
}
