//! Jobs done side by side.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Begins the jobs in their order, `width` of them at a time, and gives back what each came to, in
/// that order too.
pub(crate) fn side_by_side<J: Sync, R: Send>(
    width: usize,
    jobs: &[J],
    work: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match jobs.get(index) {
                Some(job) => done.push((index, work(job))),
                None => return done,
            }
        }
    };
    let mut done = thread::scope(|scope| {
        let lanes: Vec<_> = (0..width).map(|_| scope.spawn(lane)).collect();
        let join = |lane: thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        lanes.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_jobs_and_two_run_at_once() {
        // The first job cannot end before the last one has begun.
        let both = Barrier::new(2);
        let results = side_by_side(2, &[0, 1, 2, 3], |job| {
            if [0, 3].contains(job) {
                both.wait();
            }
            job * 10
        });
        assert_eq!(results, [0, 10, 20, 30]);
    }
}
