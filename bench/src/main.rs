//! Benchmarks of the core, the log, a commit and the languages; each prints ratios within one run.
//!
//! Absolute times differ between machines and from hour to hour. What a benchmark here claims is a
//! ratio of two things measured in turn.

#![forbid(unsafe_code)]

mod commit;
mod core_step;
mod figures;
mod languages;
mod log_sync;
mod recovery;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "bench", about = "Benchmarks of gtc; ratios within one run")]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The core alone: the time of a two-branch transaction, from begin to its slots being free.
    Core(core_step::Options),
    /// A global commit on two real clusters, against two local ones and one sync.
    Commit(commit::Options),
    /// The file log: forced records a second, against what the disk syncs by itself.
    Log(log_sync::Options),
    /// Reading a log of many records back, and replaying it.
    Recovery(recovery::Options),
    /// Transactions on two real clusters from each language, against Rust.
    Languages(languages::Options),
    /// The program of Rust among those of the languages.
    #[command(hide = true)]
    Program(languages::program::Options),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Arguments::parse().benchmark {
        Benchmark::Core(options) => core_step::run(&options),
        Benchmark::Commit(options) => commit::run(&options),
        Benchmark::Log(options) => log_sync::run(&options),
        Benchmark::Recovery(options) => recovery::run(&options),
        Benchmark::Languages(options) => languages::run(&options),
        Benchmark::Program(options) => languages::program::run(&options),
    }
}
