//! A topic partition: records, control markers, and what a read_committed reader sees of them.

use std::collections::BTreeMap;

use super::call::Tag;

/// One entry of the partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    Record {
        producer_id: i64,
        tag: Tag,
        number: u64,
    },
    Marker {
        producer_id: i64,
        committed: bool,
    },
}

/// A topic partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Partition {
    items: Vec<Item>,
    /// The first offset of each producer's open transaction.
    open: BTreeMap<i64, usize>,
}

impl Partition {
    /// Appends a record of an open transaction.
    pub fn append(&mut self, producer_id: i64, tag: Tag, number: u64) {
        self.open.entry(producer_id).or_insert(self.items.len());
        self.items.push(Item::Record {
            producer_id,
            tag,
            number,
        });
    }

    /// Writes the marker that ends a producer's transaction.
    pub fn end(&mut self, producer_id: i64, committed: bool) {
        if self.open.remove(&producer_id).is_some() {
            self.items.push(Item::Marker {
                producer_id,
                committed,
            });
        }
    }

    /// The number of the last record of a producer.
    pub fn last_number(&self, producer: i64) -> Option<u64> {
        self.items.iter().rev().find_map(|item| match item {
            Item::Record {
                producer_id,
                number,
                ..
            } if *producer_id == producer => Some(*number),
            _ => None,
        })
    }

    /// The last stable offset: readers of committed data wait here.
    pub fn last_stable(&self) -> usize {
        let first_open = self.open.values().min();
        first_open.copied().unwrap_or(self.items.len())
    }

    /// No transaction holds readers back.
    pub fn is_stable(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a record of this number is in it.
    pub fn holds(&self, wanted: u64) -> bool {
        let is = |item: &Item| matches!(item, Item::Record { number, .. } if *number == wanted);
        self.items.iter().rev().any(is)
    }

    /// What a read_committed reader is given: below the last stable offset, and not aborted.
    pub fn committed(&self) -> Vec<(&Tag, u64)> {
        let mut waiting: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        let mut visible = Vec::new();
        for (offset, item) in self.items.iter().enumerate() {
            match item {
                Item::Record { producer_id, .. } => {
                    waiting.entry(*producer_id).or_default().push(offset);
                }
                Item::Marker {
                    producer_id,
                    committed,
                } => {
                    let ended = waiting.remove(producer_id).unwrap_or_default();
                    if *committed {
                        visible.extend(ended);
                    }
                }
            }
        }
        let stable = self.last_stable();
        visible.sort_unstable();
        visible.retain(|offset| *offset < stable);
        let record = |offset: usize| match &self.items[offset] {
            Item::Record { tag, number, .. } => Some((tag, *number)),
            Item::Marker { .. } => None,
        };
        visible.into_iter().filter_map(record).collect()
    }
}
