//! Own producers: rdkafka in this process, and a Java client that is talked to by lines.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gtc::{OwnBranch, Reuse, VersionClass};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use crate::job::{Job, Mode, Own, Result};

const PATIENCE: Duration = Duration::from_secs(60);

/// Passes a line to the Java client, and returns its answer.
pub type Ask = Arc<dyn Fn(&str) -> Result<String> + Send + Sync>;

/// The own producer of a job.
pub enum OwnWriter {
    V1(FutureProducer),
    V2(Ask),
}

impl OwnWriter {
    /// Initialises it, if the job has one.
    pub fn open(job: &Job, ask: &Ask) -> Result<Option<Self>> {
        Ok(match job.own {
            None => None,
            Some(Own::V1) => Some(Self::V1(open_v1(job)?)),
            Some(Own::V2) => {
                let servers = &job.members[0].properties["bootstrap.servers"];
                command(job, ask, &format!("open {servers}"))?;
                Some(Self::V2(ask.clone()))
            }
        })
    }

    pub fn version_class(&self) -> VersionClass {
        match self {
            Self::V1(_) => VersionClass::V1,
            Self::V2(_) => VersionClass::V2,
        }
    }

    /// Begins its transaction, writes, and votes.
    pub async fn write(&mut self, job: &Job, value: &str, branch: &OwnBranch) -> Result {
        match self {
            Self::V1(producer) => {
                producer.begin_transaction()?;
                branch.sent();
                let record = FutureRecord::<(), _>::to(&job.topic)
                    .partition(job.partition)
                    .payload(value);
                match producer.send(record, PATIENCE).await {
                    Ok(_) => branch.delivered(),
                    Err((error, _)) => branch.failed(error),
                }
            }
            Self::V2(ask) => {
                command(job, ask, "begin")?;
                let place = (&job.topic, job.partition);
                command(job, ask, &format!("send {} {} {value}", place.0, place.1))?;
                command(job, ask, "flush")?;
                branch.state_delivered();
            }
        }
        Ok(())
    }

    /// Its own call, once the outcome is told, or a new life where the old one must not go on.
    pub fn finish(&mut self, job: &Job, reuse: Reuse) -> Result {
        let commits = job.mode != Mode::Abort;
        match (self, reuse) {
            (Self::V1(producer), Reuse::Reuse) => tokio::task::block_in_place(|| match commits {
                true => producer.commit_transaction(PATIENCE),
                false => producer.abort_transaction(PATIENCE),
            })?,
            (Self::V1(producer), _) => *producer = open_v1(job)?,
            (Self::V2(ask), Reuse::Reuse) => {
                command(job, ask, if commits { "commit" } else { "abort" })?;
            }
            (Self::V2(ask), _) => {
                Self::open(job, ask)?;
            }
        }
        Ok(())
    }
}

impl Job {
    /// What [`Job::breaks`] says.
    pub fn break_promise(&self, ask: &Ask) -> Result {
        if self.breaks {
            OwnWriter::open(self, ask)?;
        }
        Ok(())
    }
}

fn open_v1(job: &Job) -> Result<FutureProducer> {
    let mut config = ClientConfig::new();
    config.extend(job.members[0].properties.clone());
    let producer: FutureProducer = config
        .set("transactional.id", job.own_id())
        .set("transaction.timeout.ms", "600000")
        .set("socket.timeout.ms", "10000")
        .create()?;
    tokio::task::block_in_place(|| producer.init_transactions(PATIENCE))?;
    Ok(producer)
}

fn command(job: &Job, ask: &Ask, line: &str) -> Result {
    match ask(&format!("{} {line}", job.own_id()))?.as_str() {
        "ok" => Ok(()),
        answer => Err(format!("own producer: {line}: {answer}").into()),
    }
}

/// The process of the Java client; one for all rows, as its start takes seconds.
pub struct Java {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Java {
    pub fn start() -> Result<Arc<Self>> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/OwnProducer.java");
        let mut child = gtc_clusters::kafka_tool(&source.display().to_string())?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Its warnings of brokers that are slow; errors come as answers.
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or("the pipes of the Java client")?;
        Ok(Arc::new(Self {
            child,
            pipes: Mutex::new((input, BufReader::new(output))),
        }))
    }

    pub fn asking(self: &Arc<Self>) -> Ask {
        let java = self.clone();
        Arc::new(move |line| {
            let mut pipes = java.pipes.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(pipes.0, "{line}")?;
            pipes.0.flush()?;
            let mut answer = String::new();
            pipes.1.read_line(&mut answer)?;
            Ok(answer.trim().to_owned())
        })
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For jobs without such a client.
pub fn nobody() -> Ask {
    Arc::new(|line| Err(format!("nobody to ask: {line}").into()))
}
