//! `cargo xtask fuzz`: runs the fuzz targets, as many at a time as there are processors.

mod coverage;
mod progress;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::command::{Failure, Step, root};
use crate::help;
use crate::lanes::side_by_side;
use crate::prerequisites::{Need, require};

pub(crate) use coverage::stand_in;
use progress::{Finding, Watch};

const MINUTE: Duration = Duration::from_secs(60);
/// The resident memory of a target; a single allocation is bounded by the target itself.
const MEMORY_MB: u32 = 2048;
/// An input that takes longer is a finding.
const INPUT_SECONDS_MAX: u32 = 25;
/// The most inputs of a target that the repository keeps.
const CORPUS_FILES_MAX: usize = 40;

/// The targets, with the longest input that makes sense for each, in bytes.
const TARGETS: [(&str, u32); 7] = [
    ("record", 1024),
    ("segment", 1024),
    ("configuration", 1500),
    ("control", 1024),
    ("core", 2000),
    ("responses", 4096),
    ("admin", 1024),
];

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    target: Option<String>,
    time: Duration,
    smoke: bool,
    keep: bool,
    input: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wish = parse(arguments)?;
    require(&[Need::Build])?;
    let programs = coverage::build(wish.smoke)?;
    let chosen = TARGETS
        .iter()
        .filter(|(name, _)| wish.target.as_deref().is_none_or(|only| only == *name));
    let targets: Vec<Target> = chosen
        .map(|target| Target::new(target, &programs))
        .collect::<Result<_, _>>()?;
    match (&wish.input, wish.keep) {
        (Some(input), _) => targets.iter().try_for_each(|target| target.replay(input)),
        (None, true) => targets.iter().try_for_each(Target::keep),
        (None, false) => fuzz(&targets, wish.time),
    }
}

fn parse(arguments: &[String]) -> Result<Wish, Failure> {
    let mut wish = Wish {
        target: None,
        time: 20 * MINUTE,
        smoke: false,
        keep: false,
        input: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--smoke" => (wish.smoke, wish.time) = (true, MINUTE),
            "--keep" => wish.keep = true,
            "--minutes" => wish.time = MINUTE * number(word, words.next())?,
            "--seconds" => wish.time = Duration::from_secs(number(word, words.next())?.into()),
            "--input" => {
                let file = words.next().and_then(|file| fs::canonicalize(file).ok());
                let missing = || Failure::usage("--input wants a file that is there");
                wish.input = Some(file.ok_or_else(missing)?);
            }
            name if TARGETS.iter().any(|(target, _)| *target == name) => {
                wish.target = Some(name.to_owned());
            }
            other => return Err(unknown(other)),
        }
    }
    if wish.input.is_some() && wish.target.is_none() {
        return Err(Failure::usage("say which target `--input` is for"));
    }
    Ok(wish)
}

fn number(option: &str, word: Option<&String>) -> Result<u32, Failure> {
    let number = word.and_then(|word| word.parse().ok());
    number
        .filter(|number| (1..=100_000).contains(number))
        .ok_or_else(|| Failure::usage(format!("{option} wants a number from 1 to 100000")))
}

fn unknown(word: &str) -> Failure {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    Failure::usage(format!(
        "`{word}` is neither an option nor one of {}\n\n{}",
        names.join(", "),
        help::of("fuzz").unwrap_or_default()
    ))
}

/// All run, also after one has found something.
fn fuzz(targets: &[Target], time: Duration) -> Result<(), Failure> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let findings = side_by_side(processors, targets, |target| {
        eprintln!("xtask: fuzz {} for {} s", target.name, time.as_secs());
        target.fuzz(time)
    });
    let findings = findings.into_iter().collect::<Result<Vec<_>, _>>()?;
    println!("{}", Finding::HEAD);
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.iter().filter(|finding| finding.is_bad()).count() {
        0 => Ok(()),
        bad => Err(Failure::new(format!(
            "{bad} of {} targets found something",
            targets.len()
        ))),
    }
}

/// One target, built.
struct Target {
    name: &'static str,
    bytes_max: u32,
    program: PathBuf,
    /// Grows with each run.
    working: PathBuf,
    /// What the repository keeps.
    kept: PathBuf,
    findings: PathBuf,
}

impl Target {
    fn new((name, bytes_max): &(&'static str, u32), programs: &Path) -> Result<Self, Failure> {
        let base = coverage::base();
        let target = Self {
            name,
            bytes_max: *bytes_max,
            program: programs.join(coverage::program(name)),
            working: base.join("corpus").join(name),
            kept: root().join("fuzz/corpus").join(name),
            findings: base.join("artifacts").join(name),
        };
        for directory in [&target.working, &target.kept, &target.findings] {
            make(directory)?;
        }
        Ok(target)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(format!("-rss_limit_mb={MEMORY_MB}"))
            .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
            .arg(format!("-max_len={}", self.bytes_max))
            .arg(format!("-artifact_prefix={}/", self.findings.display()));
        command
    }

    fn fuzz(&self, time: Duration) -> Result<Finding, Failure> {
        let mut command = self.command();
        command
            .arg(format!("-max_total_time={}", time.as_secs()))
            .args(["-len_control=0", "-print_final_stats=1"])
            .args([&self.working, &self.kept])
            .stderr(Stdio::piped());
        let log = coverage::base().join(format!("{}.log", self.name));
        Watch::new(self.name, time, log).run(command)
    }

    /// Runs one input, as after a finding.
    fn replay(&self, input: &Path) -> Result<(), Failure> {
        let status = self.command().arg(input).status();
        let status = status.map_err(|cause| Failure::new(format!("{}: {cause}", self.name)))?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::new(format!("{} ended with {status}", self.name))),
        }
    }

    /// Chooses anew the few inputs that the repository keeps: of those that together reach everything, some of each size.
    fn keep(&self) -> Result<(), Failure> {
        let merged = coverage::base().join("merged").join(self.name);
        // What an earlier choice left there would be kept again.
        let _ = fs::remove_dir_all(&merged);
        make(&merged)?;
        let mut command = self.command();
        command
            .args(["-set_cover_merge=1", "-use_counters=0"])
            .args([&merged, &self.kept, &self.working])
            .stderr(Stdio::null());
        Step::new("merge", command).run()?;
        let all = files(&merged)?;
        let step = all.len().div_ceil(CORPUS_FILES_MAX).max(1);
        let files: Vec<_> = all.into_iter().step_by(step).collect();
        let failed = |cause: std::io::Error| Failure::new(format!("{}: {cause}", self.name));
        fs::remove_dir_all(&self.kept).map_err(failed)?;
        make(&self.kept)?;
        for (_, file) in &files {
            let name = file.file_name().unwrap_or_default();
            fs::copy(file, self.kept.join(name)).map_err(failed)?;
        }
        println!("{}: {} inputs kept", self.name, files.len());
        Ok(())
    }
}

/// The files of a directory, the largest first.
fn files(directory: &Path) -> Result<Vec<(u64, PathBuf)>, Failure> {
    let failed = |cause: std::io::Error| Failure::new(format!("{}: {cause}", directory.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        files.push((entry.metadata().map_err(failed)?.len(), entry.path()));
    }
    files.sort_by(|left, right| right.cmp(left));
    Ok(files)
}

fn make(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory)
        .map_err(|cause| Failure::new(format!("{}: {cause}", directory.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wish, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_smoke_run_takes_a_minute_a_target_unless_said_otherwise() {
        assert_eq!(parsed("").unwrap().time, 20 * MINUTE);
        assert_eq!(parsed("--smoke").unwrap().time, MINUTE);
        let short = parsed("--smoke --seconds 10").unwrap();
        assert_eq!((short.smoke, short.time.as_secs()), (true, 10));
        let long = parsed("core --minutes 90").unwrap();
        assert_eq!(long.target.as_deref(), Some("core"));
        assert_eq!(long.time, 90 * MINUTE);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(parsed("--minutes").unwrap_err().contains("number"));
        assert!(parsed("--minutes 0").unwrap_err().contains("number"));
        assert!(parsed("cores").unwrap_err().contains("configuration"));
        for line in ["core --input", "core --input no-such-file"] {
            assert!(parsed(line).unwrap_err().contains("a file that is there"));
        }
        assert!(
            parsed("--input Cargo.toml")
                .unwrap_err()
                .contains("which target")
        );
    }

    #[test]
    fn every_target_of_the_crate_is_run() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let names: Vec<String> = TARGETS
            .iter()
            .map(|(name, _)| format!("path = \"targets/{name}.rs\""))
            .collect();
        assert_eq!(manifest.matches("[[bin]]").count(), names.len());
        for name in names {
            assert!(manifest.contains(&name), "{name}");
        }
    }
}
