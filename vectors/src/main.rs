//! `gtc-vectors` records the golden scenarios; with `--story [NAME]` it tells them for a reader.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use gtc_vectors::{directory, scenarios, write};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => record(),
        ["--story"] => tell(""),
        ["--story", name] => tell(name),
        _ => {
            eprintln!("usage: gtc-vectors [--story [NAME]]");
            ExitCode::from(2)
        }
    }
}

fn record() -> ExitCode {
    match write(&directory()) {
        Ok(changed) => {
            changed.iter().for_each(|file| println!("wrote {file}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("vectors: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tell(name: &str) -> ExitCode {
    for scenario in scenarios() {
        if scenario.name.contains(name) {
            println!("\n# {}\n{}", scenario.name, scenario.story);
            scenario
                .record()
                .lines
                .iter()
                .for_each(|line| println!("{line}"));
        }
    }
    ExitCode::SUCCESS
}
