//! Fencing: an initialisation never aborts what a living application has open, or what was promised.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "fencing";

/// When InitProducerId aborts an open transaction; `decided` is whether a decision to commit is durable.
pub fn check(account: &Account, tag: &Tag, decided: bool) -> Verdict {
    let open = account.live && account.ended == 0 && !account.heuristic && !tag.stray;
    holds(NAME, !open, || {
        format!("an initialisation aborted a live transaction: {tag:?}")
    })?;
    let promised = decided && !account.heuristic && !tag.stray;
    holds(NAME, !promised, || {
        format!("an initialisation aborted a promise: {tag:?}")
    })
}
