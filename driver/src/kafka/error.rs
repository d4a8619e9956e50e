//! Why the data plane did not do something, sorted by what the caller can do.

use std::fmt;

/// The kind of a [`DataError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataErrorKind {
    /// The instance is closed.
    Closed,
    /// The settings or the arguments cannot work.
    Config,
    /// The participant's user may not do it.
    Denied,
    /// Another producer has taken the transactional.id over.
    Fenced,
    /// The consumer belongs to another participant than the writer.
    ForeignGroup,
    /// The consumer group has rebalanced since the batch was read.
    GroupMoved,
    /// A call came at the wrong time.
    InvalidState,
    /// The client library knows no such topic or partition; the cluster may, by now.
    Misplaced,
    /// The record can never be written: it would be refused again.
    NeverAccepted,
    /// The topic does not have this partition.
    NoSuchPartition,
    /// The cluster does not have this topic.
    NoSuchTopic,
    /// The cluster or the client library refused it.
    Refused,
    /// It was not done in time.
    Timeout,
    /// The cluster cannot be used now.
    Unavailable,
}

/// What to do about a record that a cluster refuses for good.
pub(crate) const NEVER_ACCEPTED_REMEDY: &str =
    "trying again cannot help: change the record, or what the topic and `message.max.bytes` allow";

impl DataErrorKind {
    /// What a caller can do about it.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::Closed => "open it again",
            Self::Config => "correct the settings, or the values in the call",
            Self::Denied => {
                "grant the right to the user that the participant connects as; `check` tells which \
                 are missing"
            }
            Self::Fenced => "stop the other user of this transactional.id",
            Self::ForeignGroup => {
                "send these offsets to the participant that the consumer reads from; \
                 one global transaction can hold both"
            }
            Self::GroupMoved => "abort, and read again from the committed offsets",
            Self::InvalidState => "this is a mistake in the order of calls",
            Self::Misplaced => "abort and try again later",
            Self::NeverAccepted => NEVER_ACCEPTED_REMEDY,
            Self::NoSuchPartition => {
                "write to a partition that the topic has, or raise their number, then run it again"
            }
            Self::NoSuchTopic => {
                "create the topic there, or correct its name in the record, then run it again"
            }
            Self::Refused => "abort; the cause is the cluster's answer",
            Self::Timeout => "abort and try again later",
            Self::Unavailable => "abort and try again with a new instance",
        }
    }
}

/// An error of the data plane. Its text names participant, operation and remedy; it is no API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    participant: String,
    kind: DataErrorKind,
    what: String,
}

impl DataError {
    pub(crate) fn new(participant: &str, kind: DataErrorKind, what: impl Into<String>) -> Self {
        Self {
            participant: participant.to_owned(),
            kind,
            what: what.into(),
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> DataErrorKind {
        self.kind
    }

    /// What happened, without the participant and the remedy.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.what
    }

    /// The participant it happened at.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.participant
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "participant `{}`: {}; remedy: {}",
            self.participant,
            self.what,
            self.kind.remedy()
        )
    }
}

impl std::error::Error for DataError {}
