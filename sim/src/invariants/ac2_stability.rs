//! AC2, stability: a decision never reverses.

use gtc_core::TransactionId;

use crate::model::broker::Tag;
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

/// When EndTxn of gtc aborts a branch.
pub fn aborting(account: &Account, tag: &Tag) -> Verdict {
    let part = !tag.stray && !account.early.contains(tag);
    let promised = account.decided && !account.heuristic && !account.by_operator && part;
    holds(NAME, !promised, || {
        format!("decided commit, and then aborted: {tag:?}")
    })
}
