//! What to do where the cluster does not have the position.
//!
//! librdkafka is told never to choose by itself, and says only that some partition has no valid
//! position, not which. So all are looked at.

use rdkafka::consumer::Consumer;

use super::link::{Offsets, Place};
use super::reader::{ASK_TIMEOUT, Reader};
use super::settings::OffsetReset;
use super::{ConsumerEvent, OutOfRange};
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::failure;

impl Reader<'_> {
    /// Finds the partitions that cannot go on and treats each as the settings say.
    pub(super) fn resolve_positions(&mut self) -> Result<(), DataError> {
        let committed: Offsets = self
            .committed()?
            .into_iter()
            .map(|place| ((place.topic, place.partition), place.offset))
            .collect();
        let mut goal = Offsets::new();
        let waiting: Vec<Place> = self
            .positions
            .keys()
            .filter(|place| !self.held.contains(place))
            .cloned()
            .collect();
        for place in waiting {
            let known = self
                .positions
                .get(&place)
                .and_then(|position| position.next);
            let (low, high) = self.range(&place)?;
            match known.or_else(|| committed.get(&place).copied()) {
                None => {
                    goal.insert(place, self.beginning(low, high));
                }
                // It may be the one that librdkafka has stopped: setting it again is harmless.
                Some(position) if (low..=high).contains(&position) => {
                    goal.insert(place, position);
                }
                Some(position) => self.out_of_range(place, [position, low, high], &mut goal),
            }
        }
        self.seek(&goal)
    }

    fn beginning(&self, low: i64, high: i64) -> i64 {
        match self.settings.reset {
            OffsetReset::Earliest | OffsetReset::Fail => low,
            OffsetReset::Latest => high,
        }
    }

    fn out_of_range(&mut self, place: Place, [position, low, high]: [i64; 3], goal: &mut Offsets) {
        let resumed_at = match self.settings.reset {
            OffsetReset::Earliest => Some(low),
            OffsetReset::Latest => Some(high),
            OffsetReset::Fail => None,
        };
        let (topic, partition) = place.clone();
        let event = OutOfRange {
            topic,
            partition,
            position,
            low,
            high,
            resumed_at,
        };
        self.shared.put_ready(ConsumerEvent::OutOfRange(event));
        match resumed_at {
            Some(offset) => {
                goal.insert(place, offset);
            }
            None => self.held.push(place),
        }
    }

    fn range(&self, (topic, partition): &Place) -> Result<(i64, i64), DataError> {
        self.consumer
            .fetch_watermarks(topic, *partition, ASK_TIMEOUT)
            .map_err(|error| {
                let why = format!(
                    "the range of {topic} [{partition}]: {}",
                    failure::describe(&error)
                );
                self.settings.error(DataErrorKind::Timeout, &why)
            })
    }
}
