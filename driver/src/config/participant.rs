//! The configuration of one participant.

use std::collections::BTreeMap;

use super::Secret;
use crate::error::Error;
use crate::kafka::participant::properties;
use crate::kafka::properties::Properties;

/// The longest time-out that is chosen by itself: a dead coordinator holds back read_committed
/// readers for as long.
const TIMEOUT_DEFAULT_MAX_MS: i64 = 24 * 60 * 60 * 1000;
/// Taken where the cluster does not tell it at open: the ceiling of an untouched broker.
const TIMEOUT_FALLBACK_MS: i64 = 15 * 60 * 1000;
/// The margin is this long, or a third of a short time-out. Longer, and an own producer with the
/// usual time-out of a minute could hardly ever be promised.
const MARGIN_DEFAULT_MAX_MS: u64 = 10_000;

/// One Kafka cluster that takes part.
#[derive(Clone, Debug)]
pub struct ParticipantConfig {
    pub(crate) name: String,
    pub(crate) slots: u32,
    pub(crate) names_max: u32,
    pub(crate) transaction_timeout_ms: Option<i32>,
    pub(crate) margin_ms: Option<u64>,
    pub(crate) properties: BTreeMap<String, Secret>,
    /// How the file has what came from the environment: the only form in which it may be shown.
    pub(crate) written: BTreeMap<String, String>,
}

impl ParticipantConfig {
    /// gtc's own keys of a Kafka participant; every other key is a librdkafka property.
    pub(super) const KEYS: &'static [&'static str] = &[
        "kind",
        "margin_ms",
        "names_max",
        "slots",
        "transaction_timeout_ms",
    ];

    /// The most slots: each is a producer with three threads and connections of its own.
    pub(super) const SLOTS_MAX: u32 = 1_000;

    /// A Kafka cluster that the configuration calls `name`.
    #[must_use]
    pub fn kafka(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            slots: 16,
            names_max: 10_000,
            transaction_timeout_ms: None,
            margin_ms: None,
            properties: BTreeMap::new(),
            written: BTreeMap::new(),
        }
    }

    /// Sets a librdkafka property. Its value is never printed.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.written.remove(&name);
        self.properties.insert(name, Secret::new(value));
        self
    }

    /// How many transactions may write to it at once. Each slot is a producer with its threads
    /// and connections. From 1 to 1000; default 16.
    #[must_use]
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// `transaction.timeout.ms` of its slots. Default: the cluster's ceiling, at most 24 hours;
    /// where it is not told at open, 15 minutes, or a lower ceiling that is told later.
    #[must_use]
    pub fn transaction_timeout_ms(mut self, timeout_ms: i32) -> Self {
        self.transaction_timeout_ms = Some(timeout_ms);
        self
    }

    /// How long before that time-out, or an own producer's, a commit is no longer promised.
    /// Default: 10 seconds, or a third of a time-out below 30.
    #[must_use]
    pub fn margin_ms(mut self, margin_ms: u64) -> Self {
        self.margin_ms = Some(margin_ms);
        self
    }

    /// How many slot names one start of the coordinator may make; the cluster keeps each for
    /// seven days. Default 10000.
    #[must_use]
    pub fn names_max(mut self, names_max: u32) -> Self {
        self.names_max = names_max;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its properties, checked for both planes.
    ///
    /// # Errors
    /// Config, with the property and what is wrong with it.
    pub fn kafka_properties(&self) -> Result<Properties, Error> {
        properties(self)
    }

    /// The time-out of its slots, given the cluster's ceiling where that is known.
    #[must_use]
    pub fn resolve_timeout_ms(&self, ceiling_ms: Option<i64>) -> i32 {
        self.transaction_timeout_ms.unwrap_or_else(|| {
            let chosen = ceiling_ms.map_or(TIMEOUT_FALLBACK_MS, |ceiling| {
                ceiling.clamp(1, TIMEOUT_DEFAULT_MAX_MS)
            });
            // The clamp keeps it far below i32::MAX.
            i32::try_from(chosen).unwrap_or(i32::MAX)
        })
    }

    /// The margin before `timeout_ms`.
    pub(crate) fn resolve_margin_ms(&self, timeout_ms: i32) -> u64 {
        let third = u64::try_from(timeout_ms / 3).unwrap_or(0);
        self.margin_ms
            .unwrap_or_else(|| third.min(MARGIN_DEFAULT_MAX_MS))
    }

    /// The properties in the clear, for the client that needs them.
    pub(crate) fn revealed(&self) -> BTreeMap<String, String> {
        self.properties
            .iter()
            .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
            .collect()
    }
}
