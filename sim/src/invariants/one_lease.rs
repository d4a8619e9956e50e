//! One lease: a slot belongs to one transaction at a time.

use gtc_core::TransactionId;

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "one-lease";

/// When a slot is used for a transaction while it is leased to another.
pub fn check(leased: TransactionId, used: TransactionId) -> Verdict {
    holds(NAME, leased == used, || {
        format!("a slot leased to {leased} is used for {used}")
    })
}

/// When a slot is told to be leased; `busy` is the transaction that it has open.
pub fn leased(busy: Option<TransactionId>, id: TransactionId) -> Verdict {
    holds(NAME, busy.is_none(), || {
        format!("a slot is leased to {id} while {busy:?} is open on it")
    })
}
