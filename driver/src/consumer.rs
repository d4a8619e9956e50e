//! What a consumer is asked for by; the participant's properties are added to it.

use crate::kafka::consumer::{BatchLimits, OffsetReset};

/// A consumer whose offsets travel inside global transactions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerOptions {
    /// The consumer group.
    pub group: String,
    /// Topic names, or patterns that begin with `^`.
    pub topics: Vec<String>,
    /// What happens where the cluster does not have a position.
    pub reset: OffsetReset,
    /// When a batch is full.
    pub limits: BatchLimits,
    /// Its name as a static member of the group.
    pub instance: Option<String>,
}

impl ConsumerOptions {
    /// A consumer of `topics` in `group`.
    #[must_use]
    pub fn new<T: Into<String>>(
        group: impl Into<String>,
        topics: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            group: group.into(),
            topics: topics.into_iter().map(Into::into).collect(),
            reset: OffsetReset::default(),
            limits: BatchLimits::default(),
            instance: None,
        }
    }

    /// Sets what happens where the cluster does not have a position.
    #[must_use]
    pub fn reset(mut self, reset: OffsetReset) -> Self {
        self.reset = reset;
        self
    }

    /// Makes it a static member of the group (KIP-345). Whoever has that name in the group is removed first:
    /// after a crash its partitions are read again at once, instead of when the group has missed its
    /// predecessor for `session.timeout.ms`. Of two living consumers with one name the earlier fails.
    #[must_use]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some(name.into());
        self
    }

    /// Sets when a batch is full.
    #[must_use]
    pub fn limits(mut self, limits: BatchLimits) -> Self {
        self.limits = limits;
        self
    }
}
