//! External consistency: what a caller is told agrees with what clusters show, then and ever after.

use gtc_core::{KnownOutcome, TransactionId};

use crate::model::broker::{Fate, Tag};
use crate::violation::{Verdict, holds};
use crate::world::account::{Account, Told};

/// The name.
pub const NAME: &str = "external-consistency";

/// When a caller is told.
pub fn told(account: &Account, id: TransactionId, fates: &[Fate]) -> Verdict {
    let wanted = match account.told {
        Some(Told::Committed) => fates.iter().all(|fate| *fate == Fate::Committed),
        Some(Told::Aborted) => !fates.contains(&Fate::Committed),
        _ => true,
    };
    let told = account.told;
    holds(NAME, wanted, || {
        format!("{id} is told {told:?}, but is {fates:?}")
    })
}

/// When a branch commits: nobody was told aborted.
pub fn committing(account: &Account, tag: &Tag) -> Verdict {
    let aborted = account.told == Some(Told::Aborted);
    holds(NAME, !aborted, || {
        format!("told aborted, and then committed: {tag:?}")
    })
}

/// After a history: what `outcome` answers.
pub fn outcome(id: TransactionId, known: KnownOutcome, fates: &[Fate]) -> Verdict {
    let right = match known {
        KnownOutcome::Committed => !fates.contains(&Fate::Aborted),
        KnownOutcome::Aborted => !fates.contains(&Fate::Committed),
        _ => true,
    };
    holds(NAME, right, || {
        format!("outcome({id}) is {known:?}, but it is {fates:?}")
    })
}
