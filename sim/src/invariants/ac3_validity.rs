//! AC3, validity: a branch commits only if its application asked for it and every branch voted yes.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "ac3-validity";

/// When a branch commits by a request of gtc.
pub fn check(account: &Account, tag: &Tag) -> Verdict {
    holds(NAME, !tag.stray, || {
        format!("a stray transaction is committed: {tag:?}")
    })?;
    holds(NAME, account.commit_asked, || {
        format!("committed unasked: {tag:?}")
    })?;
    holds(NAME, !account.lost_write, || {
        format!("committed although a write of it was lost: {tag:?}")
    })
}

/// When a commit is decided: every branch that holds records was open when its vote was taken.
pub fn decided(account: &Account, tag: &Tag) -> Verdict {
    holds(NAME, account.seen_open.contains(tag), || {
        format!("decided to commit, although at its vote {tag:?} was not open")
    })
}
