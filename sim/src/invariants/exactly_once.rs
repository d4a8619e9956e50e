//! Exactly once: of a transaction, readers of committed data see every delivered record once or none.

use std::collections::BTreeMap;

use gtc_core::TransactionId;

use crate::model::broker::{Broker, Fate, Tag};
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "exactly-once";

/// After a history: the records delivered to one cluster by transaction, in the order of their deliveries.
pub fn check(broker: &Broker, delivered: &BTreeMap<Tag, Vec<u64>>) -> Verdict {
    let mut visible: BTreeMap<&Tag, Vec<u64>> = BTreeMap::new();
    for (tag, number) in broker.partition.committed() {
        visible.entry(tag).or_default().push(number);
    }
    for (tag, numbers) in delivered {
        let seen = visible.get(tag).map_or(&[][..], Vec::as_slice);
        let wanted = match broker.fates.get(tag) {
            Some(Fate::Committed) => numbers.as_slice(),
            _ => &[],
        };
        let fate = broker.fates.get(tag);
        holds(NAME, seen == wanted, || {
            format!("{tag:?} is {fate:?}, delivered {numbers:?}, and readers see {seen:?}")
        })?;
    }
    let unknown = visible.keys().find(|tag| !delivered.contains_key(**tag));
    holds(NAME, unknown.is_none(), || {
        format!("readers see records of {unknown:?} that nobody was told of")
    })
}

/// The transaction of a record must be the one that it was written for.
pub fn own_transaction(tag: &Tag, open: &Tag) -> Verdict {
    let same = tag.transaction == open.transaction;
    let (of, to): (TransactionId, TransactionId) = (tag.transaction, open.transaction);
    holds(NAME, same, || {
        format!("a record of {of} became part of {to} under {}", tag.name)
    })
}
