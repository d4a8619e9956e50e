//! The walk along the core's tables of transitions: whatever happens, a state only ever changes into one
//! that its table leads to.

use std::collections::BTreeMap;

use gtc_core::transitions::{BRANCH, TRANSACTION};
use gtc_core::{Coordinator, TransactionId, TransactionState, TransactionView};

use crate::violation::{demand, holds};

/// The name.
pub const NAME: &str = "transitions";

/// Whether the table leads from one state to another, in any number of transitions.
fn leads<S: Copy + PartialEq>(table: &[(S, &[S])], from: S, to: S) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(state) = reached.get(next).copied() {
        next += 1;
        let row = table.iter().find(|(start, _)| *start == state);
        for successor in row.map_or(&[][..], |(_, successors)| successors) {
            if !reached.contains(successor) {
                reached.push(*successor);
            }
        }
    }
    reached.contains(&to)
}

fn is_known(state: &str) -> bool {
    BRANCH.iter().any(|(name, _)| *name == state)
}

/// The states seen last.
#[derive(Default)]
pub struct Walk {
    seen: BTreeMap<TransactionId, TransactionView>,
}

impl Walk {
    /// Compares every live transaction with how it was seen last.
    pub fn follow(&mut self, coordinator: &Coordinator) {
        let mut now: BTreeMap<TransactionId, TransactionView> = BTreeMap::new();
        let known = self.seen.keys().filter_map(|id| coordinator.describe(*id));
        for view in known.chain(coordinator.list()) {
            now.insert(view.id, view);
        }
        for (id, view) in &now {
            // What only the log knows yet has the log's words.
            let live =
                |before: &&TransactionView| before.branches.iter().all(|b| is_known(b.state));
            if let Some(before) = self.seen.get(id).filter(live) {
                compare(before, view);
            }
        }
        let ended = |view: &TransactionView| {
            matches!(
                view.state,
                TransactionState::Ended | TransactionState::Mixed
            )
        };
        now.retain(|_, view| !ended(view));
        self.seen = now;
    }
}

fn compare(before: &TransactionView, view: &TransactionView) {
    let (from, to) = (before.state, view.state);
    let legal = leads(&TRANSACTION, from, to);
    let id = view.id;
    demand(holds(NAME, legal, || {
        format!("{id} went from {from:?} to {to:?}")
    }));
    if matches!(to, TransactionState::Ended | TransactionState::Mixed) {
        // What is kept of an ended transaction names its branches otherwise.
        return;
    }
    for (old, new) in before.branches.iter().zip(&view.branches) {
        let legal = leads(&BRANCH, old.state, new.state);
        let (id, from, to) = (view.id, old.state, new.state);
        demand(holds(NAME, legal, || {
            format!("a branch of {id} went from {from} to {to}")
        }));
    }
    let reversed = before.decision.is_some() && view.decision != before.decision;
    let broker_aborted = to == TransactionState::Ended;
    demand(holds(NAME, !reversed || broker_aborted, || {
        format!("{id} reversed its decision")
    }));
}
