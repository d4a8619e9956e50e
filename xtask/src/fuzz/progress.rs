//! What a fuzzer says while it runs, and what came of it.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::command::Failure;

/// How often progress is shown.
const PACE: Duration = Duration::from_secs(10);

/// What a target's run came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    name: &'static str,
    seconds: u64,
    executions: u64,
    coverage: u64,
    /// Where the input lies that broke something.
    input: Option<String>,
    failed: bool,
}

impl Finding {
    pub(super) const HEAD: &'static str = "target          seconds   executions  coverage  found";

    pub(super) fn is_bad(&self) -> bool {
        self.failed
    }

    /// Reads a line of libFuzzer's.
    fn hear(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        if let Some(count) = words.next().and_then(|word| word.strip_prefix('#')) {
            self.executions = count.parse().unwrap_or(self.executions);
            let mut words = words.skip_while(|word| *word != "cov:").skip(1);
            let coverage = words.next().and_then(|word| word.parse().ok());
            self.coverage = coverage.unwrap_or(self.coverage);
        }
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = count.trim().parse().unwrap_or(self.executions);
        }
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.input = Some(path.trim().to_owned());
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = match (&self.input, self.failed) {
            (Some(path), _) => path,
            (None, true) => "it failed: see its log",
            (None, false) => "nothing",
        };
        write!(
            f,
            "{:14} {:>8} {:>12} {:>9}  {found}",
            self.name, self.seconds, self.executions, self.coverage
        )
    }
}

/// Runs one target and tells how it goes.
pub(super) struct Watch {
    name: &'static str,
    time: Duration,
    log: PathBuf,
}

impl Watch {
    /// Everything that the target prints goes to `log`.
    pub(super) fn new(name: &'static str, time: Duration, log: PathBuf) -> Self {
        Self { name, time, log }
    }

    pub(super) fn run(&self, mut command: Command) -> Result<Finding, Failure> {
        let failed = |cause: std::io::Error| Failure::new(format!("{}: {cause}", self.name));
        let start = Instant::now();
        let mut finding = Finding {
            name: self.name,
            ..Finding::default()
        };
        let mut log = File::create(&self.log).map_err(failed)?;
        let mut child = command.spawn().map_err(failed)?;
        let lines = lines(child.stderr.take());
        let mut shown = Instant::now();
        loop {
            match lines.recv_timeout(PACE) {
                Ok(line) => {
                    writeln!(log, "{line}").map_err(failed)?;
                    finding.hear(&line);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if shown.elapsed() >= PACE {
                shown = Instant::now();
                self.show(&finding, start);
            }
        }
        finding.failed = !child.wait().map_err(failed)?.success();
        finding.seconds = start.elapsed().as_secs();
        if finding.failed {
            self.tell(&finding);
        }
        Ok(finding)
    }

    fn show(&self, finding: &Finding, start: Instant) {
        eprintln!(
            "xtask: fuzz {}: {} of {} s, {} executions, coverage {}",
            self.name,
            start.elapsed().as_secs(),
            self.time.as_secs(),
            finding.executions,
            finding.coverage
        );
    }

    fn tell(&self, finding: &Finding) {
        let input = finding.input.as_deref().unwrap_or("INPUT");
        eprintln!(
            "xtask: fuzz {} found something; its words are in {}. Repeat it:\n  \
             cargo xtask fuzz {} --input {input}",
            self.name,
            self.log.display(),
            self.name
        );
    }
}

/// The lines of a stream, from a thread of their own.
fn lines(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = stream {
        std::thread::spawn(move || {
            let lines = BufReader::new(stream).split(b'\n').map_while(Result::ok);
            for line in lines {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_says_is_counted() {
        let mut finding = Finding::default();
        finding.hear("INFO: Loaded 1 modules");
        finding.hear("#4545\tNEW    cov: 3075 ft: 4376 corp: 28/658b lim: 33 exec/s: 505");
        assert_eq!((finding.executions, finding.coverage), (4545, 3075));
        finding.hear("stat::number_of_executed_units: 5000");
        assert_eq!(finding.executions, 5000);
        assert!(finding.to_string().ends_with("nothing"));
        finding.hear("artifact_prefix='a/'; Test unit written to a/crash-12");
        assert!(finding.to_string().ends_with("a/crash-12"));
    }
}
