//! The process that is killed: this program once more, with a job in its environment.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::job::{App, Job, ROUNDS, Result};
use crate::own::{Ask, OwnWriter};

/// Holds the job.
pub const JOB: &str = "GTC_CRASH_MATRIX_JOB";
/// A child that takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(90);
const SIGKILL: i32 = 9;

/// How a child ended.
pub struct Life {
    /// By its crash point, or in order.
    pub killed: bool,
    /// The values whose commit it was told.
    pub told: Vec<String>,
}

/// What is asked of a child beside its job.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Its crash point.
    pub crash: Option<String>,
    /// The file that gets the points it passes.
    pub trace: Option<PathBuf>,
}

/// Runs a child to its end; an end that nobody asked for is an error.
pub fn run(job: &Job, orders: &Orders, ask: &Ask) -> Result<Life> {
    std::fs::create_dir_all(job.log.parent().unwrap_or(&job.log))?;
    let errors = job.log.with_extension("stderr");
    let mut command = Command::new(std::env::current_exe()?);
    command.env(JOB, serde_json::to_string(job)?);
    if let Some(crash) = &orders.crash {
        command.env("GTC_CRASH_AT", crash);
    }
    if let Some(trace) = &orders.trace {
        command.env("GTC_CRASH_TRACE", trace);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors)?)
        .spawn()?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (mut input, output) = pipes.ok_or("the pipes of the child")?;
    let mut told = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line?;
        if let Some(question) = line.strip_prefix("ask ") {
            let answer = ask(question)?;
            // A child that was killed meanwhile does not want to know.
            let _ = writeln!(input, "{answer}");
        } else if let Some(value) = line.strip_prefix("committed ") {
            told.push(value.to_owned());
        }
    }
    let status = child.wait()?;
    let killed = status.signal() == Some(SIGKILL);
    if killed || status.success() {
        return Ok(Life { killed, told });
    }
    let errors = std::fs::read_to_string(errors)?;
    Err(format!("the child ended with {status}: {}", errors.trim()).into())
}

/// The child's side.
pub fn main(job: &str) -> Result {
    let filter = tracing_subscriber::EnvFilter::from_env("GTC_LOG");
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let job: Job = serde_json::from_str(job)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let lived = tokio::time::timeout(PATIENCE, live(&job)).await;
        lived.unwrap_or_else(|_| Err("stuck".into()))
    })
}

async fn live(job: &Job) -> Result {
    if job.mode.recovers() {
        let coordinator = job.open().await?;
        job.forget_mixed(&coordinator).await?;
        coordinator.close().await?;
        return Ok(());
    }
    let ask: Ask = Arc::new(ask_parent);
    let coordinator = job.open().await?;
    let mut app = App {
        own: OwnWriter::open(job, &ask)?,
        tell: |value| println!("committed {value}"),
    };
    for round in 0..ROUNDS {
        let value = job.round_value(round);
        job.transact(&coordinator, &value, &mut app).await?;
    }
    let open = || coordinator.status().participants.into_iter();
    while open().any(|participant| participant.slots_open > 0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    coordinator.close().await?;
    Ok(())
}

fn ask_parent(line: &str) -> Result<String> {
    println!("ask {line}");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}
