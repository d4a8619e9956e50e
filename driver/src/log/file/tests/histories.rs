//! Histories of the shipped log, with all its rules and with one left out at a time.

use super::history::{Summary, Violation, run};
use crate::log::file::broken::Broken;

/// How many histories: `LOG_HISTORIES=100000` runs more.
pub(super) fn how_many(otherwise: u64) -> u64 {
    let wanted = std::env::var("LOG_HISTORIES").ok();
    wanted
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn a_disk_that_fails_and_forgets_keeps_what_was_acknowledged() {
    let count = how_many(600);
    let mut sum = Summary::default();
    let mut violations: Vec<(u64, Violation)> = Vec::new();
    for seed in 0..count {
        match run(seed, None) {
            Ok(summary) => sum.add(summary),
            Err(violation) => violations.push((seed, violation)),
        }
    }
    println!("{count} histories: {sum:?}");
    for (seed, violation) in violations.iter().take(10) {
        println!("seed {seed} violates {violation}");
    }
    assert!(violations.is_empty(), "{} histories", violations.len());
    let busy = [sum.acknowledged, sum.refused, sum.unknown, sum.power_cuts];
    let enough = count as usize / 20;
    assert!(busy.iter().all(|count| *count > enough), "{sum:?}");
}

/// The invariant that notices each rule left out, and the most histories that may pass before it does.
const NOTICED: &[(Broken, &str)] = &[
    (Broken::ForceFound, "a log that was only crashed opens"),
    (Broken::WriteAgain, "a log that was only crashed opens"),
    (Broken::Rewrite, "a log that was only crashed opens"),
    (Broken::Sync, "acknowledged records survive"),
    (Broken::SyncDirectory, "a log that was only crashed opens"),
    (Broken::SyncLength, "a log that was only crashed opens"),
    (Broken::Stop, "a failed append ends the log"),
    (Broken::FailedUnknown, "a log that was only crashed opens"),
    (Broken::LastSegment, "a checkpoint makes room"),
    (Broken::Damage, "damage is noticed"),
    (Broken::LaterFrames, "damage is noticed"),
    (Broken::CutFile, "damage is noticed"),
    (Broken::SnapshotEnd, "acknowledged records survive"),
    (Broken::RemoveLast, "a log that was only crashed opens"),
    (Broken::Owner, "a foreign log is refused"),
    (Broken::Identity, "a log that was only crashed opens"),
    (Broken::Place, "a moved log is refused"),
];

#[test]
fn every_rule_left_out_is_noticed_by_a_named_invariant() {
    let count = how_many(20_000);
    let mut wrong = Vec::new();
    for (rule, invariant) in NOTICED {
        let mut all = (0..count).map(|seed| (seed, run(seed, Some(*rule))));
        let found = all.find_map(|(seed, result)| Some((seed, result.err()?)));
        let row = match &found {
            Some((seed, violation)) => format!("{:>6} {violation}", seed + 1),
            None => "     - not noticed".to_owned(),
        };
        println!("{:<16}{row}", format!("{rule:?}"));
        if found.is_none_or(|(_, violation)| violation.invariant != *invariant) {
            wrong.push(format!("{rule:?}: {row}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
