//! `cargo xtask test`: everything, with one closing line.

use std::ops::AddAssign;
use std::time::Instant;

use crate::command::{Failure, cargo, report, run_reading};
use crate::languages;
use crate::prerequisites::{Need, require, require_lints};

/// Checks, then runs the tests of the workspace, and ends with the sum.
pub(crate) fn test(arguments: &[String]) -> Result<(), Failure> {
    let start = Instant::now();
    let whole = arguments.is_empty();
    let mut needs = vec![Need::Build, Need::Clusters];
    needs.extend(languages::needs().filter(|_| whole));
    require(&needs)?;
    require_lints()?;
    report("prerequisites", start);
    crate::check()?;
    let start_of_tests = Instant::now();
    let (mut sum, succeeded) = run_tests(arguments)?;
    report("tests", start_of_tests);
    let languages = match whole {
        true => languages::test(&[]),
        false => Ok(Sum::default()),
    };
    let languages = languages.map(|tested| sum += tested);
    report("all", start);
    let failure = match sum {
        _ if !succeeded => Some("cargo test failed: see above".to_owned()),
        Sum { passed: 0, .. } => Some("no test ran: see the arguments".to_owned()),
        Sum { failed: 1.., .. } => Some("a language's tests failed: see above".to_owned()),
        _ => languages.err().map(|failure| failure.to_string()),
    };
    if let Some(cause) = &failure {
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
    command.args(arguments);
    let mut sum = Sum::default();
    let status = run_reading("cargo test", command, |line| sum.add(line))?;
    Ok((sum, status.success()))
}

/// Over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
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
