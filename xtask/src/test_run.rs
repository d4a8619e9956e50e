//! `cargo xtask test`: everything, with one closing line.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Instant;

use crate::command::{Failure, cargo, report};
use crate::prerequisites::{Need, require, require_lints};

/// Checks, then runs the tests of the workspace, and ends with the sum.
pub(crate) fn test(arguments: &[String]) -> Result<(), Failure> {
    let start = Instant::now();
    require(&[Need::Build, Need::Clusters])?;
    require_lints()?;
    report("prerequisites", start);
    crate::check()?;
    let start_of_tests = Instant::now();
    let (sum, succeeded) = run_tests(arguments)?;
    report("tests", start_of_tests);
    report("all", start);
    let failure = match sum {
        _ if !succeeded => Some("cargo test failed: see above"),
        Sum { passed: 0, .. } => Some("no test ran: see the arguments"),
        _ => None,
    };
    if let Some(cause) = failure {
        eprintln!("xtask: {cause}");
    }
    // The last line, whatever came of it: machines look for it there.
    println!("{} passed, {} failed", sum.passed, sum.failed);
    failure.map_or(Ok(()), |_| Err(Failure::told()))
}

/// All test programs run, also after one has failed.
fn run_tests(arguments: &[String]) -> Result<(Sum, bool), Failure> {
    let mut command = cargo(&["test", "--no-fail-fast"]);
    if !arguments
        .iter()
        .any(|word| word == "-p" || word.starts_with("--package"))
    {
        command.args(["--workspace", "--all-features"]);
    }
    let failed = |cause: std::io::Error| Failure::new(format!("cargo test: {cause}"));
    let mut child = command
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut sum = Sum::default();
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        // Bytes, as a test may print what is no UTF-8.
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            std::io::stdout().write_all(&line).map_err(failed)?;
            sum.add(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok((sum, status.success()))
}

/// Over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
}

impl Sum {
    /// Counts a line such as `test result: ok. 7 passed; 0 failed; 0 ignored; ...`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split(';') {
            match count.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up_and_other_lines_do_not_count() {
        let mut sum = Sum::default();
        sum.add("running 3 tests\n");
        sum.add("test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n");
        sum.add("test 5 passed; 5 failed ... ok\n");
        sum.add("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n");
        assert_eq!(
            sum,
            Sum {
                passed: 8,
                failed: 2
            }
        );
    }
}
