//! One answer: each caller hears how its transaction ended exactly once.

use gtc_core::TransactionId;

use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "one-answer";

/// When a caller hears it.
pub fn at_most(account: &Account, id: TransactionId) -> Verdict {
    let ended = account.ended;
    holds(NAME, ended <= 1, || format!("{id} ended {ended} times"))
}

/// After a history, if the coordinator lives.
pub fn exactly(account: &Account, id: TransactionId) -> Verdict {
    let ended = account.ended;
    holds(NAME, !account.owed || ended == 1, || {
        format!("{id} ended {ended} times for its caller")
    })
}
