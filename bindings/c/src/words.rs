//! Words with numbers. A number is never given to another word.

use gtc::{CommitReturn, Decision, KnownOutcome, OffsetReset, Reuse, VersionClass};

use crate::border::Answer;
use crate::error::Failure;

/// How a transaction ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_outcome {
    /// Nothing is known of it, which is not aborted: a transaction that committed in one phase
    /// leaves no record.
    Unknown = 0,
    /// Committed everywhere.
    Committed = 1,
    /// Aborted everywhere.
    Aborted = 2,
    /// Not decided yet.
    Undecided = 3,
    /// Decided or perhaps decided, and not known to be ended everywhere.
    InDoubt = 4,
    /// A branch ended otherwise than decided.
    Mixed = 5,
}

impl From<KnownOutcome> for gtc_outcome {
    fn from(outcome: KnownOutcome) -> Self {
        match outcome {
            KnownOutcome::Committed => Self::Committed,
            KnownOutcome::Aborted => Self::Aborted,
            KnownOutcome::Undecided => Self::Undecided,
            KnownOutcome::InDoubt => Self::InDoubt,
            KnownOutcome::Mixed => Self::Mixed,
            _ => Self::Unknown,
        }
    }
}

/// What an operator decides.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_decision {
    /// Commit.
    Commit = 1,
    /// Abort.
    Abort = 2,
}

/// When a commit returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_commit_return {
    /// After the last acknowledgement.
    Acknowledged = 0,
    /// Once the decision is durable: readers may see the records a moment later.
    Decided = 1,
}

/// How an own producer ends its transactions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_version_class {
    /// All clients that build on librdkafka.
    V1 = 1,
    /// A Java client from 4.0 on a cluster with `transaction.version` 2.
    V2 = 2,
}

/// What happens where the cluster does not have a position.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_offset_reset {
    /// It goes on at the oldest record.
    Earliest = 0,
    /// It goes on at the end.
    Latest = 1,
    /// It fails.
    Fail = 2,
}

/// Whether an own producer may go on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_reuse {
    /// It has to be closed, and made anew.
    Discard = 0,
    /// It goes on with its next transaction.
    Reuse = 1,
}

impl From<Reuse> for gtc_reuse {
    fn from(reuse: Reuse) -> Self {
        match reuse {
            Reuse::Reuse => Self::Reuse,
            Reuse::Discard => Self::Discard,
        }
    }
}

/// What kind of thing happened beside the batches.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_notice_kind {
    /// These partitions are read from now on.
    Assigned = 1,
    /// No partition is read any more; every batch is stale.
    Revoked = 2,
    /// The cluster no longer has a position: records were lost, or the partition is another one.
    OutOfRange = 3,
    /// The cluster refuses something, or a topic is missing. Reading goes on where it can.
    Trouble = 4,
}

/// How good a finding is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_level {
    /// The precondition is met.
    Ok = 0,
    /// The guarantee holds, with a drawback.
    Warn = 1,
    /// The guarantee does not hold, or gtc cannot work.
    Fail = 2,
}

/// Numbers come from C, where any can be passed as an enumerator.
macro_rules! read {
    ($function:ident, $word:ident, $type:ident { $($variant:ident),* }) => {
        pub(crate) fn $function(number: u32) -> Answer<$type> {
            $(if number == $word::$variant as u32 {
                return Ok($type::$variant);
            })*
            Err(Failure::Argument(stringify!($function), "has no such number"))
        }
    };
}

read!(decision, gtc_decision, Decision { Commit, Abort });
read!(
    report,
    gtc_commit_return,
    CommitReturn {
        Acknowledged,
        Decided
    }
);
read!(version_class, gtc_version_class, VersionClass { V1, V2 });
read!(
    reset,
    gtc_offset_reset,
    OffsetReset {
        Earliest,
        Latest,
        Fail
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_c_are_read_and_others_are_refused() {
        assert_eq!(decision(2).unwrap(), Decision::Abort);
        assert_eq!(report(0).unwrap(), CommitReturn::Acknowledged);
        assert_eq!(version_class(1).unwrap(), VersionClass::V1);
        assert_eq!(reset(2).unwrap(), OffsetReset::Fail);
        for refused in [
            decision(0).err(),
            decision(3).err(),
            reset(3).map(|_| Decision::Abort).err(),
        ] {
            assert!(matches!(refused, Some(Failure::Argument(..))));
        }
    }
}
