//! Running histories: one by its seed, and many on all processors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::source;
use crate::violation::Violation;
use crate::world::{Summary, World};

/// How a history is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Faults happen.
    pub faults: bool,
    /// The report holds the lines of the history.
    pub trace: bool,
    /// The rule that the coordinators leave out.
    #[cfg(feature = "broken")]
    pub without: Option<gtc_core::Broken>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            faults: true,
            trace: false,
            #[cfg(feature = "broken")]
            without: None,
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
}

/// Runs the history of a seed.
pub fn run_seed(seed: u64, options: Options) -> Report {
    let length = [60, 200, 600, 1500][(seed % 4) as usize];
    let mut world = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        let world = world.insert(World::new(source::tape(seed, length), options));
        world.run()
    }));
    Report {
        result: result.map_err(Violation::from_unwind),
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
