//! The Python package: a virtual environment under target/, the package installed into it from
//! source, its stubs and types checked, its tests run.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Words;
use super::clusters::Clusters;
use super::crash::require_built;
use crate::command::{self, Failure, Step, root, run_reading};
use crate::test_run::Sum;

/// Maturin builds one package alone, and so with features of its own; crash points are for the
/// crash tests.
const BUILD: &str = "--config-settings=build-args=--profile dev --features crash-points";
/// As Rust is built that the others are compared with.
const RELEASE: &str = "--config-settings=build-args=--profile release";

pub(super) fn test(clusters: &Clusters) -> Result<Sum, Failure> {
    let environment = Environment::make(home())?;
    environment.install(BUILD)?;
    // Away from python/, where the package would be found without its native module.
    let mut stubs = environment.program("stubtest", environment.home.clone());
    stubs.arg("gtc._native");
    Step::new("stubs", stubs).run()?;
    Step::new("types", environment.program("mypy", source())).run()?;
    let mut tests = environment.program("pytest", source());
    tests.args(["-q", "--durations=5"]);
    clusters.name_in(&mut tests);
    let mut last = String::new();
    let status = run_reading("pytest", tests, |line| {
        if !line.trim().is_empty() {
            last = line.trim().to_owned();
        }
    })?;
    let sum = count(&last);
    match (status.success(), sum.passed) {
        (true, 1..) => Ok(sum),
        (false, _) if sum.failed > 0 => Ok(sum),
        _ => Err(Failure::new(format!("pytest ended with {status}: {last}"))),
    }
}

/// The program, with the package installed.
pub(super) fn bench(home: &Path) -> Result<Words, Failure> {
    let environment = Environment::make(home.to_owned())?;
    environment.install(RELEASE)?;
    let program = source().join("bench/transactions.py");
    Ok(vec![environment.home.join("bin/python"), program])
}

/// The sample, with the installed package.
pub(super) fn crash_and_recover() -> Result<Command, Failure> {
    let environment = Environment { home: home() };
    require_built("python", &environment.home.join("bin/python"))?;
    let mut sample = environment.program("python", root());
    sample.arg("python/samples/crash_and_recover.py");
    Ok(sample)
}

fn home() -> PathBuf {
    root().join("target/languages/python")
}

fn source() -> PathBuf {
    root().join("python")
}

/// A virtual environment of this checkout.
struct Environment {
    home: PathBuf,
}

impl Environment {
    fn make(home: PathBuf) -> Result<Self, Failure> {
        if !home.join("bin/pip").exists() {
            let mut make = Command::new("python3");
            make.args(["-m", "venv"]).arg(&home);
            Step::new("virtual environment", make).run()?;
        }
        Ok(Self { home })
    }

    fn install(&self, build: &str) -> Result<(), Failure> {
        let mut tools = self.program("pip", source());
        tools.args(["install", "--quiet", "-r", "tests/requirements.txt"]);
        Step::new("tools for Python", tools).run()?;
        let mut package = self.program("pip", source());
        package
            .args(["install", "--quiet", "--no-build-isolation", "--no-deps"])
            .args(["--force-reinstall", build, "."])
            .env("CARGO_TARGET_DIR", root().join("target"));
        Step::new("package for Python", package).run()
    }

    fn program(&self, name: &str, directory: impl AsRef<Path>) -> Command {
        let bin = self.home.join("bin");
        let mut command = command::program(bin.join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(paths) {
            // pip looks for maturin there.
            command.env("PATH", path);
        }
        command
            .current_dir(directory)
            .env_remove("PYTHONPATH")
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command
    }
}

/// From a line such as `1 failed, 22 passed, 1 error in 101.33s (0:01:41)`.
fn count(line: &str) -> Sum {
    let mut sum = Sum::default();
    let counts = line.trim_matches(['=', ' ']).split(" in ").next();
    for count in counts.unwrap_or_default().split(", ") {
        match count.split_once(' ') {
            Some((number, "passed")) => sum.passed += number.parse().unwrap_or(0),
            Some((number, "failed" | "error" | "errors")) => {
                sum.failed += number.parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_pytest_is_read() {
        let sum = |passed, failed| Sum { passed, failed };
        assert_eq!(count("11 passed in 101.33s (0:01:41)"), sum(11, 0));
        assert_eq!(
            count("== 1 failed, 2 passed, 1 error in 0.1s =="),
            sum(2, 2)
        );
        assert_eq!(count("no tests ran in 0.01s"), sum(0, 0));
    }
}
