//! Records that found no place: whether the cluster has none, or the producer did not hear of it.

use super::KafkaParticipant;
use crate::arguments::Flaw;
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::slot::{Place, SlotInstance};

impl KafkaParticipant {
    /// Why what was written in the slot's lease would be refused again.
    pub(super) async fn never_accepted(&self, slot: &SlotInstance) -> Option<Flaw> {
        if let Some(flaw) = slot.never_accepted() {
            return Some(flaw);
        }
        let missing = self.missing(&slot.misplaced()?).await?;
        Some(Flaw {
            problem: missing.problem().to_owned(),
            remedy: missing.kind().remedy(),
        })
    }

    /// The error of a record without a place: a lasting one, where the cluster says that it has none.
    pub(super) async fn weighed(&self, error: DataError, place: &Place) -> DataError {
        match error.kind() {
            DataErrorKind::Misplaced => self.missing(place).await.unwrap_or(error),
            _ => error,
        }
    }

    /// What the cluster does not have of a place; `None` where it has it, or does not tell.
    async fn missing(&self, place: &Place) -> Option<DataError> {
        let Place { topic, partition } = place;
        let participant = self.properties.participant();
        let Some(found) = self.control.topic(topic).await.ok()? else {
            let what = format!("there is no topic `{topic}` on the cluster of `{participant}`");
            return Some(DataError::new(
                participant,
                DataErrorKind::NoSuchTopic,
                what,
            ));
        };
        let partition = (*partition)?;
        if found
            .partitions
            .iter()
            .any(|known| known.index == partition)
        {
            return None;
        }
        let what = format!(
            "topic `{topic}` has no partition {partition} on the cluster of `{participant}`: it has \
             {}, counted from 0",
            found.partitions.len()
        );
        Some(DataError::new(
            participant,
            DataErrorKind::NoSuchPartition,
            what,
        ))
    }
}
