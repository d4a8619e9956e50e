//! Books one transfer on two clusters: both bookings become visible, or neither.
//!
//! ```text
//! cargo run -p gtc --example transfer -- gtc.toml eu us transfers
//! ```
//! The topic must exist on both clusters. The transaction carries a key, so that after a crash
//! during commit the program can ask what became of it instead of booking twice.

use std::process::ExitCode;

use gtc::{Config, Coordinator, Error, ErrorKind, KnownOutcome, Record, Retry, TransactionOptions};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, from, to, topic] = arguments.as_slice() else {
        eprintln!("usage: transfer CONFIG FROM TO TOPIC");
        return ExitCode::from(2);
    };
    match run(file, (from, to), topic).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(file: &str, between: (&str, &str), topic: &str) -> Result<(), Error> {
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    // What an earlier run left open is finished first, so that the answer below is final.
    coordinator.recovered().await?;
    let key = "transfer-1";
    match coordinator.outcome_by_key(key.as_bytes()) {
        Some((id, KnownOutcome::Committed)) => println!("{key} was booked before, as {id}"),
        _ => transfer(&coordinator, key, between, topic).await?,
    }
    coordinator.close().await
}

async fn transfer(
    coordinator: &Coordinator,
    key: &str,
    (from, to): (&str, &str),
    topic: &str,
) -> Result<(), Error> {
    loop {
        let transaction = coordinator.begin_with(TransactionOptions::new().key(key))?;
        transaction.send(from, booking(topic, key, "-100")).await?;
        transaction.send(to, booking(topic, key, "+100")).await?;
        match transaction.commit().await {
            Ok(committed) => {
                println!("{key} is booked, as {}", committed.id);
                return Ok(());
            }
            // Nothing is visible, and another attempt may go better. In doubt it must not run again.
            Err(error) if error.kind() == ErrorKind::Aborted && error.retry() == Retry::Later => {
                eprintln!("again: {error}");
            }
            Err(error) => return Err(error),
        }
    }
}

fn booking(topic: &str, key: &str, amount: &'static str) -> Record {
    Record {
        key: Some(key.to_owned().into()),
        value: Some(amount.into()),
        ..Record::to(topic)
    }
}
