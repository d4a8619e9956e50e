//! The words of each enum, by the member that has them. A variant without a word does not compile.

use crate::action::{Action, Durability, WaitReason, Writer};
use crate::config::GivesWay;
use crate::event::{
    AbortReason, Event, HeuristicKind, Outcome, ParticipantStatus, Refusal, Reuse, StopReason,
};
use crate::evidence::{BrokerState, EndAnswer, Inquiry, SlotCondition};
use crate::identity::VersionClass;
use crate::record::Record;
use crate::request::{Accepted, CommitReturn, Decision, Request};
use crate::response::{AppendFailure, Response};

macro_rules! words {
    ($($member:literal, $type:ident { $($variant:ident = $word:literal,)* })*) => {
        $(const _: fn(&$type) = |value| match value { $($type::$variant { .. } => {})* };)*

        /// All words that tell something apart, by the member that has them, as `vectors/README.md` lists them.
        /// `wait` is the member `reason` of what ended a drain; the other `reason` is an abort's.
        pub const WORDS: &[(&str, &[&str])] = &[$(($member, &[$($word,)*]),)*];
    };
}

words! {
    "accepted", Accepted { Begun = "begun", Pending = "pending", Done = "done", }
    "action", Action {
        Append = "append",
        Checkpoint = "checkpoint",
        Connect = "connect",
        OpenSlot = "open-slot",
        VerifySlot = "verify-slot",
        CloseSlot = "close-slot",
        Prepare = "prepare",
        EndByWriter = "end-by-writer",
        EndTransaction = "end-transaction",
        Inquire = "inquire",
        Fence = "fence",
        List = "list",
    }
    "answer", EndAnswer {
        Acknowledged = "acknowledged",
        Code = "code",
        NoAnswer = "no-answer",
        NotSent = "not-sent",
    }
    "condition", SlotCondition { Clean = "clean", Unproven = "unproven", }
    "decision", Decision { Commit = "commit", Abort = "abort", }
    "durability", Durability { Forced = "forced", Lazy = "lazy", }
    "event", Event {
        Started = "started",
        Recovered = "recovered",
        Participant = "participant",
        Enlisted = "enlisted",
        EnlistRefused = "enlist-refused",
        Decided = "decided",
        Ended = "ended",
        OwnReleased = "own-released",
        Heuristic = "heuristic",
        Settled = "settled",
        Foreign = "foreign",
        ForeignResolved = "foreign-resolved",
        Drained = "drained",
        Stopped = "stopped",
    }
    "failure", AppendFailure { Refused = "refused", Unknown = "unknown", Fenced = "fenced", }
    "gives_way", GivesWay {
        Nothing = "nothing",
        Timeout = "timeout",
        TimeoutAndMargin = "timeout-and-margin",
    }
    "inquiry", Inquiry {
        Described = "described",
        NotFound = "not-found",
        Refused = "refused",
        NoAnswer = "no-answer",
    }
    "kind", HeuristicKind {
        Aborted = "aborted",
        Committed = "committed",
        Hazard = "hazard",
        Abandoned = "abandoned",
    }
    "outcome", Outcome {
        Committed = "committed",
        Aborted = "aborted",
        InDoubt = "in-doubt",
        Mixed = "mixed",
    }
    "reason", AbortReason {
        Requested = "requested",
        VotedNo = "voted-no",
        DeadlinePassed = "deadline-passed",
        TimedOut = "timed-out",
        LogFull = "log-full",
        BrokerAborted = "broker-aborted",
        Closed = "closed",
        Presumed = "presumed",
    }
    "record", Record {
        Started = "started",
        ClusterBound = "cluster-bound",
        Names = "names",
        NamesGone = "names-gone",
        OwnEnlisted = "own-enlisted",
        Decided = "decided",
        Acknowledged = "acknowledged",
        Heuristic = "heuristic",
        Completed = "completed",
        Discarded = "discarded",
        DiscardGone = "discard-gone",
        Forgotten = "forgotten",
    }
    "refusal", Refusal {
        UnknownTransaction = "unknown-transaction",
        InvalidState = "invalid-state",
        Limit = "limit",
        Unavailable = "unavailable",
        SlotTimeout = "slot-timeout",
        Fenced = "fenced",
        WrongCluster = "wrong-cluster",
        Broken = "broken",
        Config = "config",
        Closed = "closed",
        Stopped = "stopped",
    }
    "report", CommitReturn { Acknowledged = "acknowledged", Decided = "decided", }
    "request", Request {
        Begin = "begin",
        Enlist = "enlist",
        EnlistOwn = "enlist-own",
        EnlistOwnNewest = "enlist-own-newest",
        Commit = "commit",
        Abort = "abort",
        Settle = "settle",
        Resolve = "resolve",
        ResolveForeign = "resolve-foreign",
        Forget = "forget",
        Unreachable = "unreachable",
        Broken = "broken",
        Close = "close",
    }
    "response", Response {
        Appended = "appended",
        AppendFailed = "append-failed",
        Connected = "connected",
        ConnectFailed = "connect-failed",
        SlotOpened = "slot-opened",
        SlotFailed = "slot-failed",
        SlotVerified = "slot-verified",
        SlotClosed = "slot-closed",
        Prepared = "prepared",
        Ended = "ended",
        Inquired = "inquired",
        Listed = "listed",
    }
    "reuse", Reuse { Reuse = "reuse", Discard = "discard", }
    "state", BrokerState {
        Empty = "empty",
        Ongoing = "ongoing",
        PrepareCommit = "prepare-commit",
        PrepareAbort = "prepare-abort",
        CompleteCommit = "complete-commit",
        CompleteAbort = "complete-abort",
        Dead = "dead",
        PrepareEpochFence = "prepare-epoch-fence",
    }
    "status", ParticipantStatus {
        Starting = "starting",
        Verified = "verified",
        Unavailable = "unavailable",
        Stopped = "stopped",
    }
    "stop", StopReason {
        LogFailed = "log-failed",
        LogFenced = "log-fenced",
        StaleLog = "stale-log",
        Closed = "closed",
    }
    "version_class", VersionClass { V1 = "v1", V2 = "v2", }
    "wait", WaitReason {
        Input = "input",
        Deadline = "deadline",
        EnlistTimeout = "enlist-timeout",
        BranchRetry = "branch-retry",
        ParticipantRetry = "participant-retry",
        Sweep = "sweep",
        IdleSlots = "idle-slots",
        LogRetry = "log-retry",
    }
    "writer", Writer { Slot = "slot", Own = "own", }
}
