//! The file log against the bare disk: how many forced records a second, how many syncs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gtc::log::{DecisionLog, Durability, FileLog, FileLogOptions, LogWrite};

use crate::figures::{Scratch, median_and_p99, millis};

/// Both are measured in turns as short as this, so that what the disk does otherwise meets both.
const TURN: Duration = Duration::from_millis(250);

#[derive(clap::Args)]
pub struct Options {
    /// How long each part of a round runs, in seconds.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
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

impl Options {
    /// What the log writes for a full batch: a length beside each record, a header and a trailer. So the bare disk
    /// gets as many bytes, and they cross the borders of its pages as often.
    const fn frame_bytes(&self) -> usize {
        32 + (4 + self.record_bytes) * self.waiting + 8
    }
}

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = Scratch::new(options.directory.as_deref(), "log")?;
    let mut disk = Disk::open(scratch.path(), options.frame_bytes())?;
    let (log, _) = FileLog::open(FileLogOptions::new(scratch.path().join("log"), "bench"))?;
    let mut ratios = Vec::new();
    println!(
        "batch of {} records of {} bytes",
        options.waiting, options.record_bytes
    );
    println!("round  disk syncs/s  p50 ms  p99 ms  log records/s  log syncs/s  of the disk's");
    for round in 1..=options.rounds {
        let ratio = measure(round, options, &mut disk, &log)?;
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    println!("median ratio {median:.2} (aim: at least 0.90)");
    log.close().wait()?;
    Ok(())
}

/// One round, in turns; the rate of the log's syncs by that of the disk's.
fn measure(
    round: usize,
    options: &Options,
    disk: &mut Disk,
    log: &FileLog,
) -> Result<f64, Box<dyn std::error::Error>> {
    let turns = (Duration::from_secs(options.seconds).as_millis() / TURN.as_millis()).max(1);
    let (mut samples, mut disk_s) = (Vec::new(), 0.0);
    let (mut records, mut syncs, mut log_s) = (0, 0, 0.0);
    for _ in 0..turns {
        let begun = Instant::now();
        disk.turn(TURN, &mut samples)?;
        disk_s += begun.elapsed().as_secs_f64();
        let (begun, before) = (Instant::now(), log.batches());
        records += turn(log, options)?;
        syncs += log.batches() - before;
        log_s += begun.elapsed().as_secs_f64();
    }
    let disk_rate = samples.len() as f64 / disk_s;
    let log_rate = syncs as f64 / log_s;
    let ratio = log_rate / disk_rate;
    let (p50, p99) = median_and_p99(samples);
    println!(
        "{round:<6} {disk_rate:<13.0} {:<7} {:<7} {:<14.0} {log_rate:<12.0} {ratio:.2}",
        millis(p50),
        millis(p99),
        records as f64 / log_s,
    );
    Ok(ratio)
}

/// The median and 99th percentile of one small append with its sync.
pub fn one_sync(
    directory: &Path,
    span: Duration,
) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let mut disk = Disk::open(directory, 512)?;
    let mut samples = Vec::new();
    disk.turn(span, &mut samples)?;
    Ok(median_and_p99(samples))
}

/// A file that holds zeros, and where the next batch goes.
struct Disk {
    file: File,
    path: PathBuf,
    batch: Vec<u8>,
    offset: usize,
}

impl Disk {
    const ROOM: usize = 64 << 20;

    fn open(directory: &Path, batch_bytes: usize) -> std::io::Result<Self> {
        let path = directory.join("disk");
        let mut file = File::create(&path)?;
        file.write_all(&vec![0; Self::ROOM])?;
        file.sync_all()?;
        Ok(Self {
            file,
            path,
            batch: vec![7; batch_bytes],
            offset: 0,
        })
    }

    /// Appends a batch and syncs it, over and over.
    fn turn(&mut self, span: Duration, samples: &mut Vec<Duration>) -> std::io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < span {
            let one = Instant::now();
            self.file.write_all_at(&self.batch, self.offset as u64)?;
            self.file.sync_data()?;
            samples.push(one.elapsed());
            self.offset = (self.offset + self.batch.len()) % (Self::ROOM - self.batch.len());
        }
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The directory that it lies in is removed as well.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Keeps `waiting` forced records under way from one thread; how many became durable.
fn turn(log: &FileLog, options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    let submit = || {
        let entries = vec![vec![7_u8; options.record_bytes]];
        log.submit(LogWrite::Append {
            entries,
            durability: Durability::Forced,
        })
    };
    let begun = Instant::now();
    let mut waiting: VecDeque<_> = (0..options.waiting).map(|_| submit()).collect();
    let mut done = 0;
    while let Some(receipt) = waiting.pop_front() {
        receipt.wait()?;
        done += 1;
        if begun.elapsed() < TURN {
            waiting.push_back(submit());
        }
    }
    Ok(done)
}
