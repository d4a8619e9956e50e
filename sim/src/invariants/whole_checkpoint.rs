//! Whole checkpoint: the log is never the poorer for one.

use gtc_core::TransactionView;

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "whole-checkpoint";

/// For each transaction that the log lists before a checkpoint, and what it says of it after.
pub fn check(before: &TransactionView, after: Option<&TransactionView>) -> Verdict {
    holds(NAME, Some(before) == after, || {
        format!("{before:?} became {after:?}")
    })
}

/// When a coordinator stops: never over records of its own.
pub fn applies(stopped: &gtc_core::StopReason) -> Verdict {
    let own = format!("{stopped:?}").contains("does not apply");
    holds(NAME, !own, || format!("{stopped:?}"))
}

/// Records come in an order in which they make sense.
pub fn in_order(applied: Result<(), gtc_core::RecordError>) -> Verdict {
    holds(NAME, applied.is_ok(), || format!("{applied:?}"))
}
