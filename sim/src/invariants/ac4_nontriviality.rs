//! AC4, non-triviality: without a fault, what was asked to commit commits.

use gtc_core::TransactionId;

use crate::violation::{Verdict, holds};
use crate::world::account::{Account, Told};

/// The name.
pub const NAME: &str = "ac4-nontriviality";

/// After a history without faults.
pub fn check(account: &Account, id: TransactionId) -> Verdict {
    let asked = account.commit_asked && !account.abort_asked;
    let told = account.told;
    holds(NAME, !asked || told == Some(Told::Committed), || {
        format!("{id} is told {told:?}, and nothing went wrong")
    })
}
