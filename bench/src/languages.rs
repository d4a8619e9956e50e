//! What a transaction costs from each language beside Rust, on two real clusters, in one run.
//!
//! Each language has a program that does the same: a value of 100 bytes, so many records to each of
//! two clusters in one call, commit, one transaction after the other. They are all there at once and
//! take turns that are short, so that drift of the machine hits all alike; the ratios are of one
//! round. Rust's says the same verbs of the façade as the bindings do, from an ordinary thread.

pub mod program;
mod running;
mod table;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use gtc_clusters::{Cluster, ClusterOptions};

use crate::commit::create_topic;
use crate::figures::Scratch;
use running::Running;
use table::{Measured, Table};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const NAMES: [&str; 2] = ["eu", "us"];
/// Everything is told as a ratio to it.
const RUST: &str = "rust";

#[derive(clap::Args)]
pub struct Options {
    /// Records a transaction and cluster.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100])]
    batches: Vec<usize>,
    /// Seconds of a turn.
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Rounds; in each every program has its turn.
    #[arg(long, default_value_t = 40)]
    rounds: usize,
    /// Rounds before these, which do not count.
    #[arg(long, default_value_t = 5)]
    warm_up: usize,
    /// The directory for the decision logs.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Prints a line for machines.
    #[arg(long)]
    json: bool,
    /// A language and the words that start its program, each on a line of its own.
    #[arg(long = "program")]
    programs: Vec<Program>,
}

#[derive(Clone)]
struct Program {
    language: String,
    program: String,
    arguments: Vec<String>,
}

impl FromStr for Program {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let mut lines = text.lines().map(str::to_owned);
        let mut next = || lines.next().ok_or("a program has a name and a first word");
        Ok(Self {
            language: next()?,
            program: next()?,
            arguments: lines.collect(),
        })
    }
}

pub fn run(options: &Options) -> Result {
    let mut programs = vec![rust()?];
    programs.extend(options.programs.iter().cloned());
    let clusters = Cluster::start_all(NAMES.map(ClusterOptions::new))?;
    let runtime = tokio::runtime::Runtime::new()?;
    for cluster in &clusters {
        runtime.block_on(create_topic(cluster))?;
    }
    let scratch = Scratch::new(options.directory.as_deref(), "languages")?;
    let mut table = Table::default();
    for &batch in &options.batches {
        let mut running = Vec::new();
        for program in &programs {
            let config = scratch.path().join(format!("{}.toml", program.language));
            configure(&clusters, &program.language, &config)?;
            running.push(Running::start(program, &config, (batch, options.seconds))?);
        }
        let languages = running.iter().map(Running::language);
        table.add(batch, languages);
        take_turns(&mut running, options, |language, measured| {
            table.take((batch, language), measured);
        })?;
        for one in running {
            one.end()?;
        }
    }
    match options.json {
        true => println!("{}", table.json()),
        false => print!("{}", table.text()),
    }
    Ok(())
}

fn take_turns(
    running: &mut [Running],
    options: &Options,
    mut take: impl FnMut(&str, Measured),
) -> Result {
    let count = running.len();
    for round in 0..options.warm_up + options.rounds {
        for turn in 0..count {
            // Another one begins each round: a place in the order is no advantage.
            let one = &mut running[(round + turn) % count];
            let measured = one.take_turn()?;
            if round >= options.warm_up {
                take(one.language(), measured);
            }
        }
    }
    Ok(())
}

/// This program itself.
fn rust() -> Result<Program> {
    Ok(Program {
        language: RUST.to_owned(),
        program: std::env::current_exe()?.display().to_string(),
        arguments: vec!["program".to_owned()],
    })
}

fn configure(clusters: &[Cluster], language: &str, file: &Path) -> Result {
    // The log lies beside the file.
    let mut text = format!("[coordinator]\nid = \"bench-{language}\"\nlog = \"{language}.log\"\n");
    for (name, cluster) in NAMES.iter().zip(clusters) {
        text += &format!("[participants.{name}]\nkind = \"kafka\"\nslots = 4\n");
        text += &format!("bootstrap.servers = \"{}\"\n", cluster.bootstrap());
    }
    Ok(std::fs::write(file, text)?)
}
