//! The files are what the scenarios give, and the scenarios pass through everything.

use std::collections::BTreeSet;

use gtc_core::WORDS;
use gtc_vectors::{Coverage, directory, scenarios, stale};

fn passed() -> Coverage {
    let mut sum = Coverage::default();
    for scenario in scenarios() {
        sum.add(scenario.record().coverage);
    }
    sum
}

#[test]
fn no_file_is_stale() {
    let stale = stale(&directory()).expect("readable");
    assert!(
        stale.is_empty(),
        "run `cargo xtask generate vectors`, and look at what changed: {stale:?}"
    );
}

#[test]
fn there_are_enough_and_each_has_its_own_name_and_story() {
    let all = scenarios();
    assert!(all.len() >= 40, "{}", all.len());
    let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), all.len());
    let stories: BTreeSet<&str> = all.iter().map(|scenario| scenario.story).collect();
    assert_eq!(stories.len(), all.len());
}

#[test]
fn every_transition_of_the_tables_is_passed() {
    let (tables, passed) = (Coverage::tables(), passed());
    let missing: Vec<_> = tables
        .transactions
        .difference(&passed.transactions)
        .collect();
    assert!(missing.is_empty(), "transactions: {missing:?}");
    let missing: Vec<_> = tables.branches.difference(&passed.branches).collect();
    assert!(missing.is_empty(), "branches: {missing:?}");
}

/// Words that never come out of the core: what a start finds undecided has no caller to be told; the first status is
/// the one that there is without an event; that a coordinator was closed is said by its driver; and what is so without
/// being said is left out of a configuration.
const SILENT: [&str; 4] = [
    "reason: presumed",
    "status: starting",
    "stop: closed",
    "gives_way: nothing",
];

#[test]
fn every_word_is_used() {
    let passed = passed();
    let mut words = BTreeSet::new();
    for (tag, of_it) in WORDS {
        words.extend(of_it.iter().map(|word| format!("{tag}: {word}")));
    }
    for silent in SILENT {
        assert!(words.remove(silent), "{silent} is no word");
    }
    let missing: Vec<_> = words.difference(&passed.words).collect();
    let unlisted: Vec<_> = passed.words.difference(&words).collect();
    assert!(
        missing.is_empty() && unlisted.is_empty(),
        "in no scenario: {missing:?}; in no list: {unlisted:?}"
    );
}
