//! All tests, in parts of which two run side by side: most of them wait for brokers.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Sum;
use super::programs::{self, Program};
use crate::command::{Failure, Step, cargo, program, root, this};
use crate::lanes::side_by_side;
use crate::languages;
use crate::limited::{self, End};

const TEST: [&str; 3] = ["test", "--workspace", "--all-features"];
/// More at once would wait for processors, and tests with brokers have time-outs.
const AT_ONCE: usize = 2;
/// Several times what any part takes beside another one on a busy machine.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// They begin first, so that none of them is left to run alone in the end.
const LONG: [&str; 7] = [
    "gtc crash_matrix",
    "languages node python wasm",
    "gtc-chaos runs",
    "languages c java",
    "gtc-chaos faults",
    "gtc cases",
    "gtc-cli it",
];

enum Part {
    Program(Program),
    /// What the documentation shows, which rustdoc runs.
    Documentation,
    /// Packages for some languages, on clusters of their own.
    Languages(&'static [&'static str]),
}

/// What came of some parts.
#[derive(Debug, Default)]
pub(super) struct Tested {
    pub(super) sum: Sum,
    pub(super) failed: Vec<String>,
}

/// Builds all, then runs all, also after one has failed.
pub(super) fn run() -> Result<Tested, Failure> {
    let mut build = cargo(&TEST);
    build.arg("--no-run");
    Step::new("test programs", build).run()?;
    languages::build()?;
    let mut parts = vec![Part::Documentation];
    parts.extend(languages::GROUPS.map(Part::Languages));
    parts.extend(programs::built_by(&TEST)?.into_iter().map(Part::Program));
    parts.sort_by_key(|part| {
        let place = LONG.iter().position(|name| *name == part.name());
        place.unwrap_or(LONG.len())
    });
    let outputs = root().join("target/test-output");
    fs::create_dir_all(&outputs)
        .map_err(|cause| Failure::new(format!("{}: {cause}", outputs.display())))?;
    let mut all = Tested::default();
    for tested in side_by_side(AT_ONCE, &parts, |part| part.try_out(&outputs)) {
        all.add(tested);
    }
    // It takes the packages of all languages.
    all.add(Part::Languages(&[languages::CRASH]).try_out(&outputs));
    Ok(all)
}

impl Tested {
    fn add(&mut self, part: Result<Self, Failure>) {
        match part {
            Ok(part) => {
                self.sum += part.sum;
                self.failed.extend(part.failed);
            }
            Err(failure) => self.failed.push(failure.to_string()),
        }
    }
}

impl Part {
    fn name(&self) -> String {
        match self {
            Self::Program(program) => program.name(),
            Self::Documentation => "documentation".into(),
            Self::Languages(names) => format!("languages {}", names.join(" ")),
        }
    }

    /// The file for what it prints: a library and a program may have one name, so it has cargo's hash.
    fn output(&self) -> String {
        match self {
            Self::Program(program) => format!("{}.log", program.file().display()),
            _ => self.name().replace(' ', "-") + ".log",
        }
    }

    fn command(&self) -> Result<Command, Failure> {
        Ok(match self {
            Self::Program(program) => program.command(),
            Self::Documentation => {
                let mut command = cargo(&TEST);
                command.args(["--doc", "--no-fail-fast"]);
                command
            }
            Self::Languages(names) => {
                let mut command = program(this()?);
                command.arg("languages").args(*names);
                command
            }
        })
    }

    /// Runs it, and then shows what it has printed.
    fn try_out(&self, outputs: &Path) -> Result<Tested, Failure> {
        let (name, start) = (self.name(), Instant::now());
        eprintln!("xtask: {name} ...");
        let (tested, text) = self.run(outputs)?;
        let end = if tested.failed.is_empty() {
            "passed"
        } else {
            "FAILED"
        };
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "xtask: {name} {end} after {:.1} s:",
            start.elapsed().as_secs_f64()
        )
        .and_then(|()| out.write_all(&text))
        .map_err(|cause| Failure::new(format!("{name}: {cause}")))?;
        Ok(tested)
    }

    fn run(&self, outputs: &Path) -> Result<(Tested, Vec<u8>), Failure> {
        let name = self.name();
        let output = outputs.join(self.output());
        let ran = run_into(&output, self.command()?, LIMIT);
        let (succeeded, text) = ran.map_err(|cause| Failure::new(format!("{name}: {cause}")))?;
        // A part that ended before it could count has failed too.
        let failed = (!succeeded).then_some(name).into_iter().collect();
        let sum = self.count(&String::from_utf8_lossy(&text));
        Ok((Tested { sum, failed }, text))
    }

    fn count(&self, text: &str) -> Sum {
        if let Self::Languages(_) = self {
            return text
                .lines()
                .last()
                .and_then(Sum::closing)
                .unwrap_or_default();
        }
        let mut sum = Sum::default();
        text.lines().for_each(|line| sum.add(line));
        sum
    }
}

/// In a file, as a broker that is left behind would keep a pipe open.
fn run_into(output: &Path, mut command: Command, limit: Duration) -> io::Result<(bool, Vec<u8>)> {
    let file = File::create(output)?;
    command.stdout(file.try_clone()?).stderr(file);
    let end = limited::run(&mut command, limit)?;
    let mut text = fs::read(output)?;
    match end {
        End::Ended(status) => Ok((status.success(), text)),
        End::Late(processes) => {
            let seconds = limit.as_secs();
            writeln!(text, "\nxtask: not done after {seconds} s, and killed:")?;
            for process in processes {
                writeln!(text, "xtask: {process}")?;
            }
            Ok((false, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str) -> Part {
        Part::Program(Program {
            directory: "/".into(),
            path: path.into(),
            environment: vec![("CARGO_PKG_NAME".into(), "gtc".into())],
        })
    }

    #[test]
    fn a_part_that_fails_is_named() {
        let directory = std::env::temp_dir().join(format!("gtc-xtask-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let failed = |path| program(path).run(&directory).unwrap().0.failed;
        assert_eq!(failed("/bin/false"), ["gtc false"]);
        assert!(failed("/bin/true").is_empty());
        assert!(program("/no/such").run(&directory).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_part_that_hangs_is_told_with_what_it_printed() {
        let output = std::env::temp_dir().join(format!("gtc-xtask-late-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo first; exec sleep 1000"]);
        let (succeeded, text) = run_into(&output, command, Duration::from_secs(1)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!succeeded);
        assert!(
            text.starts_with("first\n\nxtask: not done after 1 s, and killed:\nxtask: process "),
            "{text}"
        );
        assert!(text.ends_with(": sleep 1000\n"), "{text}");
        fs::remove_file(output).unwrap();
    }

    #[test]
    fn programs_of_one_name_print_into_files_of_their_own() {
        let outputs = ["deps/gtc-1a", "deps/gtc-2b"].map(|path| program(path).output());
        assert_eq!(outputs, ["gtc-1a.log", "gtc-2b.log"]);
        assert_eq!(program("deps/gtc-1a").name(), program("deps/gtc-2b").name());
    }

    #[test]
    fn programs_count_in_each_line_and_languages_in_the_last() {
        let result = "test result: ok. 2 passed; 0 failed; 0 ignored\n";
        let sum = |passed, failed| Sum { passed, failed };
        assert_eq!(
            program("it").count(&(result.to_owned() + result)),
            sum(4, 0)
        );
        let text = result.to_owned() + "18 passed, 0 failed\n30 passed, 1 failed\n";
        assert_eq!(Part::Languages(&["c"]).count(&text), sum(30, 1));
        assert_eq!(
            Part::Languages(&["c"]).count("xtask: no compiler\n"),
            sum(0, 0)
        );
    }
}
