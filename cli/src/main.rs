//! The program `gtc`: jobs that run on global transactions, and what operators need.

#![forbid(unsafe_code)]

mod args;
mod config;
mod endpoint;
mod failure;
mod logging;
mod operations;
mod output;
mod remedy;
mod replicate;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::{Exit, Failure};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = logging::start(cli.log_format).and_then(|()| run(cli));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("gtc: {failure}");
            failure.exit.into()
        }
    }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::error(format!("starting the runtime: {error}")))?;
    let result = runtime.block_on(dispatch(cli));
    // A thread of librdkafka that waits for a dead broker must not hold up the exit.
    runtime.shutdown_background();
    result
}

async fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    signals::survive_file_limits()?;
    let config = config::read(&cli.config)?;
    match cli.command {
        Command::Replicate(args) => replicate::run(config, *args).await,
        Command::List(args) => operations::inspect::list(&config, &args).await,
        Command::Describe(args) => operations::inspect::describe(&config, &args).await,
        Command::Outcome(args) => operations::inspect::outcome(&config, &args).await,
        Command::Resolve(args) => operations::intervene::resolve(&config, &args).await,
        Command::Forget(args) => operations::intervene::forget(&config, &args).await,
        Command::Recover(args) => operations::recover::run(config, &args).await,
        Command::Check(args) => operations::check::run(&config, &args).await,
    }
}
