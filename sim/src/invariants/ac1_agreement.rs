//! AC1, agreement: all branches of a transaction end alike, or it is reported that they did not.

use gtc_core::{KnownOutcome, TransactionId};

use crate::model::broker::Fate;
use crate::violation::{Verdict, holds};
use crate::world::account::Account;

/// The name.
pub const NAME: &str = "ac1-agreement";

/// After a history: the fates of a transaction's branches, and what its log says of it.
pub fn check(account: &Account, id: TransactionId, fates: &[Fate], known: KnownOutcome) -> Verdict {
    let committed = fates.contains(&Fate::Committed);
    let aborted = fates.contains(&Fate::Aborted);
    let torn = (account.decided || committed) && aborted;
    let reported = account.heuristic || known == KnownOutcome::Mixed;
    holds(NAME, !torn || reported, || {
        format!("{id} is {fates:?} and {known:?}, and nobody was told")
    })
}
