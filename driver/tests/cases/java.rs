//! A producer of the Java client in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use gtc_clusters::kafka_tool;

use crate::support::Result;

/// The program `OwnProducer.java` with one producer; dropping it kills both.
pub struct JavaProducer {
    transactional_id: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl JavaProducer {
    /// Starts the program, and initialises its producer.
    pub fn open(bootstrap: &str, transactional_id: &str) -> Result<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/OwnProducer.java");
        let mut process = kafka_tool(&program.display().to_string())?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().ok_or("no standard input")?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let mut producer = Self {
            transactional_id: transactional_id.to_owned(),
            process,
            input,
            output: BufReader::new(output),
        };
        producer.call(&format!("open {bootstrap}"))?;
        Ok(producer)
    }

    /// Has it do something; the error is its exception.
    pub fn call(&mut self, line: &str) -> Result {
        writeln!(self.input, "{} {line}", self.transactional_id)?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        match answer.trim() {
            "ok" => Ok(()),
            error => Err(format!("{line}: {error}").into()),
        }
    }
}

impl Drop for JavaProducer {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
