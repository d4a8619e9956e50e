//! The auditor of a run under faults: compares what the applications were told with what the clusters show.
//!
//! It knows the journals of the applications, the notes of the faults, and what read_committed consumers get. It knows
//! nothing of gtc.

mod anomaly;
mod journal;
mod judge;
mod offsets;
mod read;
mod report;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use anomaly::{Anomaly, Kind};
pub use journal::{Final, Journals, Transaction};
pub use judge::judge;
pub use read::evidence;
pub use report::Verdict;

use crate::error::{Context, Result};

/// What the auditor has to know of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The clusters.
    pub clusters: Vec<Site>,
    /// The topic of plain records, on every cluster.
    pub topic: String,
    /// The topic of records that were made of those of `source`.
    pub copies: String,
    /// The cluster that was consumed from.
    pub source: String,
    /// The cluster that got the copies.
    pub target: String,
    /// The group that consumed.
    pub group: String,
}

/// A cluster of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// The longest time-out of its transactions: only after it a branch can end otherwise than decided.
    pub timeout_ms: u64,
}

/// A fault, or something else that happened to the processes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// What: the name of a fault, or `crashed` for a worker that ended as only a defect explains.
    pub what: String,
    /// To whom.
    pub target: String,
    /// `begins`, `ends`, `skipped`, or more words.
    pub how: String,
}

/// A record as a cluster shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its topic.
    pub topic: String,
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// The transaction that wrote it; empty where the record names none.
    pub tx: String,
    /// Its number among those of the transaction on this cluster.
    pub k: u64,
    /// The record that it was made of: partition and offset.
    pub source: Option<(i32, i64)>,
}

impl Shown {
    /// Reads a value such as `tx=w1-0-2-7;k=3;src=1:55;pad=xxx`.
    #[must_use]
    pub fn parse(value: &str) -> Self {
        let mut shown = Self::default();
        for (name, value) in value.split(';').filter_map(|field| field.split_once('=')) {
            match name {
                "tx" => shown.tx = value.into(),
                "k" => shown.k = value.parse().unwrap_or(u64::MAX),
                "src" => shown.source = parse_place(value),
                _ => {}
            }
        }
        shown
    }
}

/// Reads `partition:offset`.
fn parse_place(text: &str) -> Option<(i32, i64)> {
    let (partition, offset) = text.split_once(':')?;
    Some((partition.parse().ok()?, offset.parse().ok()?))
}

/// A partition whose readers are held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Where readers stop.
    pub stable: i64,
    /// Where the data end.
    pub high: i64,
}

/// What a cluster shows.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Its name.
    pub cluster: String,
    /// All committed records; within a partition in their order.
    pub records: Vec<Shown>,
    /// Partitions whose readers are held back, also of the group offsets.
    pub stuck: Vec<Stuck>,
}

/// All that a judgement needs.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The run.
    pub description: Description,
    /// What the applications meant to do and were told.
    pub journals: Journals,
    /// What the clusters show.
    pub views: Vec<View>,
    /// The committed offsets of the group, by partition of the source.
    pub offsets: BTreeMap<i32, Option<i64>>,
    /// The faults.
    pub notes: Vec<Note>,
}

/// The file of a run's description.
pub const DESCRIPTION: &str = "run.json";
/// The file of a run's notes.
pub const NOTES: &str = "faults.jsonl";

/// Reads the notes of a run; there may be none.
///
/// # Errors
/// The file is damaged.
pub fn read_notes(path: &Path) -> Result<Vec<Note>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let note = |line| serde_json::from_str(line).context(format!("read {}", path.display()));
    text.lines().map(note).collect()
}
