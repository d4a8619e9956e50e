//! A program that waits for its turn.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use super::table::Measured;
use super::{Program, Result};
use crate::commit::TOPIC;

/// What a program prints after a turn.
#[derive(Deserialize)]
struct Told {
    transactions: u64,
    records: u64,
    seconds: f64,
}

/// It has a turn for each line that it reads, and ends with its input.
pub struct Running {
    language: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub fn start(program: &Program, config: &Path, (batch, seconds): (usize, f64)) -> Result<Self> {
        let mut child = Command::new(&program.program)
            .args(&program.arguments)
            .arg(config)
            .arg(TOPIC)
            .args([batch.to_string(), seconds.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        Ok(Self {
            language: program.language.clone(),
            child,
            input,
            output: BufReader::new(output),
        })
    }

    pub fn language(&self) -> &str {
        &self.language
    }

    pub fn take_turn(&mut self) -> Result<Measured> {
        let mut line = String::new();
        // One that has ended has said why.
        if self.input.write_all(b"\n").is_err() || self.output.read_line(&mut line)? == 0 {
            return Err(format!("the program of {} has ended", self.language).into());
        }
        let told: Told = serde_json::from_str(&line)?;
        Ok(Measured::new(told.transactions, told.records, told.seconds))
    }

    pub fn end(mut self) -> Result {
        drop(self.input);
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("the program of {} ended with {status}", self.language).into()),
        }
    }
}
