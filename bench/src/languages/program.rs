//! Rust's program, by the façade: what the bindings call, and nothing around it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gtc::facade::{Coordinator, Source};
use gtc::{Record, TransactionOptions};

use super::NAMES;

#[derive(clap::Args)]
pub struct Options {
    /// The configuration.
    config: PathBuf,
    /// The topic to write to.
    topic: String,
    /// Records a transaction and cluster.
    batch: usize,
    /// How long a turn is: there is one for each line of standard input.
    seconds: f64,
}

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let coordinator = Coordinator::open(Source::File(options.config.clone())).wait()?;
    coordinator.recover().wait()?;
    for turn in std::io::stdin().lines() {
        turn?;
        let begun = Instant::now();
        let transactions = transact(&coordinator, options)?;
        let seconds = begun.elapsed().as_secs_f64();
        let records = transactions * options.batch * NAMES.len();
        println!(
            "{{\"transactions\": {transactions}, \"records\": {records}, \"seconds\": {seconds}}}"
        );
    }
    coordinator.close().wait()?;
    Ok(())
}

/// One transaction after the other, for so long; tells how many.
fn transact(coordinator: &Coordinator, options: &Options) -> Result<usize, gtc::Error> {
    let (value, begun) = (Bytes::from_static(&[7; 100]), Instant::now());
    let span = Duration::from_secs_f64(options.seconds);
    let mut transactions = 0;
    while begun.elapsed() < span {
        let transaction = coordinator.begin(TransactionOptions::new())?;
        for participant in NAMES {
            let record = || Record {
                value: Some(value.clone()),
                ..Record::to(&*options.topic)
            };
            let records = (0..options.batch).map(|_| record()).collect();
            transaction.send_many(participant, records).wait()?;
        }
        transaction.commit().wait()?;
        transactions += 1;
    }
    Ok(transactions)
}
