//! Every language recovers what another has left: its sample crash-and-recover is killed between
//! decision and completion, and that of the next language finds the same log. In the end a consumer
//! of Kafka's own must see each transfer once, on both clusters.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::Language;
use super::clusters::{Clusters, NAMES};
use crate::command::{Failure, report, root};
use crate::test_run::Sum;

const TOPIC: &str = "crash-and-recover";
/// What the samples write, each to the cluster at its place.
const AMOUNTS: [&str; 2] = ["-100", "+100"];
/// What a reader reads up to. Behind an open transaction it would not get there.
const END: &str = "the end of what was written before";
/// What a sample says that has found the transfer committed.
const FOUND: &str = "was booked before";
const SIGKILL: i32 = 9;
const PATIENCE: Duration = Duration::from_secs(120);

/// How the sample of a language is called.
type Sample = (&'static str, fn() -> Result<Command, Failure>);

/// Each of the languages leaves a crash to the next one, the last one to the first.
pub(super) fn test(clusters: &Clusters, languages: &[&Language]) -> Result<Sum, Failure> {
    let start = Instant::now();
    eprintln!("xtask: crashes ...");
    let samples: Vec<Sample> = languages
        .iter()
        .filter_map(|language| Some((language.name, language.crash?)))
        .collect();
    // One that was not built here fails before any crash: whoever reads the clusters in the end would wait for its transfer.
    for (_, sample) in &samples {
        sample()?;
    }
    for address in addresses(clusters) {
        make_topic(&address)?;
    }
    let mut sum = Sum::default();
    let next = samples.iter().cycle().skip(1);
    for (killed, recovers) in samples.iter().zip(next) {
        let (left, found) = (killed.0, recovers.0);
        let name = format!("{found} recovers what {left} had decided");
        count(&mut sum, &name, recover(clusters, *killed, *recovers));
    }
    for (address, amount) in addresses(clusters).zip(AMOUNTS) {
        let name = format!("{address} shows each transfer once");
        let seen = see(&address, vec![amount; samples.len()]);
        count(&mut sum, &name, seen);
    }
    report("crashes", start);
    Ok(sum)
}

fn count(sum: &mut Sum, name: &str, result: Result<(), Failure>) {
    match result {
        Ok(()) => {
            println!("ok {name}");
            sum.passed += 1;
        }
        Err(failure) => {
            println!("not ok {name}: {failure}");
            sum.failed += 1;
        }
    }
}

fn recover(clusters: &Clusters, killed: Sample, recovers: Sample) -> Result<(), Failure> {
    let crash = Crash::new(clusters, killed.0)?;
    crash.leave(killed.1()?)?;
    crash.find(recovers.1()?)
}

fn see(address: &str, mut expected: Vec<&str>) -> Result<(), Failure> {
    expected.push(END);
    let seen = read(address, expected.len())?;
    match seen == expected {
        true => Ok(()),
        false => Err(Failure::new(format!("it shows {seen:?}"))),
    }
}

fn addresses(clusters: &Clusters) -> impl Iterator<Item = String> {
    clusters.addresses().map(|(_, address)| address)
}

/// A coordinator that is killed; its directory goes away with it.
struct Crash {
    killed: &'static str,
    home: PathBuf,
}

impl Crash {
    fn new(clusters: &Clusters, killed: &'static str) -> Result<Self, Failure> {
        let home = root().join("target/languages/crash").join(killed);
        // An earlier run may have been interrupted.
        let _ = std::fs::remove_dir_all(&home);
        let made = std::fs::create_dir_all(&home).and_then(|()| home.canonicalize());
        let home = made.map_err(|cause| about(killed, &cause))?;
        let crash = Self { killed, home };
        clusters
            .configure(&format!("crash-{killed}"), &crash.config())
            .map_err(|cause| about(killed, &cause))?;
        Ok(crash)
    }

    fn config(&self) -> PathBuf {
        self.home.join("gtc.toml")
    }

    /// Kills the sample once its decision is on disk, and before anybody is told.
    fn leave(&self, mut sample: Command) -> Result<(), Failure> {
        sample.env("GTC_CRASH_AT", "append-decided:after");
        let ended = self.run(sample)?;
        match ended.status.signal() {
            Some(SIGKILL) => Ok(()),
            _ => Err(Failure::new(format!(
                "the sample was not killed: this needs a build with the feature crash-points, as \
                 `cargo xtask languages {}` makes it\n{}",
                self.killed,
                told(&ended)
            ))),
        }
    }

    /// Has another sample recover, which then knows that the transfer was booked.
    fn find(&self, sample: Command) -> Result<(), Failure> {
        let ended = self.run(sample)?;
        let text = told(&ended);
        match ended.status.success() && text.contains(FOUND) {
            true => Ok(()),
            false => Err(Failure::new(format!(
                "it ended with {} and without `{FOUND}`\n{text}",
                ended.status
            ))),
        }
    }

    fn run(&self, mut sample: Command) -> Result<Output, Failure> {
        sample.arg(self.config()).args(NAMES).arg(TOPIC);
        run(sample, "")
    }
}

impl Drop for Crash {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Fails where the package of a language was not built here.
pub(super) fn require_built(language: &str, file: &Path) -> Result<(), Failure> {
    match file.exists() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "there is no {}: run `cargo xtask languages {language}` first, or name the languages \
             that recover each other, as in `cargo xtask languages c java crash`",
            file.display()
        ))),
    }
}

/// Runs a program to its end, which it may not put off.
fn run(mut command: Command, input: &str) -> Result<Output, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |cause: io::Error| about(&program, &cause);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read its input may have closed it.
        let _ = stdin.write_all(input.as_bytes());
    }
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() > deadline {
            child.kill().map_err(failed)?;
            let ended = child.wait_with_output().map_err(failed)?;
            let text = told(&ended);
            return Err(Failure::new(format!("{program} does not end\n{text}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().map_err(failed)
}

fn told(ended: &Output) -> String {
    let texts = [&ended.stdout, &ended.stderr];
    texts.map(|text| String::from_utf8_lossy(text)).concat()
}

fn about(subject: &str, cause: &io::Error) -> Failure {
    Failure::new(format!("{subject}: {cause}"))
}

fn make_topic(address: &str) -> Result<(), Failure> {
    let make = ["--create", "--topic", TOPIC, "--partitions", "1"];
    tool("TopicCommand", address, &make, "").map(drop)
}

/// The values that a read_committed consumer sees, up to one that is written now: so many.
fn read(address: &str, count: usize) -> Result<Vec<String>, Failure> {
    let write = ["--topic", TOPIC];
    tool("ConsoleProducer", address, &write, &format!("{END}\n"))?;
    let (count, patience) = (count.to_string(), PATIENCE.as_millis().to_string());
    let mut read = vec!["--topic", TOPIC, "--from-beginning"];
    read.extend(["--isolation-level", "read_committed"]);
    read.extend(["--max-messages", &count, "--timeout-ms", &patience]);
    let seen = tool("consumer.ConsoleConsumer", address, &read, "")?;
    Ok(seen.lines().map(str::to_owned).collect())
}

/// Runs a tool of Kafka's, which knows nothing of gtc.
fn tool(class: &str, address: &str, words: &[&str], input: &str) -> Result<String, Failure> {
    let mut command = gtc_clusters::kafka_tool(&format!("org.apache.kafka.tools.{class}"))?;
    command.args(["--bootstrap-server", address]).args(words);
    let ended = run(command, input)?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(Failure::new(format!(
            "{class} at {address} ended with {}\n{}",
            ended.status,
            told(&ended)
        ))),
    }
}
