//! No false alarm: a branch that ended as decided is not reported as heuristic.

use gtc_core::{HeuristicBranch, HeuristicKind};

use crate::model::broker::Fate;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "no-false-alarm";

/// When a heuristic branch is reported; `decided` is whether a decision to commit was durable.
pub fn check(branch: &HeuristicBranch, decided: bool, fates: &[Fate]) -> Verdict {
    let wanted = if decided {
        Fate::Committed
    } else {
        Fate::Aborted
    };
    let possible = match branch.kind {
        HeuristicKind::Aborted => fates.is_empty() || fates.iter().any(|f| *f != Fate::Committed),
        HeuristicKind::Hazard => fates.is_empty() || fates.iter().any(|fate| *fate != wanted),
        HeuristicKind::Committed => fates.contains(&Fate::Committed),
        _ => true,
    };
    holds(NAME, possible, || {
        format!("{branch:?}, but it is {fates:?}")
    })
}
