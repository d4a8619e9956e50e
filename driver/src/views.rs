//! Transactions and branches as operators see them, in a form that JSON carries.

use gtc_core::{
    BrokerState, Decision, ForeignBranch, KnownOutcome, ParticipantStatus, TransactionState,
    TransactionView,
};
use serde::{Deserialize, Serialize};

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TransactionInfo {
    /// Its id.
    pub id: String,
    /// The application's key, where it is text.
    pub key: Option<String>,
    /// The application's key in hexadecimal digits.
    pub key_hex: Option<String>,
    /// Its state.
    pub state: String,
    /// `commit` or `abort`, once it is decided.
    pub decision: Option<String>,
    /// When it was decided (or began), in milliseconds since the Unix epoch.
    pub since_unix_ms: u64,
    /// Its branches.
    pub branches: Vec<BranchInfo>,
}

/// One branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BranchInfo {
    /// The participant's name.
    pub participant: String,
    /// The transactional.id, once known.
    pub transactional_id: Option<String>,
    /// Its state.
    pub state: String,
    /// The last error, or the evidence.
    pub detail: Option<String>,
}

impl From<&TransactionView> for TransactionInfo {
    fn from(view: &TransactionView) -> Self {
        let key = view.key.as_deref();
        let text = key.and_then(|key| std::str::from_utf8(key).ok());
        let branches = view.branches.iter().map(|branch| BranchInfo {
            participant: branch.participant.clone(),
            transactional_id: branch.transactional_id.as_deref().map(str::to_owned),
            state: branch.state.to_owned(),
            detail: branch.detail.clone(),
        });
        Self {
            id: view.id.to_string(),
            key: text.map(str::to_owned),
            key_hex: key.map(|key| key.iter().map(|byte| format!("{byte:02x}")).collect()),
            state: state_name(view.state).to_owned(),
            decision: view
                .decision
                .map(|decision| decision_name(decision).to_owned()),
            since_unix_ms: view.since_unix_ms,
            branches: branches.collect(),
        }
    }
}

/// An open branch that another log left under this coordinator's id (R12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ForeignInfo {
    /// The participant's name.
    pub participant: String,
    /// Its transactional.id.
    pub transactional_id: String,
    /// Its state at the last listing.
    pub state: String,
}

impl From<&ForeignBranch> for ForeignInfo {
    fn from(branch: &ForeignBranch) -> Self {
        Self {
            participant: branch.participant.clone(),
            transactional_id: branch.transactional_id.to_string(),
            state: broker_state_name(branch.state).to_owned(),
        }
    }
}

/// The coordinator as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Its id.
    pub coordinator: String,
    /// The number of its start.
    pub incarnation: u32,
    /// Its process.
    pub process: u32,
    /// Everything that the log left open is ended.
    pub recovered: bool,
    /// Why it stopped for good, if it did, or will with what it writes next.
    pub stopped: Option<String>,
    /// Its participants.
    pub participants: Vec<ParticipantInfo>,
    /// Transactions that are not ended, or ended otherwise than decided.
    pub open: usize,
    /// Open branches of another log under this coordinator's id.
    pub foreign: Vec<ForeignInfo>,
}

/// One participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParticipantInfo {
    /// Its name.
    pub name: String,
    /// `starting`, `verified`, `unavailable` or `stopped`.
    pub state: String,
    /// Why it is not verified.
    pub detail: Option<String>,
    /// Slots that are open.
    pub slots_open: u64,
    /// Slots that a transaction can have at once.
    pub slots_free: u64,
    /// Callers that wait for a slot.
    pub waiting: u64,
}

/// The name and the explanation of a participant's status.
pub(crate) fn standing(status: &ParticipantStatus) -> (&'static str, Option<String>) {
    match status {
        ParticipantStatus::Starting => ("starting", None),
        ParticipantStatus::Verified => ("verified", None),
        ParticipantStatus::Unavailable(why) => ("unavailable", Some(why.clone())),
        ParticipantStatus::Stopped(why) => ("stopped", Some(why.clone())),
        _ => ("other", None),
    }
}

/// The name of a decision.
#[must_use]
pub fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Commit => "commit",
        Decision::Abort => "abort",
    }
}

/// The name of an outcome.
#[must_use]
pub fn outcome_name(outcome: KnownOutcome) -> &'static str {
    match outcome {
        KnownOutcome::Committed => "committed",
        KnownOutcome::Aborted => "aborted",
        KnownOutcome::Undecided => "undecided",
        KnownOutcome::InDoubt => "in-doubt",
        KnownOutcome::Mixed => "mixed",
        _ => "unknown",
    }
}

/// The name of a transaction's state.
#[must_use]
pub fn state_name(state: TransactionState) -> &'static str {
    match state {
        TransactionState::Active => "active",
        TransactionState::Preparing => "preparing",
        TransactionState::Deciding => "deciding",
        TransactionState::Completing => "completing",
        TransactionState::InDoubt => "in-doubt",
        TransactionState::Ended => "ended",
        TransactionState::Mixed => "mixed",
        _ => "other",
    }
}

pub(crate) fn broker_state_name(state: BrokerState) -> &'static str {
    match state {
        BrokerState::Empty => "Empty",
        BrokerState::Ongoing => "Ongoing",
        BrokerState::PrepareCommit => "PrepareCommit",
        BrokerState::PrepareAbort => "PrepareAbort",
        BrokerState::CompleteCommit => "CompleteCommit",
        BrokerState::CompleteAbort => "CompleteAbort",
        BrokerState::Dead => "Dead",
        BrokerState::PrepareEpochFence => "PrepareEpochFence",
    }
}
