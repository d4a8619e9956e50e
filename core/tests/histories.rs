//! Histories of a small world around the core: any order, loss, repetition and delay of requests and
//! responses, crashes at any point with replay, broken logs and clusters, broker time-outs, operators.
//! Then the faults end, and everything must be as section 8 of the design promises.
//!
//! `WORLD_SEEDS=100000 cargo test -p gtc-core --release --test histories -- seeds` runs many more;
//! `WORLD_SEED=n WORLD_TRACE=1` prints one.

mod world;

use std::time::Instant;

use world::{Summary, World, source};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn run(seed: u64, faults: bool) -> Summary {
    let length = [60, 200, 600, 1500][(seed % 4) as usize];
    World::new(source::tape(seed, length), faults).run()
}

#[test]
fn seeds() {
    if let Some(seed) = number("WORLD_SEED") {
        println!("{:?}", run(seed, true));
        return;
    }
    let count = number("WORLD_SEEDS").unwrap_or(4000);
    let first = number("WORLD_FIRST").unwrap_or(0);
    let began = Instant::now();
    let mut sum = Summary::default();
    for seed in first..first + count {
        let result = std::panic::catch_unwind(|| run(seed, true));
        let Ok(summary) = result else {
            panic!("seed {seed} failed: WORLD_SEED={seed} WORLD_TRACE=1 shows it");
        };
        sum.committed += summary.committed;
        sum.aborted += summary.aborted;
        sum.in_doubt += summary.in_doubt;
        sum.mixed += summary.mixed;
        sum.starts += summary.starts;
    }
    println!("{count} histories in {:?}: {sum:?}", began.elapsed());
    assert!(
        sum.committed > count / 4,
        "histories that commit nothing prove nothing: {sum:?}"
    );
}

#[test]
fn without_faults_what_was_asked_commits() {
    if let Some(seed) = number("WORLD_SEED") {
        println!("{:?}", run(seed, false));
        return;
    }
    for seed in 0..300 {
        let summary = run(seed, false);
        assert_eq!(
            (summary.in_doubt, summary.mixed, summary.starts),
            (0, 0, 1),
            "{seed}"
        );
    }
}

#[test]
fn the_same_tape_gives_the_same_history() {
    for seed in 0..20 {
        assert_eq!(run(seed, true), run(seed, true), "{seed}");
    }
}
