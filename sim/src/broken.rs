//! Rules left out on purpose: how many histories each survives, and which invariant then notices.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub mod report;

pub use gtc_core::Broken;

use crate::run::{Many, Options, run_seed};
use crate::violation::Violation;

/// What says that something went wrong, but not what.
const VAGUE: [&str; 3] = [
    "no-panic",
    "core-invariants",
    crate::invariants::ac5_termination::UNENDING,
];

/// What became of a rule that was left out.
#[derive(Debug)]
pub struct Survival {
    /// The rule.
    pub rule: Broken,
    /// The first history that names an invariant.
    pub found: Option<Found>,
    /// What histories before it showed without naming one.
    pub vague: Option<Violation>,
    /// How long the search took, on one thread.
    pub took: Duration,
}

/// The history that noticed.
#[derive(Debug)]
pub struct Found {
    /// Its seed.
    pub seed: u64,
    /// How many it took, from the first seed on.
    pub histories: u64,
    /// What it noticed.
    pub violation: Violation,
}

/// Looks for each rule until a history notices that it is left out, by the name of an invariant; the rules share the
/// threads.
pub fn search(rules: &[Broken], many: Many) -> Vec<Survival> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut survivals = Vec::new();
        while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
            survivals.push(survive(*rule, many));
        }
        survivals
    };
    let mut survivals: Vec<Survival> = thread::scope(|scope| {
        let threads: Vec<_> = (0..many.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("it catches");
        threads.into_iter().flat_map(join).collect()
    });
    survivals.sort_by_key(|survival| survival.rule);
    survivals
}

fn survive(rule: Broken, many: Many) -> Survival {
    let began = Instant::now();
    let mut vague = None;
    let found = (0..many.count).find_map(|index| {
        let seed = many.first + index;
        let violation = notices(rule, seed, many.options)?;
        if VAGUE.contains(&violation.invariant) {
            vague.get_or_insert(violation);
            return None;
        }
        Some(Found {
            seed,
            histories: index + 1,
            violation,
        })
    });
    Survival {
        rule,
        found,
        vague,
        took: began.elapsed(),
    }
}

/// What the history of a seed shows without the rule, if it is clean with it. One that another masks is left out together
/// with that one, which alone must show nothing.
pub fn notices(rule: Broken, seed: u64, options: Options) -> Option<Violation> {
    let mask = report::mask(rule);
    let without = Options {
        without: Some(rule),
        mask,
        ..options
    };
    let violation = run_seed(seed, without).result.err()?;
    // What happens with the rule as well says nothing of it.
    let with = Options {
        without: mask,
        ..options
    };
    let clean = |options| run_seed(seed, options).result.is_ok();
    (clean(options) && clean(with)).then_some(violation)
}
