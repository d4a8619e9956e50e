//! librdkafka's log lines, as events of `tracing`.

use rdkafka::config::RDKafkaLogLevel;

/// Hands one line on. librdkafka prints no secrets in its log.
pub(super) fn forward(level: RDKafkaLogLevel, facility: &str, message: &str, participant: &str) {
    match level {
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
