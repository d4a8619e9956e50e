//! A producer of the Java client, class v2, in a process of its own that ends with this one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use gtc_clusters::kafka_tool;

use crate::Failure;

/// The program `OwnProducer.java`, which the tests of the driver use too.
pub(crate) struct Producer {
    id: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Producer {
    /// Starts the program, and initialises its producer.
    pub(super) fn open(bootstrap: &str, id: &str) -> Result<Self, Failure> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/OwnProducer.java");
        let mut process = kafka_tool(&program.display().to_string())?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = process.stdin.take().ok_or("no standard input")?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let mut producer = Self {
            id: id.to_owned(),
            process,
            input,
            output: BufReader::new(output),
        };
        producer.call(&format!("open {bootstrap}"))?;
        Ok(producer)
    }

    /// Has it do something; the error is its exception. The client's own time-outs bound the wait.
    pub(super) fn call(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.input, "{} {line}", self.id)?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        match answer.trim() {
            "ok" => Ok(()),
            error => Err(format!("{line}: {error}").into()),
        }
    }

    pub(super) fn write(&mut self, records: &[(String, u64, String)]) -> Result<(), Failure> {
        for (topic, partition, value) in records {
            self.call(&format!("send {topic} {partition} {value}"))?;
        }
        self.call("flush")
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
