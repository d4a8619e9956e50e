//! The core's configuration; every limit is finite.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::identity::LogId;

/// Retry delays: doubled from `initial` to `max`, then spread by a jitter of up to a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Backoff {
    /// The first delay.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "initial_us", serialize_with = "crate::serial::micros")
    )]
    pub initial: Duration,
    /// The longest delay.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "max_us", serialize_with = "crate::serial::micros")
    )]
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(20),
            max: Duration::from_secs(5),
        }
    }
}

/// What gives way where a cluster has a lower ceiling (`transaction.max.timeout.ms`) than was known when the
/// coordinator was configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum GivesWay {
    /// Nothing: the time-out was asked for, and the participant is refused.
    #[default]
    Nothing,
    /// The time-out is lowered to the ceiling.
    Timeout,
    /// The margin as well, to a third of the lowered time-out at most.
    TimeoutAndMargin,
}

impl GivesWay {
    /// Whether nothing does.
    #[cfg(feature = "serde")]
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// One participant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ParticipantConfig {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// How many slots may be open at once.
    pub slots_max: u32,
    /// `transaction.timeout.ms` of its slots.
    pub timeout_ms: i32,
    /// How long before that time-out a commit is no longer promised (R14).
    #[cfg_attr(
        feature = "serde",
        serde(rename = "margin_us", serialize_with = "crate::serial::micros")
    )]
    pub margin: Duration,
    /// What gives way to a lower ceiling of its cluster.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "GivesWay::is_nothing"))]
    pub gives_way: GivesWay,
    /// How many slot names one incarnation may make (R6).
    pub names_max: u32,
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Limits {
    /// Transactions that are not ended yet.
    pub transactions_max: usize,
    /// Branches of one transaction.
    pub branches_max: usize,
    /// Bytes of an application's key.
    pub key_bytes_max: usize,
    /// Ended transactions whose outcome is kept.
    pub outcomes_max: usize,
    /// Own producers that are to be discarded (R3); from half of it on, those that their clusters no longer
    /// know are dropped.
    pub discarded_max: usize,
    /// How long a caller waits for a slot.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "enlist_timeout_us", serialize_with = "crate::serial::micros")
    )]
    pub enlist_timeout: Duration,
    /// How long after its decision a caller waits at most for the last acknowledgement.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "report_timeout_us", serialize_with = "crate::serial::micros")
    )]
    pub report_timeout: Duration,
    /// How long a slot stays open unused.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "slot_idle_us", serialize_with = "crate::serial::micros")
    )]
    pub slot_idle: Duration,
    /// How often open transactions are listed (R8).
    #[cfg_attr(
        feature = "serde",
        serde(rename = "sweep_interval_us", serialize_with = "crate::serial::micros")
    )]
    pub sweep_interval: Duration,
    /// Slot names that one log record makes known (R6).
    pub names_per_record: u32,
    /// Bytes of records after which a checkpoint is written.
    pub checkpoint_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            transactions_max: 10_000,
            branches_max: 32,
            key_bytes_max: 1024,
            outcomes_max: 100_000,
            discarded_max: 10_000,
            enlist_timeout: Duration::from_secs(30),
            report_timeout: Duration::from_secs(60),
            slot_idle: Duration::from_secs(600),
            sweep_interval: Duration::from_secs(60),
            names_per_record: 16,
            checkpoint_bytes: 32 * 1024 * 1024,
        }
    }
}

/// The configuration of one coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Config {
    /// The coordinator's id: letters, digits, `-` and `_`.
    pub coordinator: String,
    /// The identity of its log.
    pub log_id: LogId,
    /// The participants; a [`ParticipantId`](crate::ParticipantId) is an index into this.
    pub participants: Vec<ParticipantConfig>,
    /// Limits.
    pub limits: Limits,
    /// Retry delays.
    pub backoff: Backoff,
    /// The seed of the retry jitter.
    pub seed: u64,
}

/// A configuration that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ConfigError {}

/// The longest name of a coordinator or participant: both are part of every transactional.id.
const NAME_BYTES_MAX: usize = 64;

impl Config {
    /// Refuses names, numbers and limits that cannot work. [`Coordinator::new`](crate::Coordinator::new) asks
    /// it too.
    ///
    /// # Errors
    /// [`ConfigError`] with the first one and what is needed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate_name("coordinator id", &self.coordinator)?;
        if self.participants.is_empty() {
            return refuse("there is no participant: add one for each cluster".into());
        }
        if self.participants.len() > usize::from(u16::MAX) {
            return refuse("more than 65535 participants".into());
        }
        let mut seen = BTreeSet::new();
        for participant in &self.participants {
            participant.validate()?;
            if !seen.insert(&participant.name) {
                let name = &participant.name;
                return refuse(format!(
                    "participant {name} is configured twice: give each cluster a name of its own"
                ));
            }
        }
        self.validate_limits()
    }

    fn validate_limits(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        // A delay of nothing would let a cluster that is down keep the coordinator busy.
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let positive = [
            ("transactions_max", limits.transactions_max as u64),
            ("branches_max", limits.branches_max as u64),
            ("discarded_max", limits.discarded_max as u64),
            ("names_per_record", u64::from(limits.names_per_record)),
            ("checkpoint_bytes", limits.checkpoint_bytes),
            ("sweep_interval", micros(limits.sweep_interval)),
            ("retry_initial", micros(self.backoff.initial)),
        ];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => refuse(format!("the limit {name} must be at least 1")),
            None => Ok(()),
        }
    }
}

impl ParticipantConfig {
    /// Refuses a name and numbers that cannot work.
    ///
    /// # Errors
    /// [`ConfigError`] with what is needed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let name = &self.name;
        validate_name("participant name", name)?;
        if self.slots_max == 0 || self.names_max < 2 {
            return refuse(format!(
                "participant {name}: it needs at least one slot and two slot names; raise `slots` to 1 \
                 or more, and `names_max` to 2 or more"
            ));
        }
        let timeout = u64::try_from(self.timeout_ms).unwrap_or(0);
        let margin = self.margin.as_millis();
        if u128::from(timeout) <= margin {
            return refuse(format!(
                "participant {name}: the transaction time-out of {timeout} ms leaves nothing after \
                 the safety margin of {margin} ms; raise the one or lower the other"
            ));
        }
        Ok(())
    }

    /// The margin before a time-out of this length: of one that is shorter than the slots' a third at most, so that
    /// something is left that can be promised.
    pub(crate) fn margin_before(&self, timeout_ms: i32) -> Duration {
        let third_ms = u64::try_from(timeout_ms / 3).unwrap_or(0);
        if timeout_ms < self.timeout_ms {
            return self.margin.min(Duration::from_millis(third_ms));
        }
        self.margin
    }

    /// Lowers the time-out to its cluster's ceiling where it may be lowered. It is never raised again: slots
    /// that are open have the lower one.
    pub(crate) fn fit(&mut self, ceiling_ms: i64) -> Result<(), ConfigError> {
        let timeout_ms = self.timeout_ms;
        let Some(lower_ms) = i32::try_from(ceiling_ms).ok().filter(|it| *it < timeout_ms) else {
            return Ok(());
        };
        if self.gives_way == GivesWay::Nothing {
            return refuse(format!(
                "its transaction time-out of {timeout_ms} ms is above the cluster's \
                 transaction.max.timeout.ms of {ceiling_ms}; raise that broker setting, or lower the \
                 participant's time-out"
            ));
        }
        let mut fitted = self.clone();
        fitted.timeout_ms = lower_ms;
        if self.gives_way == GivesWay::TimeoutAndMargin {
            fitted.margin = self.margin_before(lower_ms);
        }
        fitted.validate()?;
        *self = fitted;
        Ok(())
    }
}

/// Refuses what can be no name of a coordinator or participant; `what` it would be is part of the text.
///
/// # Errors
/// [`ConfigError`] with the name and what is needed.
pub fn validate_name(what: &str, name: &str) -> Result<(), ConfigError> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_valid) {
        return Ok(());
    }
    refuse(format!(
        "{what} {name:?}: use 1 to {NAME_BYTES_MAX} letters, digits, '-' and '_'"
    ))
}

fn refuse(why: String) -> Result<(), ConfigError> {
    Err(ConfigError(why))
}
