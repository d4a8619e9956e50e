//! No false alarm: a branch that ended as decided is not reported as heuristic.

use gtc_core::{HeuristicBranch, HeuristicKind};

use crate::model::broker::Fate;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "no-false-alarm";

/// When a heuristic branch is reported.
pub fn check(branch: &HeuristicBranch, fates: &[Fate]) -> Verdict {
    let possible = match branch.kind {
        HeuristicKind::Aborted | HeuristicKind::Hazard => {
            fates.is_empty() || fates.iter().any(|fate| *fate != Fate::Committed)
        }
        HeuristicKind::Committed => fates.contains(&Fate::Committed),
        _ => true,
    };
    holds(NAME, possible, || {
        format!("{branch:?}, but it is {fates:?}")
    })
}
