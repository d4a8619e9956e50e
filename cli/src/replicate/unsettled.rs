//! The transaction that a mirror cannot go on after: it ended mixed, or is in doubt. Which records of the source
//! it carried is known here alone, and is what an operator compares.

use std::collections::BTreeMap;
use std::fmt;

use gtc::{Batch, TransactionId};
use serde::Serialize;

use super::reporter::Reporter;
use crate::failure::{Exit, Failure};
use crate::remedy;

/// As many partitions are named in an error; all of them are in the log lines.
const NAMED_MAX: usize = 20;

/// The transaction, and what it carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Unsettled {
    /// Its id.
    transaction: String,
    /// `mixed`, `in-doubt`, or `unknown` where it was in doubt and is forgotten.
    outcome: &'static str,
    /// The records of the source in it.
    carried: Vec<Range>,
}

/// Records of one partition of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Range {
    topic: String,
    partition: i32,
    /// The offset of the first one.
    first: i64,
    /// The offset of the last one.
    last: i64,
    /// How many there are: offsets may be missing in between.
    records: u64,
}

/// A batch whose transaction ended mixed.
pub(crate) fn mixed(
    (id, why): (TransactionId, &str),
    batch: &Batch,
    reporter: &Reporter,
) -> Failure {
    let carried = note((id, "mixed"), batch, reporter);
    Failure::with(
        Exit::NeedsHand,
        format!(
            "transaction {id} ended mixed: {why}; source and destinations may differ: {carried}; {}, and start \
             again",
            remedy::mixed(&id.to_string())
        ),
    )
}

/// A batch of which this run does not learn how its transaction ended.
pub(crate) fn in_doubt(
    (id, why): (TransactionId, &str),
    batch: &Batch,
    reporter: &Reporter,
) -> Failure {
    let carried = note((id, "in-doubt"), batch, reporter);
    Failure::with(
        Exit::NeedsHand,
        format!(
            "transaction {id} is in doubt, {why}: {carried}; start again: it is resolved before new work"
        ),
    )
}

/// A batch whose transaction was in doubt, and is known no more: to send it again could write it twice.
pub(crate) fn forgotten(id: TransactionId, batch: &Batch, reporter: &Reporter) -> Failure {
    let carried = note((id, "unknown"), batch, reporter);
    Failure::with(
        Exit::NeedsHand,
        format!(
            "transaction {id} was in doubt, and the log knows no more how it ended, as it was forgotten or \
             outcomes_max is too small: {carried}; its branches may have ended each in its own way: look for these \
             records in the topics of every destination (read_committed) before it is started again, which goes \
             on at the group's offsets"
        ),
    )
}

/// Transactions that a start finds to have ended mixed in an earlier run, which alone knew its batches.
pub(crate) fn found_mixed(ids: &[String], (source, group): (&str, &str)) -> Failure {
    Failure::with(
        Exit::NeedsHand,
        format!(
            "transactions ended otherwise than decided, so that source and destinations may differ: {}; {}. \
             Which records of the source they carried is not known here: the run that sent them has told it, \
             in its log lines and its last report, where it lived to hear of the end. Otherwise the offsets of \
             group `{group}` at `{source}` tell one end: they stand before the records where the branch of \
             `{source}` aborted, and behind them where it committed",
            ids.join(", "),
            remedy::mixed("ID")
        ),
    )
}

/// For the last report, and a line of the log for each partition.
fn note(
    (id, outcome): (TransactionId, &'static str),
    batch: &Batch,
    reporter: &Reporter,
) -> Carried {
    let records = batch.records.iter();
    let carried = ranges(records.map(|record| (&*record.topic, record.partition, record.offset)));
    for range in &carried {
        tracing::error!(
            txn = %id,
            outcome,
            topic = range.topic,
            partition = range.partition,
            first = range.first,
            last = range.last,
            records = range.records,
            "these records of the source are in it"
        );
    }
    reporter.unsettled(Unsettled {
        transaction: id.to_string(),
        outcome,
        carried: carried.clone(),
    });
    Carried(carried)
}

/// The records by partition.
fn ranges<'a>(records: impl Iterator<Item = (&'a str, i32, i64)>) -> Vec<Range> {
    let mut ranges: BTreeMap<(&str, i32), Range> = BTreeMap::new();
    for (topic, partition, offset) in records {
        let range = ranges.entry((topic, partition)).or_insert_with(|| Range {
            topic: topic.to_owned(),
            partition,
            first: offset,
            last: offset,
            records: 0,
        });
        range.first = range.first.min(offset);
        range.last = range.last.max(offset);
        range.records += 1;
    }
    ranges.into_values().collect()
}

/// What was carried, in words.
struct Carried(Vec<Range>);

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("it carried no records of the source");
        }
        let named = self.0.iter().take(NAMED_MAX).map(|range| {
            let (topic, partition) = (&range.topic, range.partition);
            format!("{topic}-{partition} {} to {}", range.first, range.last)
        });
        let named: Vec<String> = named.collect();
        write!(
            f,
            "it carried the source's records (offsets) {}",
            named.join(", ")
        )?;
        match self.0.len().saturating_sub(NAMED_MAX) {
            0 => Ok(()),
            more => write!(
                f,
                ", and those of {more} more partitions, see the log lines before"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_by_partition_from_the_first_to_the_last() {
        let records = [
            ("b", 1, 7),
            ("a", 0, 3),
            ("b", 1, 9),
            ("b", 0, 4),
            ("a", 0, 4),
        ];
        let found = ranges(records.into_iter());
        let short = |range: &Range| (range.first, range.last, range.records);
        assert_eq!(
            found.iter().map(short).collect::<Vec<_>>(),
            [(3, 4, 2), (4, 4, 1), (7, 9, 2)]
        );
        assert_eq!(
            Carried(found).to_string(),
            "it carried the source's records (offsets) a-0 3 to 4, b-0 4 to 4, b-1 7 to 9"
        );
        assert_eq!(
            Carried(Vec::new()).to_string(),
            "it carried no records of the source"
        );
    }

    #[test]
    fn an_error_does_not_name_a_thousand_partitions() {
        let records = (0..1000).map(|partition| ("orders", partition, 1));
        let told = Carried(ranges(records)).to_string();
        assert!(
            told.contains("orders-19 1 to 1, and those of 980 more"),
            "{told}"
        );
        assert!(!told.contains("orders-20"), "{told}");
    }
}
