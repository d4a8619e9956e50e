//! What was measured, and how it is told.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::RUST;
use crate::figures::{median, ratio};

/// One program in one round.
#[derive(Clone, Copy)]
pub struct Measured {
    transaction_ms: f64,
    records_per_s: f64,
}

impl Measured {
    pub fn new(transactions: u64, records: u64, seconds: f64) -> Self {
        Self {
            transaction_ms: seconds * 1e3 / transactions as f64,
            records_per_s: records as f64 / seconds,
        }
    }
}

/// The rounds of each language with each batch.
#[derive(Default)]
pub struct Table {
    order: Vec<(usize, String)>,
    rounds: BTreeMap<(usize, String), Vec<Measured>>,
}

/// One line.
struct Row<'a> {
    batch: usize,
    language: &'a str,
    transaction_ms: f64,
    records_per_s: f64,
    /// Of the records a second; the median of the rounds' own.
    to_rust: f64,
}

impl Table {
    /// Lines for these languages, in this order.
    pub fn add<'a>(&mut self, batch: usize, languages: impl Iterator<Item = &'a str>) {
        let keys = languages.map(|language| (batch, language.to_owned()));
        self.order.extend(keys);
    }

    pub fn take(&mut self, (batch, language): (usize, &str), measured: Measured) {
        let rounds = self.rounds.entry((batch, language.to_owned()));
        rounds.or_default().push(measured);
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.order.iter().map(|key| {
            let rates = self.column(key, |one| one.records_per_s);
            let rust = self.column(&(key.0, RUST.to_owned()), |one| one.records_per_s);
            Row {
                batch: key.0,
                language: &key.1,
                transaction_ms: median(&self.column(key, |one| one.transaction_ms)),
                records_per_s: median(&rates),
                to_rust: ratio(&rates, &rust),
            }
        })
    }

    fn column(&self, key: &(usize, String), figure: fn(&Measured) -> f64) -> Vec<f64> {
        let rounds = self.rounds.get(key).into_iter().flatten();
        rounds.map(figure).collect()
    }

    pub fn text(&self) -> String {
        let head = "batch  language  ms a transaction  records a second  to Rust\n".to_owned();
        let mut lines = self.rows().map(|row| {
            format!(
                "{:<5}  {:<8}  {:>16.2}  {:>16.0}  {:>7.2}\n",
                row.batch, row.language, row.transaction_ms, row.records_per_s, row.to_rust
            )
        });
        lines.by_ref().fold(head, |text, line| text + &line)
    }

    pub fn json(&self) -> Value {
        let rows = self.rows().map(|row| {
            json!({
                "batch": row.batch,
                "language": row.language,
                "transaction_ms": row.transaction_ms,
                "records_per_s": row.records_per_s,
                "to_rust": row.to_rust,
            })
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_one_round_and_their_median_counts() {
        let mut table = Table::default();
        table.add(100, [RUST, "python"].into_iter());
        // The machine slows down to half: what is told of Python does not change.
        for (rust, python) in [(100, 90), (50, 45), (80, 80)] {
            table.take((100, RUST), Measured::new(1, rust, 1.0));
            table.take((100, "python"), Measured::new(1, python, 1.0));
        }
        let rows: Vec<_> = table
            .rows()
            .map(|row| (row.language, row.to_rust))
            .collect();
        assert_eq!(rows, [(RUST, 1.0), ("python", 0.9)]);
        let last = table.text().lines().last().map(str::to_owned);
        assert_eq!(
            last.as_deref(),
            Some("100    python             1000.00                80     0.90")
        );
        assert_eq!(table.json()[1]["to_rust"], 0.9);
    }
}
