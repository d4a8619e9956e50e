//! Isolation: a request ends only the transaction that its sender means.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "isolation";

/// When EndTxn ends a transaction.
pub fn check(intent: Option<&Tag>, tag: &Tag) -> Verdict {
    let same = intent
        .is_some_and(|intent| intent.transaction == tag.transaction && intent.name == tag.name);
    holds(NAME, same, || {
        format!("the wrong transaction is touched: {tag:?} instead of {intent:?}")
    })
}
