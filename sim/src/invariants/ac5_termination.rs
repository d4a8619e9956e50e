//! AC5, termination: once the faults end, every transaction ends, and readers of committed data go on.

use gtc_core::TransactionView;

use crate::model::broker::{Broker, Tag};
use crate::violation::{Verdict, Violation, holds};

/// The name.
pub const NAME: &str = "ac5-termination";

/// The name of what does not end, and does not say what it waits for.
pub const UNENDING: &str = "unending";

/// After healing.
pub fn check(broker: &Broker) -> Verdict {
    let open: Vec<&Tag> = broker.open_tags().collect();
    holds(NAME, open.is_empty(), || format!("{open:?} stay open"))?;
    holds(NAME, broker.partition.is_stable(), || {
        let stuck = broker.partition.last_stable();
        format!("the last stable offset stays at {stuck}")
    })?;
    holds(NAME, broker.group.fetch_stable().is_some(), || {
        "offsets of the group stay pending".into()
    })
}

/// Healing did not come to an end.
pub fn unending(list: &[TransactionView], left: String) -> Violation {
    let listed: Vec<String> = list
        .iter()
        .map(|view| format!("{} {:?} {:?}", view.id, view.state, view.branches))
        .collect();
    Violation {
        invariant: UNENDING,
        detail: format!("it does not end: {}; {left}", listed.join(", ")),
    }
}
