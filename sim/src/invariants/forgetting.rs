//! Forgetting: under presumed abort a decision is forgotten only after all branches have acknowledged it.

use gtc_core::TransactionId;

use crate::model::broker::Fate;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "forgetting";

/// When the log holds the completion of a decided transaction.
pub fn check(id: TransactionId, fates: &[Fate]) -> Verdict {
    holds(NAME, !fates.contains(&Fate::Open), || {
        format!("{id} is forgotten while a branch of it is open")
    })
}
