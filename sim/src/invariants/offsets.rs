//! Offsets: a group's committed offset is neither ahead of the data that was made from it nor behind it.

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "offsets";

/// After a history: the offset in the source cluster, and the numbers of the results in the destination.
pub fn check(committed: u64, results: &[u64]) -> Verdict {
    let wanted: Vec<u64> = (1..=committed).collect();
    holds(NAME, results == wanted, || {
        format!("offset {committed} is committed, and the results are {results:?}")
    })
}
