//! The file log against the bare disk: how many forced records a second, how many syncs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gtc::log::{DecisionLog, Durability, FileLog, FileLogOptions, LogWrite};

use crate::figures::{Scratch, median_and_p99, millis};

#[derive(clap::Args)]
pub struct Options {
    /// How long each part runs, in seconds.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Records that are waited for at once.
    #[arg(long, default_value_t = 64)]
    waiting: usize,
    /// Bytes of a record.
    #[arg(long, default_value_t = 256)]
    record_bytes: usize,
    /// The directory whose disk is measured.
    #[arg(long)]
    directory: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = Scratch::new(options.directory.as_deref(), "log")?;
    let mut ratios = Vec::new();
    println!(
        "batch of {} records of {} bytes",
        options.waiting, options.record_bytes
    );
    println!("round  disk syncs/s  p50 ms  p99 ms  log records/s  log syncs/s  of the disk's");
    for round in 1..=3 {
        let batch = options.record_bytes * options.waiting;
        let span = Duration::from_secs(options.seconds);
        let (syncs, p50, p99) = disk(scratch.path(), batch, span)?;
        let (records, batches) = log(scratch.path(), options, round)?;
        let ratio = batches / syncs;
        println!(
            "{round:<6} {syncs:<13.0} {:<7} {:<7} {records:<14.0} {batches:<12.0} {ratio:.2}",
            millis(p50),
            millis(p99)
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.2} (aim: at least 0.90)", ratios[1]);
    Ok(())
}

/// The median and 99th percentile of one small append with its sync.
pub fn one_sync(
    directory: &Path,
    span: Duration,
) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let (_, p50, p99) = disk(directory, 512, span)?;
    Ok((p50, p99))
}

/// Appends a batch to a preallocated file and syncs it, over and over.
fn disk(
    directory: &Path,
    batch_bytes: usize,
    span: Duration,
) -> Result<(f64, Duration, Duration), Box<dyn std::error::Error>> {
    let path = directory.join("disk");
    let batch = vec![7_u8; batch_bytes];
    let room = 64 * 1024 * 1024;
    let mut file = File::create(&path)?;
    file.write_all(&vec![0; room])?;
    file.sync_all()?;
    let mut samples = Vec::new();
    let begun = Instant::now();
    let mut offset = 0;
    while begun.elapsed() < span {
        let one = Instant::now();
        std::os::unix::fs::FileExt::write_all_at(&file, &batch, offset as u64)?;
        file.sync_data()?;
        samples.push(one.elapsed());
        offset = (offset + batch.len()) % (room - batch.len());
    }
    let rate = samples.len() as f64 / begun.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    let (p50, p99) = median_and_p99(samples);
    Ok((rate, p50, p99))
}

/// Keeps `waiting` forced records under way from one thread: records and syncs a second.
fn log(
    directory: &Path,
    options: &Options,
    round: u32,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let directory = directory.join(format!("log-{round}"));
    let (log, _) = FileLog::open(FileLogOptions::new(directory, "bench"))?;
    let log = Arc::new(log);
    let submit = || {
        let entries = vec![vec![7_u8; options.record_bytes]];
        log.submit(LogWrite::Append {
            entries,
            durability: Durability::Forced,
        })
    };
    let mut waiting: std::collections::VecDeque<_> =
        (0..options.waiting).map(|_| submit()).collect();
    let mut done = 0_u64;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(options.seconds) {
        if let Some(receipt) = waiting.pop_front() {
            receipt.wait()?;
            done += 1;
            waiting.push_back(submit());
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let rates = (done as f64 / seconds, log.batches() as f64 / seconds);
    for receipt in waiting {
        receipt.wait()?;
    }
    log.close().wait()?;
    Ok(rates)
}
