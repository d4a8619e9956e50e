//! What the applications meant to do and were told, out of their journals.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{Anomaly, Kind, parse_place};
use crate::error::{Context, Error, Result};

/// What a transaction was to be.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Plan {
    /// Whether its outcome can be asked for later.
    pub keyed: bool,
    /// `commit` or `abort`.
    pub ends: String,
    /// Records by cluster, topic and partition.
    #[serde(default)]
    pub writes: BTreeMap<String, BTreeMap<String, BTreeMap<i32, u64>>>,
    /// The records that it is made of, as `partition:offset`.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The cluster to which a producer of the application's own writes.
    #[serde(default)]
    pub own: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Line {
    at: u64,
    kind: String,
    #[serde(default)]
    tx: String,
    #[serde(default)]
    what: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    plan: Option<Plan>,
    #[serde(default)]
    branches: Vec<Branch>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    participant: String,
    #[serde(default)]
    why: String,
}

/// A branch of a heuristic outcome, as it was described.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Branch {
    /// The cluster.
    pub cluster: String,
    /// Its state in words; what begins with `heuristic` ended otherwise than decided.
    pub state: String,
}

/// What is known of an outcome in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Final {
    /// The call to commit said committed.
    ToldCommitted,
    /// A later question was answered committed.
    ResolvedCommitted,
    /// Told aborted, or a later question found no record of a commit.
    Aborted,
    /// Nobody asked for a commit.
    NeverAsked,
    /// Told mixed, at the call or later.
    Mixed,
    /// It cannot be asked for and nothing was told; either outcome is right.
    Free,
    /// It could be asked for, and there is no answer.
    Untold,
}

/// One transaction.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// What it was to be.
    pub plan: Plan,
    /// Whether a journal says what it was to be.
    pub is_planned: bool,
    /// When it began, in milliseconds since the Unix epoch.
    pub began_ms: u64,
    /// When the last word about it was said.
    pub last_ms: u64,
    /// Whether a commit was asked for.
    pub asked_commit: bool,
    /// What the call said.
    pub told: Option<String>,
    /// What a later question said.
    pub resolved: Option<String>,
    /// The branches of a heuristic outcome, where it was described.
    pub mixed: Option<Vec<Branch>>,
    /// All its lines, for the story.
    pub lines: Vec<String>,
}

impl Transaction {
    /// What is known of its outcome.
    #[must_use]
    pub fn outcome(&self) -> Final {
        let told = self.told.as_deref();
        let resolved = self.resolved.as_deref();
        if self.mixed.is_some() || told == Some("mixed") || resolved == Some("mixed") {
            return Final::Mixed;
        }
        match (told, resolved) {
            (Some("committed"), _) => Final::ToldCommitted,
            (_, Some("committed")) => Final::ResolvedCommitted,
            _ if !self.asked_commit => Final::NeverAsked,
            (Some("aborted"), _) | (_, Some("aborted" | "no-record")) => Final::Aborted,
            _ if self.plan.keyed => Final::Untold,
            _ => Final::Free,
        }
    }

    /// The end that was told last, by the call or by a later question.
    fn end(&self) -> Option<&'static str> {
        self.last_end("resolved").or_else(|| self.last_end("told"))
    }

    /// The end that the last line of this kind tells.
    fn last_end(&self, kind: &str) -> Option<&'static str> {
        let what = match kind {
            "told" => &self.told,
            "resolved" => &self.resolved,
            _ => return None,
        };
        match what.as_deref()? {
            "committed" => Some("committed"),
            "aborted" | "no-record" => Some("aborted"),
            _ => None,
        }
    }

    /// How many records it was to write to a cluster.
    #[must_use]
    pub fn planned(&self, cluster: &str) -> u64 {
        let topics = self.plan.writes.get(cluster).into_iter().flatten();
        topics.flat_map(|(_, counts)| counts.values()).sum()
    }

    /// How many of them to a partition.
    #[must_use]
    pub fn planned_in(&self, cluster: &str, topic: &str, partition: i32) -> u64 {
        let topics = self.plan.writes.get(cluster);
        let counts = topics.and_then(|topics| topics.get(topic));
        let count = counts.and_then(|counts| counts.get(&partition));
        count.copied().unwrap_or(0)
    }

    /// The records that it was made of.
    pub fn sources(&self) -> impl Iterator<Item = (i32, i64)> {
        self.plan
            .sources
            .iter()
            .filter_map(|text| parse_place(text))
    }
}

const ASKED: &[&str] = &["commit", "abort"];
const TOLD: &[&str] = &["committed", "aborted", "in-doubt", "mixed", "error"];
const RESOLVED: &[&str] = &["committed", "aborted", "mixed", "no-record"];

/// What is not understood must not count as nothing.
fn one_of(what: String, words: &[&str]) -> Result<String> {
    match words.contains(&what.as_str()) {
        true => Ok(what),
        false => {
            let words = words.join(", ");
            Err(Error::new(format!("`{what}` is none of {words}")))
        }
    }
}

/// All journals of a run.
#[derive(Clone, Debug, Default)]
pub struct Journals {
    /// By name.
    pub transactions: BTreeMap<String, Transaction>,
    /// What the journals themselves show to be wrong.
    pub anomalies: Vec<Anomaly>,
}

impl Journals {
    /// Reads one more.
    ///
    /// # Errors
    /// It cannot be read, or has a damaged line.
    pub fn add_file(&mut self, path: &Path) -> Result<()> {
        let doing = format!("read the journal {}", path.display());
        let text = std::fs::read_to_string(path).context(&doing)?;
        self.add(&text).context(doing)
    }

    /// Reads the text of one more.
    ///
    /// # Errors
    /// It has a damaged line.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let mut is_finished = false;
        let mut names = BTreeMap::new();
        for line in text.lines() {
            let doing = || format!("line {line}");
            let mut parsed: Line = serde_json::from_str(line).context(doing())?;
            is_finished = parsed.kind == "finished";
            if parsed.kind == "begun" {
                names.insert(parsed.id.clone(), parsed.tx.clone());
            }
            // One without a key is listed under its id.
            if let Some(name) = names.get(&parsed.tx) {
                parsed.tx.clone_from(name);
            }
            self.take(parsed, line).context(doing())?;
        }
        if !is_finished {
            let what = "a journal does not end with `finished`";
            self.anomalies
                .push(Anomaly::new(Kind::InDoubtLeft, "", what));
        }
        Ok(())
    }

    fn take(&mut self, line: Line, text: &str) -> Result<()> {
        match line.kind.as_str() {
            "participant-stopped" => {
                let what = format!("{}: {}", line.participant, line.why);
                self.anomalies
                    .push(Anomaly::new(Kind::ParticipantStopped, "", what));
                return Ok(());
            }
            "left" => {
                let left = Anomaly::new(Kind::InDoubtLeft, &line.tx, line.state);
                self.anomalies.push(left);
                return Ok(());
            }
            "life" | "stopped" | "finished" => return Ok(()),
            _ => {}
        }
        let tx = self.transactions.entry(line.tx.clone()).or_default();
        tx.lines.push(text.to_owned());
        tx.last_ms = line.at;
        let before = tx.end();
        match line.kind.as_str() {
            "planned" => {
                let plan = line.plan.ok_or_else(|| Error::new("it has no plan"))?;
                (tx.plan, tx.is_planned, tx.began_ms) = (plan, true, line.at);
            }
            "asked" => tx.asked_commit |= one_of(line.what, ASKED)? == "commit",
            "told" => tx.told = Some(one_of(line.what, TOLD)?),
            "resolved" => tx.resolved = Some(one_of(line.what, RESOLVED)?),
            "mixed" => tx.mixed = Some(line.branches),
            "begun" | "failed" => {}
            other => return Err(Error::new(format!("the kind {other} is unknown"))),
        }
        if let (Some(before), Some(now)) = (before, tx.last_end(&line.kind))
            && before != now
        {
            let what = format!("{before} first, and then {now}");
            let anomaly = Anomaly::new(Kind::ToldOtherwise, line.tx, what);
            self.anomalies.push(anomaly);
        }
        Ok(())
    }
}
