//! What the application meant to do and was told: one JSON object a line, each written by one call, so that a kill leaves
//! whole lines.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gtc::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;

use crate::Failure;

/// Records per partition, by topic.
pub(crate) type Counts = BTreeMap<String, BTreeMap<u64, u64>>;

/// What a transaction is going to be.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Plan {
    /// Whether its outcome can be asked for.
    pub(crate) keyed: bool,
    /// `commit` or `abort`.
    pub(crate) ends: &'static str,
    /// Records by cluster.
    pub(crate) writes: BTreeMap<String, Counts>,
    /// The cluster that an own producer writes to.
    pub(crate) own: Option<String>,
    /// The records that it is made of, as `partition:offset`, and the offsets it moves the group to.
    pub(crate) sources: Vec<String>,
    pub(crate) positions: BTreeMap<i32, i64>,
}

/// One branch of a heuristic outcome.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Branch {
    pub(crate) cluster: String,
    pub(crate) state: String,
    pub(crate) detail: String,
}

/// A line.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Line<'a> {
    /// A process begins.
    Life {
        life: u32,
        process: u32,
        finishes: bool,
    },
    /// A transaction is about to begin.
    Planned { tx: &'a str, plan: &'a Plan },
    /// It has begun.
    Begun { tx: &'a str, id: &'a str },
    /// Writing failed: it is going to be aborted.
    Failed { tx: &'a str, error: &'a str },
    /// `commit` or `abort` is about to be called.
    Asked { tx: &'a str, what: &'static str },
    /// What the call said: `committed`, `aborted`, `in-doubt`, `mixed`, or `error`, which says nothing of the outcome.
    Told {
        tx: &'a str,
        what: &'static str,
        error: Option<String>,
    },
    /// What a later question said: `committed`, `aborted`, `mixed`, or `no-record`.
    Resolved { tx: &'a str, what: &'static str },
    /// How a heuristic outcome is described.
    Mixed {
        tx: &'a str,
        id: &'a str,
        decision: &'a str,
        branches: Vec<Branch>,
    },
    /// What is still listed at the end and is no heuristic outcome.
    Left { tx: &'a str, state: &'a str },
    /// A participant takes no work any more.
    ParticipantStopped { participant: &'a str, why: &'a str },
    /// The coordinator takes no work any more.
    Stopped { why: &'a str },
    /// Nothing is left to be done in `finish`.
    Finished,
}

/// The file.
pub(crate) struct Journal(File);

impl Journal {
    /// Opens it for more.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(file))
    }

    /// Adds a line, with the time.
    ///
    /// # Panics
    /// A journal that cannot be written proves nothing: the run is to fail.
    pub(crate) fn write(&self, line: &Line<'_>) {
        let mut value = serde_json::to_value(line).expect("a line is plain data");
        value["at"] = now_ms().into();
        let text = format!("{value}\n");
        let written = (&self.0).write(text.as_bytes());
        assert_eq!(written.ok(), Some(text.len()), "the journal takes no line");
    }

    /// Adds what commit or abort said, and returns the word for it.
    pub(crate) fn told(&self, tx: &str, result: Result<&'static str, &Error>) -> &'static str {
        let what = match result {
            Ok(what) => what,
            Err(error) => match error.kind() {
                ErrorKind::Aborted => "aborted",
                ErrorKind::InDoubt => "in-doubt",
                ErrorKind::Heuristic => "mixed",
                _ => "error",
            },
        };
        let error = result.err().map(ToString::to_string);
        self.write(&Line::Told { tx, what, error });
        what
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// The keyed transactions of earlier lives of which no final word is written down.
pub(crate) fn untold(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut open = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        let tx = line["tx"].as_str().unwrap_or_default();
        match (line["kind"].as_str(), line["what"].as_str()) {
            (Some("planned"), _) if line["plan"]["keyed"] == true => {
                open.insert(tx.to_owned(), ());
            }
            (Some("told"), Some("committed" | "aborted" | "mixed")) | (Some("resolved"), _) => {
                open.remove(tx);
            }
            _ => {}
        }
    }
    Ok(open.into_keys().collect())
}
