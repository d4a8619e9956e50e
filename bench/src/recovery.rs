//! How fast a log of many records is read back and replayed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use gtc::log::{DecisionLog, Durability, FileLog, FileLogOptions, LogWrite};
use gtc_core::{
    BranchIdentity, DecidedBranch, Decision, Incarnation, Ledger, ProducerIdentity, Record,
    TransactionId, VersionClass,
};

use crate::figures::Scratch;

#[derive(clap::Args)]
pub struct Options {
    /// Records in the log: a decision and a completion a transaction.
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// The directory to write the log in.
    #[arg(long)]
    directory: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = Scratch::new(options.directory.as_deref(), "recovery")?;
    let directory = scratch.path().join("log");
    let (log, _) = FileLog::open(FileLogOptions::new(&directory, "bench"))?;
    let mut waiting = Vec::new();
    for sequence in 1..=options.records / 2 {
        let entries = records(sequence).iter().map(Record::encode).collect();
        waiting.push(log.submit(LogWrite::Append {
            entries,
            durability: Durability::Lazy,
        }));
        if waiting.len() == 10_000 {
            waiting.drain(..).try_for_each(gtc::log::Receipt::wait)?;
        }
    }
    waiting.drain(..).try_for_each(gtc::log::Receipt::wait)?;
    log.close().wait()?;

    let begun = Instant::now();
    let (log, replay) = FileLog::open(FileLogOptions::new(&directory, "bench"))?;
    let opened = begun.elapsed();
    let mut ledger = Ledger::new();
    for entry in &replay.entries {
        ledger.apply(Record::decode(entry)?)?;
    }
    let whole = begun.elapsed();
    println!("records            {}", replay.entries.len());
    println!("read and forced    {:.2} s", opened.as_secs_f64());
    println!("and replayed       {:.2} s", whole.as_secs_f64());
    println!("left unfinished    {}", ledger.list().len());
    println!("aim                2 s for 1,000,000");
    log.close().wait()?;
    Ok(())
}

fn records(sequence: u64) -> [Record; 2] {
    let transaction = TransactionId {
        incarnation: Incarnation(1),
        sequence,
    };
    let branch = |participant: &str| DecidedBranch {
        participant: Arc::from(participant),
        identity: BranchIdentity {
            transactional_id: format!(
                "gtc.bench.0000000000000001.1.{participant}.{}",
                sequence % 16
            )
            .into(),
            producer: ProducerIdentity {
                producer_id: 7,
                epoch: 0,
            },
            start_time_ms: 1_700_000_000_000,
            timeout_ms: 900_000,
            version_class: VersionClass::V1,
        },
        own: false,
    };
    let branches = Arc::new([branch("eu"), branch("us")]);
    let unix_ms = 1_700_000_000_000;
    [
        Record::Decided {
            transaction,
            key: None,
            unix_ms,
            branches,
        },
        Record::Completed {
            transaction,
            decision: Decision::Commit,
            key: None,
            unix_ms,
        },
    ]
}
