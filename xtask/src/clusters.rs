//! `cargo xtask clusters`.

use gtc_clusters::up::{Standing, Status};

use crate::command::Failure;
use crate::help;
use crate::prerequisites::{Need, require};
use crate::records;

const DEFAULT_COUNT: usize = 2;
/// After which a reader has seen all that there is.
const SILENCE_MS: &str = "3000";
/// The same where it has seen nothing of a topic that was written to: a busy broker is slow to answer at first.
const LONG_SILENCE_MS: &str = "20000";
/// Each broker takes about 300 MB.
const LARGEST_COUNT: usize = 9;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["up"] => up(DEFAULT_COUNT),
        ["up", count] => up(parse_count(count)?),
        ["down"] => down(),
        ["status"] => status(),
        ["topic", name] => topic(name),
        ["write", name, ref values @ ..] => write(name, values),
        ["read", name] => read(name),
        _ => Err(Failure::usage(format!(
            "say up, down, status, topic, write or read\n\n{}",
            help::of("clusters").unwrap_or_default()
        ))),
    }
}

fn parse_count(word: &str) -> Result<usize, Failure> {
    match word.parse() {
        Ok(count) if (1..=LARGEST_COUNT).contains(&count) => Ok(count),
        _ => Err(Failure::usage(format!(
            "`{word}` is not a number from 1 to {LARGEST_COUNT}"
        ))),
    }
}

fn up(count: usize) -> Result<(), Failure> {
    require(&[Need::Clusters])?;
    eprintln!("xtask: starting {count} clusters; the first time, Maven fetches Kafka's jars");
    print_table(&Standing::default().up(count)?);
    Ok(())
}

fn down() -> Result<(), Failure> {
    match Standing::default().down()? {
        names if names.is_empty() => println!("no cluster was up"),
        names => println!("ended {}", names.join(", ")),
    }
    Ok(())
}

/// Those that are up, of which there has to be one.
fn standing() -> Result<Vec<Status>, Failure> {
    let clusters = Standing::default().status()?;
    match clusters.is_empty() {
        true => Err(Failure::new(
            "no cluster is up; `cargo xtask clusters up` starts two",
        )),
        false => Ok(clusters),
    }
}

fn topic(name: &str) -> Result<(), Failure> {
    for cluster in standing()? {
        records::make_topic(&cluster.bootstrap, name)?;
        println!("{} has {name}", cluster.name);
    }
    Ok(())
}

/// On the first one: what reads there and writes elsewhere has something to read.
fn write(name: &str, values: &[&str]) -> Result<(), Failure> {
    let first = &standing()?[0];
    // Kafka's producer says nothing by its exit code.
    if !records::has_topic(&first.bootstrap, name)? {
        return all_have(name, std::slice::from_ref(&first.name));
    }
    records::write(&first.bootstrap, name, values)?;
    println!("{} of {name} has {} more", first.name, values.len());
    Ok(())
}

fn read(name: &str) -> Result<(), Failure> {
    let mut lacking = Vec::new();
    for cluster in standing()? {
        if !records::has_topic(&cluster.bootstrap, name)? {
            lacking.push(cluster.name);
            continue;
        }
        let records = read_one(&cluster.bootstrap, name)?;
        for record in &records {
            println!("{}: {record}", cluster.name);
        }
        println!("{}: {} in all", cluster.name, records.len());
    }
    all_have(name, &lacking)
}

/// Kafka's reader ends by a silence, and cannot tell that of an end from that of a beginning.
fn read_one(address: &str, topic: &str) -> Result<Vec<String>, Failure> {
    if records::end(address, topic)? == 0 {
        return Ok(Vec::new());
    }
    match records::read(address, topic, &["--timeout-ms", SILENCE_MS])? {
        none if none.is_empty() => {
            records::read(address, topic, &["--timeout-ms", LONG_SILENCE_MS])
        }
        records => Ok(records),
    }
}

/// Nothing was written to a topic with a slip in its name, which looks like a topic without records.
fn all_have(topic: &str, lacking: &[String]) -> Result<(), Failure> {
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "no topic {topic} on {}; correct the name, or make it with `cargo xtask clusters topic {topic}`",
            lacking.join(", ")
        ))),
    }
}

/// Fails where one is not healthy, so that a script can ask.
fn status() -> Result<(), Failure> {
    let clusters = Standing::default().status()?;
    if clusters.is_empty() {
        println!("no cluster is up; `cargo xtask clusters up` starts two");
        return Ok(());
    }
    print_table(&clusters);
    let ill: Vec<&str> = clusters
        .iter()
        .filter(|one| !one.healthy)
        .map(|one| one.name.as_str())
        .collect();
    match ill.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "not healthy: {}; `cargo xtask clusters up {}` starts what has ended",
            ill.join(", "),
            clusters.len()
        ))),
    }
}

fn print_table(clusters: &[Status]) {
    for line in table(clusters) {
        println!("{line}");
    }
}

fn table(clusters: &[Status]) -> Vec<String> {
    let head = ["name", "pid", "bootstrap", "health", "log"].map(String::from);
    let rows = clusters.iter().map(row);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line += &format!("{cell:width$}  ");
        }
        line + &row[4]
    };
    rows.iter().map(line).collect()
}

fn row(cluster: &Status) -> [String; 5] {
    let health = match (cluster.running, cluster.healthy) {
        (true, true) => "healthy",
        (true, false) => "does not answer",
        (false, _) => "ended",
    };
    let log = cluster.log_path().display().to_string();
    [
        cluster.name.clone(),
        cluster.pid.to_string(),
        cluster.bootstrap.clone(),
        health.into(),
        log,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_a_cluster_lacks_is_named_with_the_cluster() {
        assert!(all_have("orders", &[]).is_ok());
        let told = all_have("ordesr", &["one".to_owned()])
            .unwrap_err()
            .to_string();
        assert!(told.contains("no topic ordesr on one"), "{told}");
    }
}
