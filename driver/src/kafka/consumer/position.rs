//! Where the consumer stands, and what librdkafka's statistics prove about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::link::Place;
use crate::kafka::statistics::monotonic_us;

/// How far one partition is behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionLag {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The next offset to read, once it is known.
    pub position: Option<i64>,
    /// Where the first batch begins that is not done; `None` if all that was read is.
    pub open: Option<i64>,
    /// The end of what can be read.
    pub end: i64,
}

impl PartitionLag {
    /// How many offsets there are that no transaction has committed yet.
    #[must_use]
    pub fn behind(&self) -> Option<u64> {
        self.open
            .or(self.position)
            .map(|from| u64::try_from(self.end - from).unwrap_or(0))
    }
}

/// One partition's position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// The next offset to read, once it is known.
    pub(super) next: Option<i64>,
    /// When a record came since the position was last set from outside.
    seen_us: Option<i64>,
}

impl Position {
    /// A record was read.
    pub(super) fn pass(&mut self, offset: i64) {
        self.next = Some(offset + 1);
        self.seen_us.get_or_insert_with(monotonic_us);
    }

    /// The position was set from outside.
    pub(super) fn set(&mut self, offset: i64) {
        *self = Self {
            next: Some(offset),
            seen_us: None,
        };
    }

    /// librdkafka starts again at the known position, and may still show a later one.
    pub(super) fn forget_progress(&mut self) {
        self.seen_us = None;
    }

    /// Where the statistics prove that everything before was handed out; `None` if nowhere new.
    ///
    /// librdkafka puts records into its queue before it moves `next_offset`, and the count of the
    /// queue is read after that. So an empty queue says that all records before `next_offset`
    /// had been taken out, and whatever lies between is no record. The statistics must be younger
    /// than a record that came after the last seek: before that, librdkafka may still show the
    /// position from before the seek.
    fn proven(&self, ts_us: i64, shown: &PartitionStatistics) -> Option<i64> {
        let (next, seen_us) = (self.next?, self.seen_us?);
        let is_proof = shown.fetchq_cnt == 0 && seen_us < ts_us && shown.next_offset > next;
        is_proof.then_some(shown.next_offset)
    }
}

/// The positions of all assigned partitions.
pub(super) type Positions = BTreeMap<Place, Position>;

/// The part of a consumer's statistics that is needed.
#[derive(Deserialize)]
pub(super) struct ConsumerStatistics {
    ts: i64,
    topics: BTreeMap<String, TopicStatistics>,
}

#[derive(Deserialize)]
struct TopicStatistics {
    partitions: BTreeMap<String, PartitionStatistics>,
}

#[derive(Deserialize)]
struct PartitionStatistics {
    fetchq_cnt: i64,
    next_offset: i64,
    committed_offset: i64,
    ls_offset: i64,
}

impl ConsumerStatistics {
    pub(super) fn parse(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }

    /// The partitions that moved over offsets without a record: place, from, to.
    pub(super) fn advances(&self, positions: &Positions) -> Vec<(Place, i64, i64)> {
        let moved = |(place, position): (&Place, &Position)| {
            let to = position.proven(self.ts, self.of(place)?)?;
            Some((place.clone(), position.next?, to))
        };
        positions.iter().filter_map(moved).collect()
    }

    pub(super) fn lag(&self, positions: &Positions) -> Vec<PartitionLag> {
        let line = |((topic, partition), position): (&Place, &Position)| {
            let shown = self.of(&(topic.clone(), *partition))?;
            let committed = Some(shown.committed_offset).filter(|offset| *offset >= 0);
            (shown.ls_offset >= 0).then(|| PartitionLag {
                topic: topic.clone(),
                partition: *partition,
                position: position.next.or(committed),
                open: None,
                end: shown.ls_offset,
            })
        };
        positions.iter().filter_map(line).collect()
    }

    fn of(&self, (topic, partition): &Place) -> Option<&PartitionStatistics> {
        self.topics
            .get(topic.as_ref())?
            .partitions
            .get(&partition.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{ConsumerStatistics, Position, Positions};
    use crate::kafka::statistics::monotonic_us;

    fn shown(ts: i64, queued: i64, next: i64) -> ConsumerStatistics {
        let json = format!(
            r#"{{"ts":{ts},"topics":{{"t":{{"partitions":{{"0":{{"fetchq_cnt":{queued},
            "next_offset":{next},"committed_offset":-1001,"ls_offset":{next},"x":1}}}}}}}}}}"#
        );
        ConsumerStatistics::parse(json.as_bytes()).expect("readable")
    }

    fn positions(position: Position) -> Positions {
        Positions::from([(("t".into(), 0), position)])
    }

    #[test]
    fn markers_are_passed_only_with_an_empty_queue_after_a_record() {
        let mut position = Position::default();
        position.pass(9);
        let later = monotonic_us() + 1;
        let moves = shown(later, 0, 11).advances(&positions(position));
        assert_eq!(moves, vec![(("t".into(), 0), 10, 11)]);
        assert!(
            shown(later, 1, 11)
                .advances(&positions(position))
                .is_empty()
        );
        assert!(
            shown(later, 0, 10)
                .advances(&positions(position))
                .is_empty()
        );
        let before = monotonic_us() - 1_000_000;
        assert!(
            shown(before, 0, 11)
                .advances(&positions(position))
                .is_empty()
        );
    }

    #[test]
    fn what_was_read_and_not_committed_is_still_behind() {
        let mut position = Position::default();
        position.pass(9);
        let mut lag = shown(monotonic_us(), 0, 10)
            .lag(&positions(position))
            .remove(0);
        assert_eq!(lag.behind(), Some(0));
        lag.open = Some(4);
        assert_eq!(lag.behind(), Some(6));
    }

    #[test]
    fn after_a_seek_the_statistics_prove_nothing_until_a_record_came() {
        let mut position = Position::default();
        position.pass(9);
        position.set(5);
        let later = monotonic_us() + 1;
        assert!(
            shown(later, 0, 11)
                .advances(&positions(position))
                .is_empty()
        );
        assert_eq!(
            shown(later, 0, 11).lag(&positions(position))[0].behind(),
            Some(6)
        );
    }
}
