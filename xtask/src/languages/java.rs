//! The Java package: built and packaged by Maven, and tested with its jars, against both ends of
//! the Kafka clients that it works with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use gtc_clusters::maven::{ATTEMPTS, was_broken_off};

use super::clusters::Clusters;
use super::crash::require_built;
use super::{AS_TESTED, Words, about};
use crate::command::{Failure, Step, maven, root, run_reading};
use crate::test_run::Sum;

const DEBUG: [&str; 2] = ["-Dcargo.output=debug", NO_COMPRESSION];
/// A library with debug information takes long to compress.
const NO_COMPRESSION: &str = "-Dnative.compress=false";
/// As Rust is built that the others are compared with.
const RELEASE: [&str; 3] = [
    "-Dcargo.arguments=--release",
    "-Dcargo.output=release",
    NO_COMPRESSION,
];
const BENCH: &str = "Transactions";
const SAMPLE: &str = "CrashAndRecover";
/// Tells the tests where the program gtc is.
const PROGRAM: &str = "GTC_PROGRAM";
/// The newest client is the one in the pom.
const OLDEST_CLIENT: [&str; 2] = ["-Dkafka.version=4.0.0", "-Dtest=OwnProducerTest"];

pub(super) fn test(clusters: &Clusters) -> Result<Sum, Failure> {
    let mut sum = package(clusters, &[])?;
    sum += package(clusters, &OLDEST_CLIENT)?;
    keep(SAMPLE, &home())?;
    Ok(sum)
}

/// The sample as the tests have compiled it, with the jars.
pub(super) fn crash_and_recover() -> Result<Command, Failure> {
    require_built("java", &home().join(class_file(SAMPLE)))?;
    let mut sample = Command::new("java");
    sample.arg("-cp").arg(class_path(&home())?).arg(SAMPLE);
    Ok(sample)
}

/// The program, with the jars.
pub(super) fn bench(home: &Path) -> Result<Words, Failure> {
    let mut build = maven();
    build.args(["-q", "package", "-DskipTests"]).args(RELEASE);
    build.current_dir(root().join("java"));
    Step::new("package for Java", build).run()?;
    keep(BENCH, home)?;
    let path = class_path(home)?.into();
    Ok(vec!["java".into(), "-cp".into(), path, BENCH.into()])
}

fn home() -> PathBuf {
    root().join("target/languages/java")
}

fn class_file(program: &str) -> String {
    format!("{program}.class")
}

/// Copies a program and the jars out of Maven's directory, where the next build puts others, such
/// as those of `cargo xtask package`, which have no crash points.
fn keep(program: &str, home: &Path) -> Result<(), Failure> {
    let built = root().join("java/target");
    let mut files = jars(&built)?;
    files.push(built.join("test-classes").join(class_file(program)));
    // Jars of an earlier version may be there.
    let _ = std::fs::remove_dir_all(home);
    std::fs::create_dir_all(home).map_err(|cause| about(home, &cause))?;
    for file in files {
        let copy = home.join(file.file_name().unwrap_or_default());
        std::fs::copy(&file, &copy).map_err(|cause| about(&file, &cause))?;
    }
    Ok(())
}

/// The classes and the native.
fn jars(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let files = std::fs::read_dir(directory).map_err(|cause| about(directory, &cause))?;
    let files = files.flatten().map(|file| file.path());
    let is_jar = |path: &PathBuf| path.extension().is_some_and(|end| end == "jar");
    Ok(files.filter(is_jar).collect())
}

/// Of a directory with a program and jars.
fn class_path(home: &Path) -> Result<OsString, Failure> {
    let mut path = jars(home)?;
    path.push(home.to_owned());
    std::env::join_paths(path).map_err(Failure::new)
}

fn package(clusters: &Clusters, arguments: &[&str]) -> Result<Sum, Failure> {
    let mut attempts = 1;
    loop {
        let (ended, broken_off) = run(clusters, arguments)?;
        if !broken_off || attempts == ATTEMPTS {
            return ended;
        }
        attempts += 1;
        eprintln!("xtask: mvn could not fetch all that it needs, and is run again");
    }
}

/// One run, and whether it ended because something could not be fetched.
fn run(clusters: &Clusters, arguments: &[&str]) -> Result<(Result<Sum, Failure>, bool), Failure> {
    let mut command = maven();
    command
        .arg("package")
        .arg(format!("-Dcargo.arguments={}", AS_TESTED.join(" ")))
        .args(DEBUG)
        .args(arguments)
        .current_dir(root().join("java"))
        .env(PROGRAM, root().join("target/debug/gtc"));
    clusters.name_in(&mut command);
    let (mut last, mut broken_off) = (Sum::default(), false);
    let status = run_reading("mvn", command, |line| {
        broken_off |= was_broken_off(line);
        if let Some(sum) = count(line) {
            last = sum;
        }
    })?;
    let ended = match (status.success(), last.passed) {
        (true, 1..) => Ok(last),
        (false, _) if last.failed > 0 => Ok(last),
        _ => Err(Failure::new(format!("mvn ended with {status}"))),
    };
    let broken_off = broken_off && ended.is_err();
    Ok((ended, broken_off))
}

/// From the closing line, such as `[INFO] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`: the
/// lines of the single classes say how long they took, too.
fn count(line: &str) -> Option<Sum> {
    let (_, counts) = line.trim().split_once("Tests run: ")?;
    let mut numbers = counts.split(", ").map(|count| {
        let number = count.rsplit(": ").next().unwrap_or_default();
        number.parse::<u64>().ok()
    });
    let mut next = || numbers.next().flatten();
    let (run, failures, errors, skipped) = (next()?, next()?, next()?, next()?);
    let failed = failures + errors;
    Some(Sum {
        passed: run.saturating_sub(failed + skipped),
        failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_of_maven_is_read() {
        let closing = "[WARNING] Tests run: 12, Failures: 1, Errors: 2, Skipped: 3\n";
        let sum = Sum {
            passed: 6,
            failed: 3,
        };
        assert_eq!(count(closing), Some(sum));
        let of_a_class = "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: \
                          0.1 s -- in gtc.NativeTest";
        assert_eq!(count(of_a_class).map(|sum| sum.passed), Some(1));
        assert_eq!(count("[INFO] BUILD SUCCESS"), None);
    }
}
