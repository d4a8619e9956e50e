//! The Node package: packed from source, installed from the tarball into a project under target/,
//! its types checked, its tests run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::clusters::Clusters;
use super::crash::require_built;
use super::{AS_TESTED, Words, about};
use crate::command::{self, Failure, Step, npm, root, run_reading};
use crate::test_run::Sum;

/// As Rust is built that the others are compared with.
const RELEASE: &str = "--profile release";
const BENCH: &str = "bench/transactions.mjs";
/// What the tests need beside the package, at the versions of its lock file.
const TOOLS: &[&str] = &["@types", "kafkajs", "typescript", "undici-types"];
/// A test that hangs fails.
const TIMEOUT: &str = "--test-timeout=180000";

pub(super) fn test(clusters: &Clusters) -> Result<Sum, Failure> {
    install_tools()?;
    let project = Project::make(home())?;
    let tarball = project.pack(&format!("--profile dev -- {}", AS_TESTED.join(" ")))?;
    project.install(&tarball)?;
    project.link_tools()?;
    let mut types = program("node", source());
    types.args(["node_modules/typescript/bin/tsc", "-p", "test"]);
    Step::new("types", types).run()?;
    let mut bench = program("node", source());
    bench.args(["--check", BENCH]);
    Step::new("program of the benchmark", bench).run()?;
    let mut tests = program("node", project.home.clone());
    tests.args(["--test", "--test-reporter=spec", TIMEOUT]);
    tests.args(project.test_files()?);
    tests
        .env("GTC_TEST_TARBALL", tarball)
        .env("GTC_TEST_SOURCE", source())
        .env("GTC_TEST_PROGRAM", root().join("target/debug/gtc"));
    clusters.name_in(&mut tests);
    let mut sum = Sum::default();
    let status = run_reading("node", tests, |line| count(&mut sum, line))?;
    match (status.success(), sum.passed) {
        (true, 1..) => Ok(sum),
        (false, _) if sum.failed > 0 => Ok(sum),
        _ => Err(Failure::new(format!("node ended with {status}"))),
    }
}

/// The program, beside the installed package.
pub(super) fn bench(home: &Path) -> Result<Words, Failure> {
    install_tools()?;
    let project = Project::make(home.to_owned())?;
    let tarball = project.pack(RELEASE)?;
    project.install(&tarball)?;
    let (source, copy) = (source().join(BENCH), project.home.join("transactions.mjs"));
    std::fs::copy(&source, &copy).map_err(|cause| about(&source, &cause))?;
    Ok(vec!["node".into(), copy])
}

fn install_tools() -> Result<(), Failure> {
    let mut tools = npm(&source());
    tools.args(["ci", "--ignore-scripts"]);
    Step::new("tools for Node", tools).run()
}

/// The sample of the installed package.
pub(super) fn crash_and_recover() -> Result<Command, Failure> {
    let sample = home().join("node_modules/gtc/samples/crash-and-recover.mjs");
    require_built("node", &sample)?;
    let mut run = program("node", root());
    run.arg(sample.canonicalize().unwrap_or(sample));
    Ok(run)
}

fn home() -> PathBuf {
    root().join("target/languages/node")
}

fn source() -> PathBuf {
    root().join("node")
}

/// A project with nothing in it but the package, and links to what its tests need.
struct Project {
    home: PathBuf,
}

impl Project {
    fn make(home: PathBuf) -> Result<Self, Failure> {
        let made = remove(&home)
            .and_then(|()| std::fs::create_dir_all(&home))
            .and_then(|()| std::fs::write(home.join("package.json"), "{ \"private\": true }\n"))
            .and_then(|()| home.canonicalize());
        let home = made.map_err(|cause| about(&home, &cause))?;
        Ok(Self { home })
    }

    /// Builds the package, and gives back its tarball.
    fn pack(&self, build: &str) -> Result<PathBuf, Failure> {
        let mut pack = npm(&source());
        pack.args(["pack", "--silent", "--pack-destination"])
            .arg(&self.home)
            .env("GTC_BUILD", build);
        Step::new("package for Node", pack).run()?;
        let is_tarball = |path: &PathBuf| path.extension().is_some_and(|end| end == "tgz");
        let tarball = files(&self.home)?.into_iter().find(is_tarball);
        tarball.ok_or_else(|| Failure::new("npm has packed nothing"))
    }

    fn install(&self, tarball: &Path) -> Result<(), Failure> {
        let mut install = npm(&self.home);
        install.args(["install", "--no-audit", "--no-fund", "--offline"]);
        install.arg(tarball);
        Step::new("tarball for Node", install).run()
    }

    fn link_tools(&self) -> Result<(), Failure> {
        for tool in TOOLS {
            let (tools, modules) = (
                source().join("node_modules"),
                self.home.join("node_modules"),
            );
            let linked = tools
                .canonicalize()
                .and_then(|tools| symlink(tools.join(tool), modules.join(tool)));
            linked.map_err(|cause| about(&modules, &cause))?;
        }
        Ok(())
    }

    fn test_files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut found = files(&self.home.join("test"))?;
        found.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
        found.sort();
        Ok(found)
    }
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match directory.exists() {
        true => std::fs::remove_dir_all(directory),
        false => Ok(()),
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(directory).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect()
    });
    entries.map_err(|cause: std::io::Error| about(directory, &cause))
}

fn program(name: &str, directory: PathBuf) -> Command {
    let mut command = command::program(name);
    command.current_dir(directory).env_remove("NODE_PATH");
    command
}

/// Adds a line such as `ℹ pass 22` of the summary; a test that did not come to its end has failed.
fn count(sum: &mut Sum, line: &str) {
    let Some(rest) = line.trim().strip_prefix("ℹ ") else {
        return;
    };
    match rest.split_once(' ') {
        Some(("pass", number)) => sum.passed += number.parse().unwrap_or(0),
        Some(("fail" | "cancelled", number)) => sum.failed += number.parse().unwrap_or(0),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_node_is_read() {
        let mut sum = Sum::default();
        let lines = [
            "✔ a test (1.2ms)",
            "ℹ pass on",
            "ℹ tests 9",
            "ℹ pass 5",
            "ℹ fail 1",
            "ℹ cancelled 2\n",
            "ℹ skipped 1",
        ];
        lines.iter().for_each(|line| count(&mut sum, line));
        let (passed, failed) = (5, 3);
        assert_eq!(sum, Sum { passed, failed });
    }
}
