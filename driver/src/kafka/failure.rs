//! What an error of rdkafka says, without what it must not say.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::error::DataErrorKind;

/// Describes an error for people. A configuration error may repeat a secret, so its value is left out.
pub(super) fn describe(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, _, property, _) => {
            format!("librdkafka refuses the value of the property `{property}`")
        }
        other => other.to_string(),
    }
}

/// The code that a broker sent; librdkafka's own codes are negative.
pub(super) fn broker_code(found: RDKafkaErrorCode) -> Option<i16> {
    i16::try_from(found as i32)
        .ok()
        .filter(|number| *number > 0)
}

/// Another producer with the same transactional.id has taken over.
pub(super) fn is_fence(found: RDKafkaErrorCode) -> bool {
    matches!(
        found,
        RDKafkaErrorCode::Fenced
            | RDKafkaErrorCode::InvalidProducerEpoch
            | RDKafkaErrorCode::ProducerFenced
    )
}

/// The same write is refused again, whenever it is tried.
pub(super) fn lasting(found: RDKafkaErrorCode) -> Option<DataErrorKind> {
    match found {
        RDKafkaErrorCode::MessageSizeTooLarge
        | RDKafkaErrorCode::InvalidMessageSize
        | RDKafkaErrorCode::InvalidMessage
        | RDKafkaErrorCode::InvalidTimestamp
        | RDKafkaErrorCode::InvalidTopic
        | RDKafkaErrorCode::UnsupportedForMessageFormat
        | RDKafkaErrorCode::InvalidRecord => Some(DataErrorKind::NeverAccepted),
        RDKafkaErrorCode::TopicAuthorizationFailed
        | RDKafkaErrorCode::GroupAuthorizationFailed
        | RDKafkaErrorCode::TransactionalIdAuthorizationFailed
        | RDKafkaErrorCode::ClusterAuthorizationFailed => Some(DataErrorKind::Denied),
        _ => None,
    }
}

/// Where the producer finds no place for a record, if it is not only slow to hear of it.
pub(super) fn is_misplaced(found: RDKafkaErrorCode) -> bool {
    matches!(
        found,
        RDKafkaErrorCode::UnknownTopic
            | RDKafkaErrorCode::UnknownPartition
            | RDKafkaErrorCode::UnknownTopicOrPartition
            // A time-out for want of metadata, or of anything else.
            | RDKafkaErrorCode::MessageTimedOut
    )
}

#[cfg(test)]
mod tests {
    use rdkafka::ClientConfig;

    use super::describe;

    #[test]
    fn a_configuration_error_does_not_repeat_the_value() {
        let error = ClientConfig::new()
            .set("sasl.mechanisms", "PLAIN")
            .set("sasl.password", "planted-secret")
            .set("security.protocol", "planted-secret")
            .create_native_config()
            .err()
            .expect("librdkafka accepts no such protocol");
        let text = describe(&error);
        assert!(text.contains("security.protocol"), "{text}");
        assert!(!text.contains("planted-secret"), "{text}");
    }
}
