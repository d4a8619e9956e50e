//! The Java package: built and packaged by Maven, and tested with its jars, against both ends of
//! the Kafka clients that it works with.

use std::process::Command;

use super::Clusters;
use crate::command::{Failure, root, run_reading};
use crate::test_run::Sum;

/// As the workspace builds for tests; crash points and the program gtc are for the crash tests.
const BUILD: [&str; 3] = [
    "-Dcargo.arguments=-p gtc-cli --features gtc-jni/crash-points",
    "-Dcargo.output=debug",
    // A library with debug information takes long to compress.
    "-Dnative.compress=false",
];
/// Tells the tests where the program gtc is.
const PROGRAM: &str = "GTC_PROGRAM";
/// The newest client is the one in the pom.
const OLDEST_CLIENT: [&str; 2] = ["-Dkafka.version=4.0.0", "-Dtest=OwnProducerTest"];

pub(super) fn test(clusters: &Clusters) -> Result<Sum, Failure> {
    let mut sum = package(clusters, &[])?;
    sum += package(clusters, &OLDEST_CLIENT)?;
    Ok(sum)
}

fn package(clusters: &Clusters, arguments: &[&str]) -> Result<Sum, Failure> {
    let mut command = Command::new("mvn");
    command
        .args(["-B", "package"])
        .args(BUILD)
        .args(arguments)
        .current_dir(root().join("java"))
        .env(PROGRAM, root().join("target/debug/gtc"));
    clusters.name_in(&mut command);
    let mut last = Sum::default();
    let status = run_reading("mvn", command, |line| {
        if let Some(sum) = count(line) {
            last = sum;
        }
    })?;
    match (status.success(), last.passed) {
        (true, 1..) => Ok(last),
        (false, _) if last.failed > 0 => Ok(last),
        _ => Err(Failure::new(format!("mvn ended with {status}"))),
    }
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
