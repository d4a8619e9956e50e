//! What ties batches to the consumer that read them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::position::PartitionLag;

/// A topic and a partition.
pub(super) type Place = (Arc<str>, i32);
/// Offsets by partition.
pub(super) type Offsets = BTreeMap<Place, i64>;

/// Shared by a consumer, its thread and its batches.
#[derive(Default)]
pub(super) struct Link {
    /// Raised whenever batches become stale.
    epoch: AtomicU64,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    sequence: u64,
    /// Where each batch that is not done begins.
    outstanding: BTreeMap<u64, Offsets>,
    /// Where to read again, if anything.
    rewind_to: Option<Offsets>,
    /// As of the last statistics, but for positions that were set since. It stands here because a
    /// batch that leaves the books must not look as if it was done.
    lag: Lag,
}

/// How far the assigned partitions are behind.
#[derive(Default)]
pub(super) struct Lag {
    /// The partitions that something is known of.
    pub(super) lines: Vec<PartitionLag>,
    /// Whether these are all that are assigned.
    pub(super) is_whole: bool,
    /// When the statistics came; a reader that is far enough ahead takes no more of them.
    pub(super) at: Option<Instant>,
}

impl Lag {
    /// The sum, and its age, where something is known of every assigned partition.
    pub(super) fn behind(&self) -> Option<(u64, Duration)> {
        let at = self.at.filter(|_| self.is_whole)?;
        let behind: Option<u64> = self.lines.iter().map(PartitionLag::behind).sum();
        Some((behind?, at.elapsed()))
    }

    fn set_positions(&mut self, offsets: &Offsets) {
        for line in &mut self.lines {
            if let Some(offset) = offsets.get(&(line.topic.clone(), line.partition)) {
                line.position = Some(*offset);
                line.open = None;
            }
        }
    }
}

impl Link {
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Enters a batch; `None` if it must be read again first.
    pub(super) fn enter(&self, starts: Offsets) -> Option<(u64, u64)> {
        let mut books = self.books();
        if books.rewind_to.is_some() {
            return None;
        }
        books.sequence += 1;
        let sequence = books.sequence;
        books.outstanding.insert(sequence, starts);
        Some((sequence, self.epoch()))
    }

    /// A batch's offsets are committed.
    pub(super) fn finish(&self, sequence: u64) {
        self.books().outstanding.remove(&sequence);
    }

    /// A batch is given up: it and all later ones are to be read again.
    pub(super) fn abandon(&self, sequence: u64) {
        let mut books = self.books();
        if !books.outstanding.contains_key(&sequence) {
            return;
        }
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let later = books.outstanding.split_off(&sequence);
        let mut goal = books.rewind_to.take().unwrap_or_default();
        for starts in later.into_values() {
            merge(&mut goal, starts);
        }
        books.rewind_to = Some(goal);
    }

    /// A position is set from outside: whatever is not done is to be read again.
    pub(super) fn abandon_all(&self) {
        let mut books = self.books();
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let outstanding = std::mem::take(&mut books.outstanding);
        let goal = books.rewind_to.get_or_insert_default();
        outstanding
            .into_values()
            .for_each(|starts| merge(goal, starts));
    }

    /// A rebalance: all is stale, and the committed offsets count.
    pub(super) fn invalidate(&self) {
        let mut books = self.books();
        self.epoch.fetch_add(1, Ordering::SeqCst);
        books.outstanding.clear();
        books.rewind_to = None;
        books.lag = Lag::default();
    }

    /// What the latest statistics say.
    pub(super) fn learn(&self, lag: Lag) {
        self.books().lag = lag;
    }

    /// Positions were set.
    pub(super) fn set_positions(&self, offsets: &Offsets) {
        self.books().lag.set_positions(offsets);
    }

    /// How far the partitions are behind; what is not done counts as not read.
    pub(super) fn lag(&self) -> Lag {
        let books = self.books();
        let open = books.open();
        let line = |line: &PartitionLag| {
            let mut line = line.clone();
            let batch = open.get(&(line.topic.clone(), line.partition)).copied();
            line.open = [line.open, batch].into_iter().flatten().min();
            line
        };
        Lag {
            lines: books.lag.lines.iter().map(line).collect(),
            is_whole: books.lag.is_whole,
            at: books.lag.at,
        }
    }

    pub(super) fn must_rewind(&self) -> bool {
        self.books().rewind_to.is_some()
    }

    pub(super) fn take_rewind(&self) -> Option<Offsets> {
        let mut books = self.books();
        let goal = books.rewind_to.take()?;
        books.lag.set_positions(&goal);
        Some(goal)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Where the first batch begins that is not done, or will be read again, by partition.
    fn open(&self) -> Offsets {
        let mut open = self.rewind_to.clone().unwrap_or_default();
        for starts in self.outstanding.values() {
            merge(&mut open, starts.clone());
        }
        open
    }
}

/// Keeps the smaller offset of each partition.
pub(super) fn merge(goal: &mut Offsets, starts: Offsets) {
    for (place, start) in starts {
        goal.entry(place)
            .and_modify(|known| *known = start.min(*known))
            .or_insert(start);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Lag, Link, Offsets};
    use crate::kafka::consumer::PartitionLag;

    fn at(offset: i64) -> Offsets {
        Offsets::from([(("t".into(), 0), offset)])
    }

    #[test]
    fn giving_a_batch_up_makes_later_ones_stale_and_leads_back_to_its_start() {
        let link = Link::default();
        let (first, epoch) = link.enter(at(10)).expect("entered");
        let (second, _) = link.enter(at(20)).expect("entered");
        link.enter(at(30)).expect("entered");
        assert_eq!(link.books().open(), at(10));
        link.finish(first);
        assert_eq!(link.books().open(), at(20));
        link.abandon(second);
        assert_eq!(link.books().open(), at(20));
        assert_ne!(link.epoch(), epoch);
        assert!(
            link.enter(at(40)).is_none(),
            "nothing is handed out before the rewind"
        );
        assert_eq!(link.take_rewind(), Some(at(20)));
    }

    /// All of one partition was read, up to its end at 40.
    fn all_read(link: &Link) {
        let line = PartitionLag {
            topic: "t".into(),
            partition: 0,
            position: Some(40),
            open: None,
            end: 40,
        };
        link.learn(Lag {
            lines: vec![line],
            is_whole: true,
            at: Some(Instant::now()),
        });
    }

    fn behind(link: &Link) -> Option<u64> {
        link.lag().lines[0].behind()
    }

    #[test]
    fn what_is_read_again_is_behind_until_it_is_done() {
        let link = Link::default();
        all_read(&link);
        assert_eq!(behind(&link), Some(0));
        let (first, _) = link.enter(at(10)).expect("entered");
        assert_eq!(behind(&link), Some(30));
        link.abandon(first);
        assert_eq!(behind(&link), Some(30));
        // The reader goes back; the statistics are as they were.
        link.take_rewind();
        assert_eq!(behind(&link), Some(30));
        all_read(&link);
        link.set_positions(&at(35));
        assert_eq!(behind(&link), Some(5));
    }

    #[test]
    fn after_a_rebalance_nothing_is_known_of_the_lag() {
        let link = Link::default();
        all_read(&link);
        link.invalidate();
        assert!(link.lag().lines.is_empty() && !link.lag().is_whole);
        assert_eq!(link.lag().behind(), None);
    }

    /// A member of a group may have no partition, and one may have partitions that nobody has told of yet.
    #[test]
    fn a_sum_is_told_only_where_every_partition_is_known() {
        let link = Link::default();
        assert_eq!(link.lag().behind(), None, "nothing is assigned yet");
        all_read(&link);
        let sum = |link: &Link| link.lag().behind().map(|(behind, _)| behind);
        assert_eq!(sum(&link), Some(0));
        let mut lag = link.lag();
        lag.lines[0].position = None;
        link.learn(lag);
        assert_eq!(sum(&link), None, "its position is not known");
        let at = Some(Instant::now());
        link.learn(Lag {
            lines: Vec::new(),
            is_whole: true,
            at,
        });
        assert_eq!(sum(&link), Some(0), "it has no partition");
    }

    #[test]
    fn an_older_batch_given_up_later_leads_further_back() {
        let link = Link::default();
        let (first, _) = link.enter(at(10)).expect("entered");
        let (second, _) = link.enter(at(20)).expect("entered");
        link.abandon(second);
        link.abandon(first);
        assert_eq!(link.take_rewind(), Some(at(10)));
    }

    #[test]
    fn a_position_set_from_outside_makes_all_stale_even_where_nothing_is_outstanding() {
        let link = Link::default();
        let epoch = link.epoch();
        link.abandon_all();
        assert_ne!(link.epoch(), epoch);
        assert_eq!(link.take_rewind(), Some(Offsets::new()));
        let (first, _) = link.enter(at(10)).expect("entered");
        link.abandon_all();
        link.abandon(first);
        assert_eq!(link.take_rewind(), Some(at(10)));
    }

    #[test]
    fn a_batch_that_is_stale_already_changes_nothing() {
        let link = Link::default();
        let (first, _) = link.enter(at(10)).expect("entered");
        link.invalidate();
        let (_, epoch) = link.enter(at(5)).expect("entered");
        link.abandon(first);
        assert_eq!(link.epoch(), epoch);
        assert_eq!(link.take_rewind(), None);
    }
}
