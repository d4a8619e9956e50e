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
        let seed = many.first + index;
        let violation = run_seed(seed, options).result.err()?;
        // What happens with all rules as well says nothing of this one.
        let whole = run_seed(seed, many.options).result;
        whole.is_ok().then_some((index + 1, violation))
    })
}
