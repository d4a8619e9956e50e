//! The tables of the legal transitions of transactions and branches, as their views name them. The tests
//! walk along them: whatever happens, a state only ever changes into one that its table leads to.

use crate::event::TransactionState;

/// What a transaction may become.
pub const TRANSACTION: [(TransactionState, &[TransactionState]); 7] = [
    (
        TransactionState::Active,
        &[TransactionState::Preparing, TransactionState::Completing],
    ),
    (
        TransactionState::Preparing,
        &[TransactionState::Deciding, TransactionState::Completing],
    ),
    (TransactionState::Deciding, &[TransactionState::Completing]),
    (
        TransactionState::Completing,
        &[TransactionState::InDoubt, TransactionState::Ended],
    ),
    (TransactionState::InDoubt, &[TransactionState::Ended]),
    (TransactionState::Ended, &[TransactionState::Mixed]),
    (TransactionState::Mixed, &[]),
];

/// What a branch may become.
pub const BRANCH: [(&str, &[&str]); 13] = [
    (
        "waiting for a slot",
        &["being inspected", "enlisted", "not enlisted"],
    ),
    ("being inspected", &["enlisted", "not enlisted"]),
    ("enlisted", &["preparing", "ending"]),
    ("preparing", &["prepared", "read-only", "voted no"]),
    ("prepared", &["ending"]),
    ("voted no", &["ending"]),
    (
        "ending",
        &["acknowledged", "recording a heuristic outcome", "in doubt"],
    ),
    ("recording a heuristic outcome", &["heuristic", "ending"]),
    ("in doubt", &["acknowledged"]),
    ("read-only", &[]),
    ("acknowledged", &[]),
    ("heuristic", &[]),
    ("not enlisted", &[]),
];
