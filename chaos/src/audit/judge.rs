//! The judgement of each transaction and of the order of records.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::journal::{Final, Transaction};
use super::offsets;
use super::{Anomaly, Evidence, Kind, Verdict, View};

/// Compares, and names what is wrong.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let mut anomalies = evidence.journals.anomalies.clone();
    for note in evidence.notes.iter().filter(|note| note.what == "crashed") {
        let what = format!("{} {}", note.target, note.how);
        anomalies.push(Anomaly::new(Kind::Crashed, "", what));
    }
    for view in &evidence.views {
        stuck(view, &mut anomalies);
        records(evidence, view, &mut anomalies);
        order(view, &mut anomalies);
    }
    unplanned(evidence, &mut anomalies);
    let bench = Bench::new(evidence);
    for (name, transaction) in &evidence.journals.transactions {
        bench.judge(name, transaction, &mut anomalies);
    }
    offsets::judge(evidence, &mut anomalies);
    anomalies.sort_by_key(|anomaly| anomaly.kind);
    Verdict::new(evidence, anomalies)
}

fn stuck(view: &View, anomalies: &mut Vec<Anomaly>) {
    for stuck in &view.stuck {
        let (topic, partition) = (&stuck.topic, stuck.partition);
        let (stable, high) = (stuck.stable, stuck.high);
        let what = format!(
            "{} {topic}/{partition}: readers stop at {stable} of {high}",
            view.cluster
        );
        anomalies.push(Anomaly::new(Kind::StableOffsetStuck, "", what));
    }
}

/// Records of nobody, those that are there twice, and more than were planned.
fn records(evidence: &Evidence, view: &View, anomalies: &mut Vec<Anomaly>) {
    let mut seen = BTreeSet::new();
    let mut counts: HashMap<_, u64> = HashMap::new();
    for record in &view.records {
        let place = format!(
            "{} {}/{} offset {}",
            view.cluster, record.topic, record.partition, record.offset
        );
        let Some(transaction) = evidence.journals.transactions.get(&record.tx) else {
            anomalies.push(Anomaly::new(Kind::Unexpected, &record.tx, place));
            continue;
        };
        if !seen.insert((&record.tx, record.k)) {
            let what = format!("record {} again at {place}", record.k);
            anomalies.push(Anomaly::new(Kind::Duplicated, &record.tx, what));
            continue;
        }
        let planned = transaction.planned_in(&view.cluster, &record.topic, record.partition);
        let count = counts.entry((&record.tx, &record.topic, record.partition));
        let count = count.and_modify(|count| *count += 1).or_insert(1);
        if *count > planned {
            let what = format!("{place}: {planned} were planned there");
            anomalies.push(Anomaly::new(Kind::Unexpected, &record.tx, what));
        }
    }
}

/// What a journal tells of, and nowhere says what it was to be, can be held against nothing.
fn unplanned(evidence: &Evidence, anomalies: &mut Vec<Anomaly>) {
    for (name, transaction) in &evidence.journals.transactions {
        if !transaction.is_planned {
            let what = "no journal says what it was to be";
            anomalies.push(Anomaly::new(Kind::Unexpected, name, what));
        }
    }
}

/// The lane of a transaction's name, and its place in the lane: `w1-0-3-57` is the 57th of life 3 in lane 0 of w1.
fn lane(tx: &str) -> Option<(&str, (u64, u64))> {
    let (rest, number) = tx.rsplit_once('-')?;
    let (lane, life) = rest.rsplit_once('-')?;
    Some((lane, (life.parse().ok()?, number.parse().ok()?)))
}

/// A lane begins a transaction when the one before is over, so its records stand in that order in each partition.
fn order(view: &View, anomalies: &mut Vec<Anomaly>) {
    let mut last = HashMap::new();
    for record in &view.records {
        let Some((lane, place)) = lane(&record.tx) else {
            continue;
        };
        let place = (place, record.k);
        let before = last
            .entry((&record.topic, record.partition, lane))
            .or_insert(place);
        if place < *before {
            let what = format!(
                "{} {}/{} offset {}: behind {before:?} of its lane",
                view.cluster, record.topic, record.partition, record.offset
            );
            anomalies.push(Anomaly::new(Kind::OutOfOrder, &record.tx, what));
        }
        *before = place.max(*before);
    }
}

/// How much of a transaction a cluster shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    None,
    Some,
    All,
}

/// Counts for quick answers.
struct Bench<'a> {
    evidence: &'a Evidence,
    shown: HashMap<(&'a str, &'a str), BTreeSet<u64>>,
}

impl<'a> Bench<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        let mut shown: HashMap<_, BTreeSet<u64>> = HashMap::new();
        for view in &evidence.views {
            for record in &view.records {
                let key = (view.cluster.as_str(), record.tx.as_str());
                shown.entry(key).or_default().insert(record.k);
            }
        }
        Self { evidence, shown }
    }

    fn parts(&self, name: &str, transaction: &'a Transaction) -> BTreeMap<&'a str, Part> {
        let part = |cluster: &'a String| {
            let shown = self.shown.get(&(cluster.as_str(), name));
            let part = match shown.map_or(0, |numbers| numbers.len() as u64) {
                0 => Part::None,
                count if count < transaction.planned(cluster) => Part::Some,
                _ => Part::All,
            };
            (cluster.as_str(), part)
        };
        let readable = transaction.plan.writes.keys();
        let readable = readable.filter(|cluster| !self.is_hidden(cluster, transaction));
        readable.map(part).collect()
    }

    /// Whether some of its records may stand where readers of this cluster do not come: that alone is told then.
    fn is_hidden(&self, cluster: &str, transaction: &Transaction) -> bool {
        let view = self
            .evidence
            .views
            .iter()
            .find(|view| view.cluster == cluster);
        let writes = transaction.plan.writes.get(cluster);
        let is_written = |topic: &str, partition: i32| {
            let counts = writes.and_then(|topics| topics.get(topic));
            counts.is_some_and(|counts| counts.contains_key(&partition))
        };
        view.is_some_and(|view| {
            view.stuck
                .iter()
                .any(|stuck| is_written(&stuck.topic, stuck.partition))
        })
    }

    fn timeout_ms(&self, cluster: &str) -> u64 {
        let sites = &self.evidence.description.clusters;
        let site = sites.iter().find(|site| site.name == cluster);
        site.map_or(u64::MAX, |site| site.timeout_ms)
    }

    fn judge(&self, name: &str, transaction: &'a Transaction, anomalies: &mut Vec<Anomaly>) {
        let parts = self.parts(name, transaction);
        let with = |part: Part| {
            let found = parts.iter().filter(move |(_, found)| **found == part);
            found.map(|(cluster, _)| *cluster).collect::<Vec<_>>()
        };
        let (none, some, all) = (with(Part::None), with(Part::Some), with(Part::All));
        let outcome = transaction.outcome();
        if outcome == Final::Mixed {
            self.judge_mixed(name, transaction, &parts, anomalies);
        }
        let mut add = |kind, what: String| anomalies.push(Anomaly::new(kind, name, what));
        if !some.is_empty() {
            add(Kind::TornWithin, format!("in part on {}", some.join(", ")));
        }
        let is_visible = none.len() < parts.len();
        let visible = || format!("visible on {}", [&some[..], &all[..]].concat().join(", "));
        match outcome {
            Final::ToldCommitted if !none.is_empty() => {
                let what = format!("missing on {}", none.join(", "));
                add(Kind::ToldCommittedMissing, what);
            }
            Final::ResolvedCommitted if !none.is_empty() && !is_visible => {
                add(Kind::Lost, format!("missing on {}", none.join(", ")));
            }
            Final::Aborted if is_visible => add(Kind::ToldAbortedVisible, visible()),
            Final::NeverAsked if is_visible => add(Kind::AbortedRead, visible()),
            Final::Untold => add(Kind::InDoubtLeft, "no answer in the end".into()),
            _ => {}
        }
        if is_visible && !none.is_empty() && outcome != Final::Mixed {
            let age_ms = transaction.last_ms.saturating_sub(transaction.began_ms);
            let expired = none
                .iter()
                .any(|cluster| age_ms >= self.timeout_ms(cluster));
            let kind = match expired {
                true => Kind::HeuristicUnreported,
                false => Kind::TornAcross,
            };
            add(kind, format!("{}, not on {}", visible(), none.join(", ")));
        }
    }

    /// A report has to name what the clusters show, and a time-out must have passed.
    fn judge_mixed(
        &self,
        name: &str,
        transaction: &Transaction,
        parts: &BTreeMap<&str, Part>,
        anomalies: &mut Vec<Anomaly>,
    ) {
        let mut add = |what: String| {
            anomalies.push(Anomaly::new(Kind::HeuristicWithoutCause, name, what));
        };
        let Some(branches) = &transaction.mixed else {
            return add("told mixed, and never described or listed".into());
        };
        let age_ms = transaction.last_ms.saturating_sub(transaction.began_ms);
        let heuristic = branches.iter().filter(|b| b.state.starts_with("heuristic"));
        let mut count = 0;
        for branch in heuristic {
            count += 1;
            let timeout_ms = self.timeout_ms(&branch.cluster);
            if age_ms < timeout_ms {
                add(format!(
                    "{}: {} after {age_ms} ms, before its time-out of {timeout_ms} ms",
                    branch.cluster, branch.state
                ));
            }
            let part = parts.get(branch.cluster.as_str());
            match (branch.state.as_str(), part) {
                ("heuristic abort", Some(Part::All | Part::Some)) => {
                    add(format!("{} shows it, told aborted there", branch.cluster));
                }
                ("heuristic commit", Some(Part::None)) => {
                    add(format!("{} lacks it, told committed there", branch.cluster));
                }
                _ => {}
            }
        }
        if count == 0 {
            add("no branch is told to have ended otherwise".into());
        }
        for branch in branches.iter().filter(|b| b.state == "acknowledged") {
            if parts.get(branch.cluster.as_str()) == Some(&Part::None) && transaction.asked_commit {
                let what = format!("{} lacks it, and is not told of", branch.cluster);
                anomalies.push(Anomaly::new(Kind::HeuristicUnreported, name, what));
            }
        }
    }
}
