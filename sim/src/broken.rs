//! Rules left out on purpose: how many histories each survives, and which invariant then notices.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub use gtc_core::Broken;

use crate::run::{Many, Options, run_seed};
use crate::violation::Violation;

/// What became of a rule that was left out.
#[derive(Debug)]
pub struct Survival {
    /// The rule.
    pub rule: Broken,
    /// The histories up to the one that noticed, and what it noticed.
    pub found: Option<(u64, Violation)>,
}

/// Looks for each rule until a history notices that it is left out; the rules share the threads.
pub fn search(rules: &[Broken], many: Many) -> Vec<Survival> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut survivals = Vec::new();
        while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = survive(*rule, many);
            survivals.push(Survival { rule: *rule, found });
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

fn survive(rule: Broken, many: Many) -> Option<(u64, Violation)> {
    let options = Options {
        without: Some(rule),
        ..many.options
    };
    (0..many.count).find_map(|index| {
        let violation = run_seed(many.first + index, options).result.err()?;
        Some((index + 1, violation))
    })
}
