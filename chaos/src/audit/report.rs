//! The verdict: figures, a table of all anomalies, and the stories of the first ones.

use std::collections::BTreeMap;

use serde::Serialize;

use super::journal::Final;
use super::{Anomaly, Evidence, Kind};
use crate::table::aligned;

/// How many anomalies get their story told.
const STORIES: usize = 8;
/// Faults so long before and after a transaction are part of its story.
const AROUND_MS: u64 = 10_000;

/// What a run comes to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// Transactions that were begun.
    pub transactions: usize,
    /// By what is known of them in the end.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Records that the clusters show.
    pub records: usize,
    /// Records that were consumed and copied.
    pub copies: usize,
    /// What is wrong.
    pub anomalies: Vec<Anomaly>,
    /// The stories of the first anomalies.
    pub stories: Vec<String>,
}

fn outcome_name(outcome: Final) -> &'static str {
    match outcome {
        Final::ToldCommitted => "told committed",
        Final::ResolvedCommitted => "found committed later",
        Final::Aborted => "aborted",
        Final::NeverAsked => "aborted on purpose",
        Final::Mixed => "mixed",
        Final::Free => "nothing told, no key to ask by",
        Final::Untold => "in doubt",
    }
}

impl Verdict {
    pub(super) fn new(evidence: &Evidence, anomalies: Vec<Anomaly>) -> Self {
        let transactions = &evidence.journals.transactions;
        let mut outcomes = BTreeMap::new();
        for transaction in transactions.values() {
            *outcomes
                .entry(outcome_name(transaction.outcome()))
                .or_default() += 1;
        }
        let records = || evidence.views.iter().flat_map(|view| &view.records);
        let mut told = Vec::new();
        for anomaly in &anomalies {
            if told.len() < STORIES {
                told.push(story(evidence, anomaly));
            }
        }
        Self {
            transactions: transactions.len(),
            outcomes,
            records: records().count(),
            copies: records().filter(|record| record.source.is_some()).count(),
            anomalies,
            stories: told,
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.anomalies.is_empty()
    }

    /// How many anomalies there are of a kind.
    #[must_use]
    pub fn count(&self, kind: Kind) -> usize {
        let found = self.anomalies.iter().filter(|anomaly| anomaly.kind == kind);
        found.count()
    }

    /// For people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut figures = vec![
            vec!["transactions".into(), self.transactions.to_string()],
            vec!["records".into(), self.records.to_string()],
            vec!["copies".into(), self.copies.to_string()],
        ];
        let outcomes = self.outcomes.iter();
        figures.extend(outcomes.map(|(name, count)| vec![format!("  {name}"), count.to_string()]));
        let mut text = aligned(&["figure", "count"], &figures, 1);
        text.push('\n');
        let rows: Vec<Vec<String>> = Kind::TABLE
            .iter()
            .map(|(kind, name, meaning)| {
                let (name, meaning) = ((*name).to_owned(), (*meaning).to_owned());
                vec![name, self.count(*kind).to_string(), meaning]
            })
            .collect();
        text.push_str(&aligned(&["anomaly", "count", "meaning"], &rows, 3));
        for story in &self.stories {
            text.push('\n');
            text.push_str(story);
        }
        match self.anomalies.len() {
            0 => text.push_str("\naudit: clean\n"),
            count => text.push_str(&format!("\naudit: {count} anomalies\n")),
        }
        text
    }
}

/// The anomaly, the lines of the journal, what each cluster shows, and the faults around that time.
fn story(evidence: &Evidence, anomaly: &Anomaly) -> String {
    let (kind, tx) = (anomaly.kind.name(), &anomaly.tx);
    let mut text = format!("{kind} {tx}: {}\n", anomaly.what);
    let Some(transaction) = evidence.journals.transactions.get(tx) else {
        return text;
    };
    for line in &transaction.lines {
        text.push_str(&format!("  journal  {line}\n"));
    }
    for view in &evidence.views {
        let shown = view.records.iter().filter(|record| record.tx == *tx);
        let places = shown.map(|r| format!("{}@{}/{}:{}", r.k, r.topic, r.partition, r.offset));
        let places: Vec<String> = places.collect();
        text.push_str(&format!("  {} shows  {}\n", view.cluster, places.join(" ")));
    }
    let from = transaction.began_ms.saturating_sub(AROUND_MS);
    let to = transaction.last_ms + AROUND_MS;
    for note in evidence
        .notes
        .iter()
        .filter(|note| (from..=to).contains(&note.at))
    {
        let (at, what) = (note.at, &note.what);
        text.push_str(&format!(
            "  fault  {at} {what} {} {}\n",
            note.target, note.how
        ));
    }
    text
}
