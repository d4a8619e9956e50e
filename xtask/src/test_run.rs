//! `cargo xtask test`: everything, with one closing line.

mod parts;
mod programs;

use std::ops::AddAssign;
use std::time::Instant;

use crate::command::{Failure, cargo, report, run_reading};
use crate::languages;
use crate::prerequisites::{Need, require, require_lints};
use parts::Tested;
pub(crate) use programs::stand_in;

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
    let tested = match whole {
        true => parts::run(),
        false => run_chosen(arguments),
    };
    report("tests", start_of_tests);
    report("all", start);
    let (sum, cause) = match tested {
        Ok(Tested { sum, failed }) if failed.is_empty() => (sum, None),
        Ok(Tested { sum, failed }) => (
            sum,
            Some(format!("see above: {} failed", failed.join(", "))),
        ),
        Err(failure) => (Sum::default(), Some(failure.to_string())),
    };
    let failure = match sum {
        _ if cause.is_some() => cause,
        Sum { passed: 0, .. } => Some("no test ran: see the arguments".to_owned()),
        Sum { failed: 1.., .. } => Some("a test failed: see above".to_owned()),
        _ => None,
    };
    if let Some(cause) = &failure {
        eprintln!("xtask: {cause}");
    }
    // The last line, whatever came of it: machines look for it there.
    println!("{} passed, {} failed", sum.passed, sum.failed);
    failure.map_or(Ok(()), |_| Err(Failure::told()))
}

/// What cargo makes of the arguments, with its output as it comes.
fn run_chosen(arguments: &[String]) -> Result<Tested, Failure> {
    let mut command = cargo(&["test", "--no-fail-fast"]);
    if !arguments
        .iter()
        .any(|word| word == "-p" || word.starts_with("--package"))
    {
        command.args(["--workspace", "--all-features"]);
    }
    command.args(arguments);
    let mut tested = Tested::default();
    let status = run_reading("cargo test", command, |line| tested.sum.add(line))?;
    if !status.success() {
        tested.failed.push("cargo test".into());
    }
    Ok(tested)
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

    /// From a closing line such as `18 passed, 0 failed`.
    pub(crate) fn closing(line: &str) -> Option<Self> {
        let (passed, failed) = line.trim().split_once(" passed, ")?;
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.strip_suffix(" failed")?.parse().ok()?,
        })
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

    #[test]
    fn a_closing_line_is_read() {
        let sum = |passed, failed| Some(Sum { passed, failed });
        assert_eq!(Sum::closing("18 passed, 0 failed"), sum(18, 0));
        assert_eq!(Sum::closing("1 passed, 2 failed\n"), sum(1, 2));
        assert_eq!(Sum::closing("not ok something"), None);
    }
}
