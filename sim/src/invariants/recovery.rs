//! Recovery: once a start says recovered, nothing of earlier starts is open.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "recovery";

/// For each transaction that is open when a coordinator says recovered.
pub fn check(account: Option<&Account>, tag: &Tag) -> Verdict {
    let pool = tag.name.starts_with("gtc.") && !tag.stray;
    let dead = account.is_some_and(|account| !account.owed && !account.heuristic);
    holds(NAME, !(pool && dead), || {
        format!("recovered, but {tag:?} is open")
    })
}

/// When an orphan is fenced: never with a time-out that its cluster does not allow (R15).
pub fn fenced(refused: bool) -> Verdict {
    holds(NAME, !refused, || {
        "an orphan stays open, as its fence asks for too long a time-out".into()
    })
}
