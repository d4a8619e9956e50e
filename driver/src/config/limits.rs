//! Limits: one list makes the struct, its defaults and the names in the file.

use std::time::Duration;

macro_rules! limits {
    ($($name:ident = $default:expr, from $least:literal, $doc:literal;)*) => {
        /// Limits of one coordinator. All are finite; the unit stands last in each name.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits {
            $(#[doc = $doc] pub $name: u64,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// The name, the default and the meaning of every limit.
            pub const TABLE: &'static [(&'static str, u64, &'static str)] =
                &[$((stringify!($name), $default, $doc),)*];

            /// The limit of this name, to be set, and the least value that works.
            pub(super) fn by_name(&mut self, name: &str) -> Option<(&mut u64, u64)> {
                match name {
                    $(stringify!($name) => Some((&mut self.$name, $least)),)*
                    _ => None,
                }
            }

            /// The first limit that is below its least value, with both.
            pub(super) fn too_low(&self) -> Option<(&'static str, u64, u64)> {
                let all = [$((stringify!($name), self.$name, $least),)*];
                all.into_iter().find(|(_, value, least)| value < least)
            }
        }
    };
}

limits! {
    transactions_max = 10_000, from 1, "Transactions that are not ended yet.";
    branches_max = 32, from 1, "Branches of one transaction.";
    key_bytes_max = 1024, from 0, "Bytes of an application's key.";
    outcomes_max = 100_000, from 0, "Ended transactions whose outcome is kept.";
    discarded_max = 10_000, from 1,
        "Own producers to be discarded that are remembered; those that their clusters no longer know are dropped.";
    enlist_timeout_ms = 30_000, from 0, "How long a caller waits for a slot.";
    report_timeout_ms = 60_000, from 0,
        "How long after its decision a caller waits for the last acknowledgement.";
    slot_idle_ms = 600_000, from 0, "How long a slot stays open unused.";
    sweep_interval_ms = 60_000, from 1, "How often the open transactions of each cluster are listed.";
    names_per_record = 16, from 1, "Slot names that one log record makes known.";
    checkpoint_bytes = 32 * 1024 * 1024, from 1, "Bytes of records after which a checkpoint is written.";
    retry_initial_ms = 20, from 1, "The first delay of a retry; it doubles up to the longest one.";
    retry_max_ms = 5_000, from 0, "The longest delay of a retry.";
    connect_timeout_ms = 10_000, from 0, "How long opening waits for the participants to answer.";
    close_timeout_ms = 30_000, from 0, "How long closing waits for what is under way.";
    watch_interval_ms = 2_000, from 1, "How often each participant is asked whether it answers.";
    watch_timeout_ms = 3_000, from 1,
        "How long it may take to answer that before it counts as unavailable.";
    own_delivery_timeout_ms = 30_000, from 0,
        "How long a vote or an abort waits for the deliveries that an own producer still counts as open.";
}

impl Limits {
    /// The limits that the core keeps.
    pub(crate) fn core(&self) -> gtc_core::Limits {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        gtc_core::Limits {
            transactions_max: count(self.transactions_max),
            branches_max: count(self.branches_max),
            key_bytes_max: count(self.key_bytes_max),
            outcomes_max: count(self.outcomes_max),
            discarded_max: count(self.discarded_max),
            enlist_timeout: Duration::from_millis(self.enlist_timeout_ms),
            report_timeout: Duration::from_millis(self.report_timeout_ms),
            slot_idle: Duration::from_millis(self.slot_idle_ms),
            sweep_interval: Duration::from_millis(self.sweep_interval_ms),
            names_per_record: u32::try_from(self.names_per_record).unwrap_or(u32::MAX),
            checkpoint_bytes: self.checkpoint_bytes,
        }
    }

    /// The retry delays of the core.
    pub(crate) fn backoff(&self) -> gtc_core::Backoff {
        gtc_core::Backoff {
            initial: Duration::from_millis(self.retry_initial_ms),
            max: Duration::from_millis(self.retry_max_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ParticipantConfig};

    #[test]
    fn a_limit_at_its_least_value_is_one_that_the_core_takes() {
        for (name, ..) in Limits::TABLE {
            let mut limits = Limits::default();
            let (limit, least) = limits.by_name(name).expect("it is in the table");
            *limit = least;
            assert_eq!(limits.too_low(), None);
            let config = Config::new("c", "log").participant(ParticipantConfig::kafka("eu"));
            let config = config.limits(limits);
            assert!(config.validate().is_ok(), "{name} = {least}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_core() {
        let limits = Limits::default();
        assert_eq!(limits.core(), gtc_core::Limits::default());
        assert_eq!(limits.backoff(), gtc_core::Backoff::default());
    }
}
