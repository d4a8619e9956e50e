//! How far a group has come, also where its coordinator is not ready yet.

use std::thread;
use std::time::{Duration, Instant};

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};

/// How long to wait before the group's coordinator is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// The offsets that the group of `consumer` has committed for the partitions in `asked`; blocks for `patience` at most.
///
/// A cluster that makes its offsets topic just then, or moves it, answers that it is not the group's coordinator,
/// or is not ready; librdkafka gives that answer to its caller. It is asked again.
///
/// # Errors
/// What the cluster said last, or that it did not answer.
pub fn committed_offsets<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    asked: &TopicPartitionList,
    patience: Duration,
) -> KafkaResult<TopicPartitionList> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match consumer.committed_offsets(asked.clone(), left) {
            Err(error) if is_passing(&error) && left > PAUSE => thread::sleep(PAUSE),
            told => return told,
        }
    }
}

fn is_passing(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::NotCoordinator
                | RDKafkaErrorCode::CoordinatorNotAvailable
                | RDKafkaErrorCode::CoordinatorLoadInProgress
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_coordinator_that_is_not_ready_is_asked_again() {
        for (code, wanted) in [
            (RDKafkaErrorCode::NotCoordinator, true),
            (RDKafkaErrorCode::CoordinatorNotAvailable, true),
            (RDKafkaErrorCode::CoordinatorLoadInProgress, true),
            (RDKafkaErrorCode::GroupAuthorizationFailed, false),
            (RDKafkaErrorCode::OperationTimedOut, false),
        ] {
            assert_eq!(
                is_passing(&KafkaError::MetadataFetch(code)),
                wanted,
                "{code}"
            );
            assert_eq!(is_passing(&KafkaError::OffsetFetch(code)), wanted, "{code}");
        }
    }
}
