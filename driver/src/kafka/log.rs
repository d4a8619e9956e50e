//! librdkafka's log lines, as events of `tracing`.

use rdkafka::config::RDKafkaLogLevel;

/// Hands one line on. librdkafka prints no secrets in its log.
pub(super) fn forward(level: RDKafkaLogLevel, facility: &str, message: &str, participant: &str) {
    match level {
        // A writer that gtc has replaced hears so at its next request. Who writes is told by the error.
        _ if is_replacement(facility, message) => {
            tracing::debug!(target: "gtc::librdkafka", participant, facility, "{message}");
        }
        // A client is given the properties of producer and consumer alike; it says so each time.
        _ if facility == "CONFWARN" => {
            tracing::trace!(target: "gtc::librdkafka", participant, facility, "{message}");
        }
        RDKafkaLogLevel::Emerg
        | RDKafkaLogLevel::Alert
        | RDKafkaLogLevel::Critical
        | RDKafkaLogLevel::Error
        | RDKafkaLogLevel::Warning => {
            tracing::warn!(target: "gtc::librdkafka", participant, facility, "{message}");
        }
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => {
            tracing::info!(target: "gtc::librdkafka", participant, facility, "{message}");
        }
        RDKafkaLogLevel::Debug => {
            tracing::debug!(target: "gtc::librdkafka", participant, facility, "{message}");
        }
    }
}

/// Whether a line tells that a newer producer has the same transactional.id.
fn is_replacement(facility: &str, message: &str) -> bool {
    const FENCED: [&str; 6] = [
        "fenced by a newer instance",
        "operation with an old epoch",
        "newer producer with the same",
        "(_FENCED",
        "(INVALID_PRODUCER_EPOCH",
        "(PRODUCER_FENCED",
    ];
    matches!(facility, "FATAL" | "TXNERR") && FENCED.iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::is_replacement;

    #[test]
    fn a_replaced_producer_is_no_alarm_and_other_fatal_errors_are() {
        let fenced = "Local: This instance has been fenced by a newer instance";
        for (facility, message) in [
            (
                "FATAL",
                format!("Fatal error: {fenced}: Failed to end transaction"),
            ),
            (
                "TXNERR",
                "Fatal transaction error: Failed to end transaction (_FENCED)".to_owned(),
            ),
            (
                "TXNERR",
                "Current transaction failed in state InTransaction: ProduceRequest failed \
                 (INVALID_PRODUCER_EPOCH, requires epoch bump)"
                    .to_owned(),
            ),
        ] {
            assert!(is_replacement(facility, &message), "{facility} {message}");
        }
        for (facility, message) in [
            (
                "FATAL",
                "Fatal error: Broker: Cluster authorization failed: no".to_owned(),
            ),
            ("FAIL", format!("{fenced}, says a line of another kind")),
        ] {
            assert!(!is_replacement(facility, &message), "{facility} {message}");
        }
    }
}
