//! What is written while replications run: all that a record can be, in transactions of all kinds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::Result;
use crate::journal::Journal;
use crate::kafka::Connection;
use crate::load::{Ending, Loader};
use crate::record::{ID_HEADER, Record};

/// Records of one transaction.
const TRANSACTION: u64 = 20;

/// A pause between transactions, so that replications are never far behind and their batches stay small.
const PACE: Duration = Duration::from_millis(40);

/// One cluster's application.
pub(super) struct Writer<'a> {
    pub(super) connection: &'a Connection,
    pub(super) topic: &'a str,
    pub(super) partitions: i32,
}

impl Writer<'_> {
    /// Writes until told to stop, and then once more what no reader will see, so that the log ends in markers.
    pub(super) fn run(&self, stop: &AtomicBool) -> Result<Journal> {
        let origin = &self.connection.name;
        let mut journal = Journal::new(origin);
        let loader =
            Loader::transactional(self.connection, self.topic, &format!("writer-{origin}"))?;
        let mut round = 0;
        while !stop.load(Ordering::SeqCst) {
            loader.transaction(&self.records(round), Ending::Commit, &mut journal)?;
            match round % 8 {
                2 => loader.transaction(
                    &self.records(round + 1_000_000),
                    Ending::Abort,
                    &mut journal,
                )?,
                6 => self.empty_transaction(&mut journal)?,
                _ => {}
            }
            round += 1;
            std::thread::sleep(PACE);
        }
        loader.transaction(
            &self.records(round + 1_000_000),
            Ending::Abort,
            &mut journal,
        )?;
        self.empty_transaction(&mut journal)?;
        Ok(journal)
    }

    fn records(&self, round: u64) -> Vec<Record> {
        (0..TRANSACTION)
            .map(|at| self.record(round * TRANSACTION + at))
            .collect()
    }

    fn record(&self, row: u64) -> Record {
        let id = format!("{}:{row}", self.connection.name);
        let key = (!row.is_multiple_of(3)).then(|| format!("key-{}", row % 17).into_bytes());
        let value = (row % 4 != 1).then(|| format!("value {row}").into_bytes());
        let text = |name: &str, value: &str| (name.to_owned(), Some(value.as_bytes().to_vec()));
        Record {
            partition: i32::try_from(row % 17).unwrap_or(0) % self.partitions,
            key,
            value,
            headers: vec![
                text(ID_HEADER, &id),
                text("step", "one"),
                text("empty", ""),
                text("step", "two"),
                ("step".into(), None),
            ],
            timestamp_ms: 1_500_000_000_000 + i64::try_from(row).unwrap_or(0),
        }
    }

    /// Leaves nothing but a marker in the log: its only record is larger than the broker takes. An instance of its
    /// own, as librdkafka may give an instance up after that.
    fn empty_transaction(&self, journal: &mut Journal) -> Result<()> {
        let id = format!("empty-{}", self.connection.name);
        let too_large = Record {
            value: Some(vec![0; 2_000_000]),
            ..Record::default()
        };
        let loader = Loader::transactional(self.connection, self.topic, &id)?;
        loader.transaction(&[too_large], Ending::Abort, journal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_holds_null_keys_tombstones_and_both_at_once() {
        let connection = Connection::new("a", std::collections::BTreeMap::new());
        let writer = Writer {
            connection: &connection,
            topic: "t",
            partitions: 3,
        };
        let records: Vec<_> = (0..5).flat_map(|round| writer.records(round)).collect();
        let count = |matches: fn(&Record) -> bool| records.iter().filter(|r| matches(r)).count();
        assert!(count(|r| r.key.is_none()) > 10);
        assert!(count(|r| r.value.is_none()) > 10);
        assert!(count(|r| r.value.is_none() && r.key.is_none()) > 3);
        assert!((0..3).all(|p| records.iter().any(|r| r.partition == p)));
    }
}
