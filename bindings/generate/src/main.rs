//! `gtc-generate` writes the generated files; `gtc-generate --check` only looks.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use gtc_generate::{root, stale, write};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => match write(&root()) {
            Ok(changed) => {
                changed.iter().for_each(|path| println!("wrote {path}"));
                report(&stale(&root()))
            }
            Err(error) => report(&[error.to_string()]),
        },
        ["--check"] => report(&stale(&root())),
        _ => {
            eprintln!("usage: gtc-generate [--check]");
            ExitCode::from(2)
        }
    }
}

fn report(problems: &[String]) -> ExitCode {
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    match problems {
        [] => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
