//! Told late: an application with an own producer hears nothing of its transaction's end before its own branch has
//! ended (R4).

use gtc_core::TransactionId;

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "told-late";

/// When the caller is told of the decision; `open` is a branch of an own producer that is still open.
pub fn check(id: TransactionId, open: Option<&Tag>) -> Verdict {
    holds(NAME, open.is_none(), || {
        format!("the caller of {id} is told although {open:?} is open")
    })
}
