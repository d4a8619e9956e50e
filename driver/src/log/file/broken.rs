//! Rules of the log that its own tests leave out, each by its name, to show that their histories notice.
//!
//! Only the simulated disk of these tests can ask for it; elsewhere the question is a constant `false`.

use super::storage::Storage;

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// R1: recovery does not sync what it read.
    ForceFound,
    /// R1: recovery syncs what it read without writing it again, which after a failed sync does nothing.
    WriteAgain,
    /// R1: recovery goes on behind what a crash left, and rewrites nothing.
    Rewrite,
    /// An append is acknowledged before it is synced.
    Sync,
    /// A new segment's name is not synced.
    SyncDirectory,
    /// A new segment's length is not synced before its header is written.
    SyncLength,
    /// R11: after a failed write the log goes on.
    Stop,
    /// R11: a failed write is reported as not written.
    FailedUnknown,
    /// R11: an append takes the last segment, so that on a full disk no checkpoint can make room.
    LastSegment,
    /// R11: damage is taken for a cut tail.
    Damage,
    /// R11: good frames behind a bad one are ignored.
    LaterFrames,
    /// R11: a file that is shorter than its header says is taken as it is.
    CutFile,
    /// A snapshot counts before its last part is there.
    SnapshotEnd,
    /// A checkpoint removes the old segments before the snapshot is written.
    RemoveLast,
    /// R12: a log of another coordinator is accepted.
    Owner,
    /// R12: each start gives the log a new identity.
    Identity,
    /// R13: a log that was moved is accepted.
    Place,
}

/// Whether this rule is left out.
#[cfg(test)]
pub(crate) fn lack(storage: &dyn Storage, rule: Broken) -> bool {
    storage.lacks(rule)
}

/// Whether this rule is left out: never.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn lack(_: &dyn Storage, _: Broken) -> bool {
    false
}
