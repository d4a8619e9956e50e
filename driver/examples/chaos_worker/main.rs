//! The workload of the chaos run (`gtc-chaos faults`): one coordinator with several lanes of transactions, killed and
//! started again from outside.
//!
//! ```text
//! chaos_worker SETUP.json LIFE work|finish
//! ```
//! It writes into a journal of its own what it is about to do and what gtc told it, before and after each call. A kill
//! leaves at worst a transaction of which nothing was told. SIGTERM ends it in order; `finish` ends what earlier lives
//! left open, writes down what is still listed, and forgets the heuristic outcomes it has written down.
//!
//! Exit codes: 0 ended as asked, 1 could not work, 4 the coordinator stopped for good.

mod chance;
mod derive;
mod journal;
mod lane;
mod own;
mod settle;
mod setup;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gtc::{Config, Coordinator, Error, Transaction, TransactionOptions};
use tracing_subscriber::EnvFilter;

use crate::journal::{Journal, Line};
use crate::setup::Setup;

/// Whatever went wrong, for the log of the run.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

const LOOK_EVERY: Duration = Duration::from_millis(300);
const STOPPED: i32 = 4;

/// What all lanes of a life share.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) life: u32,
    pub(crate) journal: Journal,
    pub(crate) coordinator: Coordinator,
    pub(crate) doubts: settle::Doubts,
    numbers: AtomicU64,
    ending: AtomicBool,
}

impl World {
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// A name that no other transaction of the run has.
    pub(crate) fn name(&self, lane: u32) -> String {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        format!("{}-{lane}-{}-{number}", self.setup.name, self.life)
    }

    /// Begins a transaction whose outcome can be asked for by its name, if it `is_keyed`.
    pub(crate) fn begin(&self, tx: &str, is_keyed: bool) -> Result<Transaction, Error> {
        let options = match is_keyed {
            true => TransactionOptions::new().key(self.setup.key(tx)),
            false => TransactionOptions::new(),
        };
        let transaction = self.coordinator.begin_with(options)?;
        let id = transaction.id().to_string();
        self.journal.write(&Line::Begun { tx, id: &id });
        Ok(transaction)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, life, mode] = arguments.as_slice() else {
        eprintln!("usage: chaos_worker SETUP.json LIFE work|finish");
        return ExitCode::from(2);
    };
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::from_env("GTC_LOG"))
        .with_writer(std::io::stderr)
        .init();
    match run(file, life, mode == "finish").await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(file: &str, life: &str, finishes: bool) -> Result<(), Failure> {
    let setup = Setup::read(file)?;
    let life = life.parse()?;
    let past = journal::untold(&setup.journal)?;
    let journal = Journal::open(&setup.journal)?;
    let process = std::process::id();
    journal.write(&Line::Life {
        life,
        process,
        finishes,
    });
    let coordinator = Coordinator::open(Config::from_file(&setup.config)?).await?;
    let world = Arc::new(World {
        setup,
        life,
        journal,
        coordinator,
        doubts: settle::Doubts::default(),
        numbers: AtomicU64::new(0),
        ending: AtomicBool::new(finishes),
    });
    // Before anything new is done, as an application would that must not book twice.
    world.doubts.add(past);
    world.doubts.ask(&world);
    tokio::spawn(look_after(world.clone()));
    match finishes {
        true => settle::finish(&world).await?,
        false => work(&world).await?,
    }
    Ok(())
}

/// Runs the lanes until SIGTERM.
async fn work(world: &Arc<World>) -> Result<(), Failure> {
    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..world.setup.lanes {
        lanes.spawn(lane::run(world.clone(), lane));
    }
    let mut lane = world.setup.lanes;
    if world.setup.derives {
        lanes.spawn(derive::run(world.clone(), lane));
        lane += 1;
    }
    for own in world.setup.own.clone() {
        lanes.spawn(own::run(world.clone(), lane, own));
        lane += 1;
    }
    let mut asked = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    asked.recv().await;
    world.ending.store(true, Ordering::Relaxed);
    while let Some(ended) = lanes.join_next().await {
        ended?;
    }
    Ok(world.coordinator.close().await?)
}

/// Asks what became of doubtful transactions, and ends the life where the coordinator has stopped for good.
async fn look_after(world: Arc<World>) {
    let mut told_stopped = Vec::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        world.doubts.ask(&world);
        let status = world.coordinator.status();
        for participant in status.participants {
            if participant.state == "stopped" && !told_stopped.contains(&participant.name) {
                world.journal.write(&Line::ParticipantStopped {
                    participant: &participant.name,
                    why: participant.detail.as_deref().unwrap_or_default(),
                });
                told_stopped.push(participant.name);
            }
        }
        if let Some(why) = status.stopped.filter(|_| !world.is_ending()) {
            world.journal.write(&Line::Stopped { why: &why });
            std::process::exit(STOPPED);
        }
    }
}
