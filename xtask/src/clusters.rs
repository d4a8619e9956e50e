//! `cargo xtask clusters`.

use gtc_clusters::up::{Standing, Status};

use crate::command::Failure;
use crate::help;
use crate::prerequisites::{Need, require};

const DEFAULT_COUNT: usize = 2;
/// Each broker takes about 300 MB.
const LARGEST_COUNT: usize = 9;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["up"] => up(DEFAULT_COUNT),
        ["up", count] => up(parse_count(count)?),
        ["down"] => down(),
        ["status"] => status(),
        _ => Err(Failure::usage(format!(
            "say up, down or status\n\n{}",
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
