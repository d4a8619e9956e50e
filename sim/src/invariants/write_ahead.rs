//! Write ahead: the decision is durable before any branch commits.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "write-ahead";

/// When a branch commits; `durable` is whether the log holds the decision now.
pub fn check(account: &Account, tag: &Tag, durable: bool) -> Verdict {
    let needed = account.written.len() > 1 || account.recorded;
    holds(NAME, durable || account.decided || !needed, || {
        format!("committed without a record: {tag:?}")
    })
}

/// When a commit of an own producer's branch is written: its enlistment was written before (R5).
pub fn enlisted(recorded: bool, name: &str) -> Verdict {
    holds(NAME, recorded, || {
        format!("{name} is to commit, and its enlistment is not recorded")
    })
}
