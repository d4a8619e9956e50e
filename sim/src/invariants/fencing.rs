//! Fencing: an initialisation never aborts what a living application has open, or what was promised.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "fencing";

/// When InitProducerId aborts an open transaction; `decided` is whether a decision to commit is durable.
pub fn check(account: &Account, tag: &Tag, decided: bool) -> Verdict {
    // Who goes on anew without a question has nobody to ask before what it then writes is aborted.
    let anew = account.disturbed && !tag.name.starts_with("gtc.");
    let given_up = account.given_up.contains(tag);
    let kept = !account.heuristic && !tag.stray && !anew && !given_up;
    let open = account.live && account.ended == 0 && kept;
    holds(NAME, !open, || {
        format!("an initialisation aborted a live transaction: {tag:?}")
    })?;
    let promised = decided && !account.heuristic && !tag.stray && !anew;
    holds(NAME, !promised, || {
        format!("an initialisation aborted a promise: {tag:?}")
    })
}

/// When an application hears that it may initialise its own producer: by a coordinator that owned its log after the
/// question, because who has lost it knows nothing of what its successor promises (R5).
pub fn settled(owned: bool, name: &str) -> Verdict {
    holds(NAME, owned, || {
        format!("{name} is settled by a coordinator whose log was not asked")
    })
}
