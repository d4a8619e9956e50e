//! Usable: after all faults, a new transaction over all participants commits.

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "usable";

/// After a history.
pub fn check(committed: bool) -> Verdict {
    holds(NAME, committed, || {
        "no new transaction over all participants commits".into()
    })
}
