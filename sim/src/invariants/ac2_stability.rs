//! AC2, stability: a decision never reverses.

use gtc_core::TransactionId;

use crate::violation::{Verdict, holds};
use crate::world::account::{Account, Told};

/// The name.
pub const NAME: &str = "ac2-stability";

/// When a caller is told: nobody hears aborted once a decision to commit was durable.
pub fn check(account: &Account, id: TransactionId) -> Verdict {
    let reversed = account.decided && account.told == Some(Told::Aborted);
    holds(NAME, !reversed, || {
        format!("{id} was decided commit, and is told aborted")
    })
}
