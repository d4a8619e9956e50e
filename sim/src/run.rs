//! Running histories: one by its seed, and many on all processors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::plan::Plan;
use crate::violation::Violation;
use crate::world::{Summary, World};

/// How a history is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Faults happen.
    pub faults: bool,
    /// The report holds a line for everything that happened.
    pub trace: bool,
    /// The report holds the lines that tell a story, and no others.
    pub story: bool,
    /// The rule that the coordinators leave out.
    #[cfg(feature = "broken")]
    pub without: Option<gtc_core::Broken>,
    /// The rule that they leave out with it, because it would hide that.
    #[cfg(feature = "broken")]
    pub mask: Option<gtc_core::Broken>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            faults: true,
            trace: false,
            story: false,
            #[cfg(feature = "broken")]
            without: None,
            #[cfg(feature = "broken")]
            mask: None,
        }
    }
}

/// What one history was.
#[derive(Debug)]
pub struct Report {
    /// What came of it, or what did not hold.
    pub result: Result<Summary, Violation>,
    /// Its lines, if they were wanted.
    pub trace: Vec<String>,
    /// How many steps it has.
    pub steps: u64,
}

/// Runs the history of a seed.
pub fn run_seed(seed: u64, options: Options) -> Report {
    run_plan(&Plan::new(seed), options)
}

/// Runs a history, or what is left of it.
pub fn run_plan(plan: &Plan, options: Options) -> Report {
    let mut world = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.insert(World::new(plan, options)).run(plan)
    }));
    Report {
        result: result.map_err(Violation::from_unwind),
        steps: world.as_ref().map_or(0, |world| world.swarm.steps),
        trace: world.map(|world| world.trace.take()).unwrap_or_default(),
    }
}

/// Which histories are run.
#[derive(Clone, Copy, Debug)]
pub struct Many {
    /// How each is run.
    pub options: Options,
    /// The first seed.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// On how many threads.
    pub threads: usize,
}

/// Runs histories on several threads until one fails, which is returned with its seed.
///
/// `progress` is told after each history how many are done, from any thread.
pub fn run_many(many: Many, progress: impl Fn(u64) + Sync) -> Result<Summary, (u64, Violation)> {
    let next = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let work = || {
        let mut sum = Summary::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= many.count {
                return Ok(sum);
            }
            match run_seed(many.first + index, many.options).result {
                Ok(summary) => sum.add(summary),
                Err(violation) => {
                    next.fetch_add(many.count, Ordering::Relaxed);
                    return Err((many.first + index, violation));
                }
            }
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..many.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("it catches");
        threads.into_iter().map(join).collect()
    });
    let mut sum = Summary::default();
    for result in results {
        sum.add(result?);
    }
    Ok(sum)
}
