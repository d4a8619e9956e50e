//! The program `gtc-chaos`: loads, kills and checks.

#![forbid(unsafe_code)]

mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::Cli::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            eprintln!("gtc-chaos: {error}");
            ExitCode::FAILURE
        }
    }
}
