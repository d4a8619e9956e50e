//! What scenarios pass through: transitions of the core's tables, kinds of records, and every word.

use std::collections::{BTreeMap, BTreeSet};

use gtc_core::transitions::{BRANCH, TRANSACTION};
use gtc_core::{
    AbortReason, Coordinator, Event, Outcome, TransactionId, TransactionState, TransactionView,
    WORDS,
};
use serde_json::{Map, Value};

/// What was passed through.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Transitions of transactions, as `From -> To`.
    pub transactions: BTreeSet<String>,
    /// Transitions of branches, as `from -> to`.
    pub branches: BTreeSet<String>,
    /// Every value of a member that tells words apart, as `member: value`.
    pub words: BTreeSet<String>,
}

impl Coverage {
    /// All transitions that the core's tables have.
    #[must_use]
    pub fn tables() -> Self {
        let transactions = TRANSACTION
            .iter()
            .flat_map(|(from, next)| next.iter().map(move |to| arrow(from, to)));
        let branches = BRANCH
            .iter()
            .flat_map(|(from, next)| next.iter().map(move |to| format!("{from} -> {to}")));
        Self {
            transactions: transactions.collect(),
            branches: branches.collect(),
            words: BTreeSet::new(),
        }
    }

    /// Adds what another one has.
    pub fn add(&mut self, other: Self) {
        self.transactions.extend(other.transactions);
        self.branches.extend(other.branches);
        self.words.extend(other.words);
    }

    /// Takes the words of a line.
    pub(crate) fn read(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let word = value.as_str().zip(tag(name, members));
                    self.words
                        .extend(word.map(|(word, tag)| format!("{tag}: {word}")));
                    self.read(value);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.read(value)),
            _ => {}
        }
    }
}

/// The name in the core's list of words, where a member has one: not every `reason` is a word.
fn tag(name: &str, beside: &Map<String, Value>) -> Option<&'static str> {
    let tag = match name {
        "reason" if beside.contains_key("until_us") => "wait",
        "reason" if !beside.contains_key("outcome") => return None,
        other => other,
    };
    let mut known = WORDS.iter().map(|(tag, _)| *tag);
    known.find(|known| *known == tag)
}

fn arrow(from: &TransactionState, to: &TransactionState) -> String {
    format!("{from:?} -> {to:?}")
}

/// The shortest way of a table from one state to another, if it is the only one of its length.
fn way<S: Copy + PartialEq>(table: &[(S, &[S])], from: S, to: S) -> Option<Vec<S>> {
    let mut ways = vec![vec![from]];
    for _ in 0..table.len() {
        let found: Vec<&Vec<S>> = ways.iter().filter(|way| way.last() == Some(&to)).collect();
        match found[..] {
            [] => {}
            [only] => return Some(only.clone()),
            _ => return None,
        }
        ways = ways.iter().flat_map(|way| longer(table, way)).collect();
    }
    None
}

fn longer<S: Copy + PartialEq>(table: &[(S, &[S])], way: &[S]) -> Vec<Vec<S>> {
    let row = table.iter().find(|(from, _)| way.last() == Some(from));
    let next = row.map_or(&[][..], |(_, next)| next);
    next.iter()
        .map(|state| way.iter().copied().chain([*state]).collect())
        .collect()
}

/// The states seen last.
#[derive(Default)]
pub(crate) struct Walk {
    seen: BTreeMap<TransactionId, TransactionView>,
    /// Branches that went from preparing to ending at once, by way of one vote or the other.
    voted: BTreeSet<(TransactionId, String)>,
}

impl Walk {
    /// Notes the transitions since the last look.
    pub(crate) fn follow(&mut self, coordinator: &Coordinator, coverage: &mut Coverage) {
        let known: Vec<TransactionId> = self.seen.keys().copied().collect();
        for id in known {
            if coordinator.describe(id).is_none()
                && let Some(before) = self.seen.remove(&id)
            {
                vanish(&before, coverage);
            }
        }
        let known: Vec<_> = self
            .seen
            .keys()
            .filter_map(|id| coordinator.describe(*id))
            .collect();
        for view in known.into_iter().chain(coordinator.list()) {
            if let Some(before) = self.seen.insert(view.id, view.clone()) {
                self.note(&before, &view, coverage);
            }
        }
    }

    /// A branch that votes no is ended in the same step: only the reason tells of its vote.
    pub(crate) fn hear(&mut self, event: &Event, coverage: &mut Coverage) {
        let Event::Ended {
            transaction,
            outcome: Outcome::Aborted(AbortReason::VotedNo { participant, .. }),
        } = event
        else {
            return;
        };
        if self.voted.contains(&(*transaction, participant.clone())) {
            let passed = ["preparing -> voted no", "voted no -> ending"];
            coverage.branches.extend(passed.map(str::to_owned));
        }
    }

    fn note(&mut self, before: &TransactionView, view: &TransactionView, coverage: &mut Coverage) {
        let passed = way(&TRANSACTION, before.state, view.state).unwrap_or_default();
        let pairs = passed.windows(2).map(|pair| arrow(&pair[0], &pair[1]));
        coverage.transactions.extend(pairs);
        if view.branches.is_empty() {
            vanish(before, coverage);
        }
        for (old, new) in before.branches.iter().zip(&view.branches) {
            if (old.state, new.state) == ("preparing", "ending") {
                self.voted.insert((view.id, new.participant.clone()));
            }
            note_branch(way(&BRANCH, old.state, new.state), coverage);
        }
    }
}

fn note_branch(passed: Option<Vec<&str>>, coverage: &mut Coverage) {
    let passed = passed.unwrap_or_default();
    let pairs = passed
        .windows(2)
        .map(|pair| format!("{} -> {}", pair[0], pair[1]));
    coverage.branches.extend(pairs);
}

/// A transaction is gone, or known by its outcome only, when its last branch is ended: what only one
/// transition leads on from has gone that way.
fn vanish(before: &TransactionView, coverage: &mut Coverage) {
    for branch in &before.branches {
        let row = BRANCH.iter().find(|(from, _)| *from == branch.state);
        if let Some((from, [to])) = row {
            note_branch(Some(vec![from, to]), coverage);
        }
    }
}
