//! The settings of a slot's producer: what gtc sets itself, and what a user may choose.

use std::sync::Arc;
use std::time::Duration;

use gtc_core::SlotFailure;
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::context::SlotContext;
use crate::kafka::failure;
use crate::kafka::properties::Properties;

/// librdkafka adds 100 ms to the transaction time-out in 32 bits.
const TIMEOUT_MAX_MS: i32 = i32::MAX - 100;
/// How long a request waits for its answer, unless the user says otherwise.
const SOCKET_TIMEOUT_MS: i32 = 10_000;
/// How long a record may take until it is delivered: long enough for a broker to restart.
const DELIVERY_TIMEOUT_MS: i32 = 60_000;
/// The bounds of both.
const SHORTEST_MS: i32 = 500;
const LONGEST_MS: i32 = 300_000;
/// How long sending offsets may take at most.
const OFFSETS_TIMEOUT_MS: i32 = 10_000;
/// How soon a slot sees a change of topics that it did not cause.
const METADATA_REFRESH_MS: &str = "10000";
/// How long a topic that no broker knows yet may still come: each record to one that does not exist
/// waits for so long.
const TOPIC_PATIENCE_MS: &str = "10000";
/// How often librdkafka reports its counters, which is how long a slot rests between two leases.
const STATISTICS_INTERVAL_MS: i32 = 25;

/// What a slot is made of.
pub struct SlotSettings {
    /// The slot's transactional.id.
    pub transactional_id: Arc<str>,
    /// `transaction.timeout.ms`.
    pub timeout_ms: i32,
    /// The participant's properties.
    pub properties: Properties,
}

/// Time-outs that follow from the settings.
pub(super) struct Limits {
    pub(super) delivery_timeout: Duration,
    pub(super) offsets_timeout: Duration,
    socket_timeout_ms: i32,
    delivery_timeout_ms: i32,
}

impl SlotSettings {
    pub(super) fn participant(&self) -> Arc<str> {
        self.properties.participant().into()
    }

    pub(super) fn limits(&self) -> Result<Limits, SlotFailure> {
        if !(1..=TIMEOUT_MAX_MS).contains(&self.timeout_ms) {
            return Err(self.failure(format!(
                "transaction.timeout.ms={} is not between 1 and {TIMEOUT_MAX_MS}, the range of \
                 librdkafka; set a transaction time-out within it",
                self.timeout_ms
            )));
        }
        let socket_timeout_ms = self.bounded(&["socket.timeout.ms"], SOCKET_TIMEOUT_MS)?;
        let delivery = ["message.timeout.ms", "delivery.timeout.ms"];
        let delivery_timeout_ms = self.bounded(&delivery, DELIVERY_TIMEOUT_MS)?;
        // Shorter than a request's own time-out: a repeat of it within the call would be unseen.
        let offsets_timeout_ms = OFFSETS_TIMEOUT_MS.min(socket_timeout_ms);
        Ok(Limits {
            delivery_timeout: milliseconds(delivery_timeout_ms),
            offsets_timeout: milliseconds(offsets_timeout_ms),
            socket_timeout_ms,
            delivery_timeout_ms,
        })
    }

    /// The value of the first of `names` that is set, within bounds and the transaction time-out.
    fn bounded(&self, names: &[&str], default_ms: i32) -> Result<i32, SlotFailure> {
        let Some((name, text)) = self.first_of(names) else {
            return Ok(default_ms.min(self.timeout_ms.max(SHORTEST_MS)));
        };
        match text.parse() {
            Ok(value) if (SHORTEST_MS..=LONGEST_MS).contains(&value) => {
                Ok(value.min(self.timeout_ms.max(SHORTEST_MS)))
            }
            _ => Err(self.failure(format!(
                "the property {name} must be between {SHORTEST_MS} and {LONGEST_MS}: a request \
                 that hangs longer would hold its transaction for as long"
            ))),
        }
    }

    fn first_of<'a>(&self, names: &[&'a str]) -> Option<(&'a str, &str)> {
        names
            .iter()
            .find_map(|name| self.properties.get(name).map(|value| (*name, value)))
    }

    pub(super) fn client_config(&self, limits: &Limits) -> ClientConfig {
        let mut config = self.properties.client_config();
        // A name may be set under one spelling only, or the order would be a matter of chance.
        config.remove("delivery.timeout.ms");
        config
            .set("transactional.id", self.transactional_id.as_ref())
            .set("transaction.timeout.ms", self.timeout_ms.to_string())
            .set("enable.idempotence", "true")
            .set("socket.timeout.ms", limits.socket_timeout_ms.to_string())
            .set("message.timeout.ms", limits.delivery_timeout_ms.to_string())
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS.to_string());
        if self
            .first_of(&["linger.ms", "queue.buffering.max.ms"])
            .is_none()
        {
            config.set("linger.ms", "0");
        }
        if self
            .first_of(&["topic.metadata.propagation.max.ms"])
            .is_none()
        {
            config.set("topic.metadata.propagation.max.ms", TOPIC_PATIENCE_MS);
        }
        // Partitions that are added while the slot is open can be written to soon after.
        if self
            .first_of(&["topic.metadata.refresh.interval.ms"])
            .is_none()
        {
            config.set("topic.metadata.refresh.interval.ms", METADATA_REFRESH_MS);
        }
        config
    }

    pub(super) fn context(&self) -> SlotContext {
        SlotContext::new(self.participant(), self.transactional_id.clone())
    }

    pub(super) fn failure(&self, why: String) -> SlotFailure {
        let (participant, id) = (self.properties.participant(), &self.transactional_id);
        SlotFailure {
            timeout_above_ceiling: false,
            detail: format!("participant {participant}: opening slot {id}: {why}"),
        }
    }

    pub(super) fn open_failure(&self, error: &KafkaError) -> SlotFailure {
        let above = error.rdkafka_error_code() == Some(RDKafkaErrorCode::InvalidTransactionTimeout);
        if !above {
            return self.failure(failure::describe(error));
        }
        SlotFailure {
            timeout_above_ceiling: true,
            ..self.failure(format!(
                "transaction.timeout.ms={} is above the cluster's ceiling; raise \
                 transaction.max.timeout.ms of the brokers or lower the participant's",
                self.timeout_ms
            ))
        }
    }
}

fn milliseconds(count: i32) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::SlotSettings;
    use crate::kafka::properties::Properties;

    fn settings(timeout_ms: i32, properties: &[(&str, &str)]) -> SlotSettings {
        let all = [("bootstrap.servers", "127.0.0.1:9")];
        let all = all.iter().chain(properties);
        let values = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        SlotSettings {
            transactional_id: "gtc.c.0.1.eu.1".into(),
            timeout_ms,
            properties: Properties::parse("eu", values.collect()).expect("both planes take it"),
        }
    }

    #[test]
    fn time_outs_are_finite_whatever_the_transaction_time_out() {
        let settings = settings(2_147_483_547, &[]);
        let config = settings.client_config(&settings.limits().expect("allowed"));
        assert_eq!(config.get("socket.timeout.ms"), Some("10000"));
        assert_eq!(config.get("message.timeout.ms"), Some("60000"));
        config.create_native_config().expect("librdkafka takes it");
    }

    #[test]
    fn a_user_may_choose_them_within_bounds_under_either_name() {
        let chosen = settings(60_000, &[("delivery.timeout.ms", "7000")]);
        let config = chosen.client_config(&chosen.limits().expect("allowed"));
        assert_eq!(config.get("message.timeout.ms"), Some("7000"));
        assert_eq!(config.get("delivery.timeout.ms"), None);
        let endless = settings(60_000, &[("message.timeout.ms", "90000000")]);
        let failure = endless.limits().err().expect("refused");
        assert!(
            failure.detail.contains("message.timeout.ms"),
            "{}",
            failure.detail
        );
        assert!(
            failure.detail.contains("participant eu"),
            "{}",
            failure.detail
        );
    }

    #[test]
    fn they_stay_below_a_short_transaction_time_out() {
        let short = settings(3_000, &[]);
        let config = short.client_config(&short.limits().expect("allowed"));
        assert_eq!(config.get("socket.timeout.ms"), Some("3000"));
        assert_eq!(config.get("message.timeout.ms"), Some("3000"));
    }

    #[test]
    fn a_time_out_that_librdkafka_would_overflow_is_refused() {
        let failure = settings(i32::MAX, &[]).limits().err().expect("refused");
        assert!(failure.detail.contains("2147483547"), "{}", failure.detail);
    }
}
