//! A test that runs itself as a process of its own, to be killed or stopped.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use gtc::{Config, Coordinator, TransactionId, TransactionOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::setup::Setup;
use crate::support::{Result, record, show_events};
use crate::watchdog::end_at_last;

const FILE: &str = "GTC_TEST_CHILD";
const CRASH_AT: &str = "GTC_CRASH_AT";
/// Before everything that a child says; the test harness prints beside it.
const MARK: &str = "child says ";
const SIGKILL: i32 = 9;

/// The configuration, if this process is the child.
pub fn config_file() -> Option<PathBuf> {
    let file = std::env::var_os(FILE).map(PathBuf::from);
    file.inspect(|_| end_at_last())
}

/// Tells the parent.
pub fn say(what: impl Display) -> Result {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{what}")?;
    Ok(out.flush()?)
}

/// Waits for a line from the parent.
pub async fn told() -> Result<String> {
    let read = || {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    };
    let line = tokio::task::spawn_blocking(read).await??;
    Ok(line.trim().to_owned())
}

/// The child's side of most cases: opens, and commits one transaction that writes the
/// coordinator's id to the topic of that name on both clusters, with the id as its key.
pub async fn commit_one(file: PathBuf) -> Result {
    show_events();
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let name = coordinator.id().to_owned();
    let options = TransactionOptions::new().key(name.as_bytes());
    let transaction = coordinator.begin_with(options)?;
    say(transaction.id())?;
    for participant in ["eu", "us"] {
        let record = record(&name, name.as_bytes());
        transaction.send(participant, record).await?;
    }
    transaction.commit().await?;
    say("committed")?;
    Ok(coordinator.close().await?)
}

/// The child's side of a recovery.
pub async fn recover(file: PathBuf) -> Result {
    show_events();
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    coordinator.recovered().await?;
    // Its lazy records are written by this.
    coordinator.close().await?;
    say("recovered")
}

/// The parent's side; dropping it kills the child.
pub struct Child {
    process: std::process::Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Runs the test of this path again, as a child that is killed at a named step, if at all.
    pub fn start(test: &str, setup: &Setup, crash_at: Option<&str>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", test, "--nocapture"])
            .env(FILE, setup.file()?)
            .env_remove(CRASH_AT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(step) = crash_at {
            command.env(CRASH_AT, step);
        }
        let mut process = command.spawn()?;
        let input = process.stdin.take().ok_or("no standard input")?;
        let output = process.stdout.take().ok_or("no standard output")?;
        Ok(Self {
            process,
            input,
            output: BufReader::new(output),
        })
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next thing that it says.
    pub fn says(&mut self) -> Result<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line)? > 0 {
            if let Some((_, said)) = line.split_once(MARK) {
                return Ok(said.trim().to_owned());
            }
            line.clear();
        }
        Err(format!("the child ended early: {}", self.process.wait()?).into())
    }

    pub fn tell(&mut self, line: &str) -> Result {
        writeln!(self.input, "{line}")?;
        Ok(self.input.flush()?)
    }

    pub fn signal(&self, signal: Signal) -> Result {
        Ok(kill_process(Pid::from_child(&self.process), signal)?)
    }

    pub fn kill(mut self) -> Result {
        self.process.kill()?;
        let status = self.process.wait()?;
        expect_killed(status, "it was to be killed")
    }

    /// Waits until it has killed itself at its step.
    pub fn crashed(mut self, step: &str) -> Result {
        // Read on, or a full pipe would stop it.
        while self.says().is_ok() {}
        expect_killed(self.process.wait()?, step)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn expect_killed(status: ExitStatus, step: &str) -> Result {
    match status.signal() {
        Some(SIGKILL) => Ok(()),
        _ => Err(format!("{step}: not killed, but {status}").into()),
    }
}

/// A transaction of [`commit_one`], of which the process was killed at a step; returns its id.
pub fn killed_at(step: &str, test: &str, setup: &Setup) -> Result<TransactionId> {
    let mut child = Child::start(test, setup, Some(step))?;
    let id = child.says()?.parse()?;
    child.crashed(step)?;
    Ok(id)
}
