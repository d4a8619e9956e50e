//! Seeded histories, as many as an ordinary test run bears; `cargo xtask sim --seeds N` runs more.

use gtc_sim::{Many, Options, run_many, run_seed};

#[test]
fn histories_hold() {
    let many = Many {
        options: Options::default(),
        first: 0,
        count: 4000,
        threads: 2,
    };
    let sum = run_many(many, |_| {});
    let sum = sum.unwrap_or_else(|(seed, violation)| {
        panic!("seed {seed} violates {violation}; `cargo xtask sim --seed {seed} --trace` shows it")
    });
    assert!(
        sum.committed > many.count / 4,
        "histories that commit nothing prove nothing: {sum:?}"
    );
}

#[test]
fn without_faults_what_was_asked_commits() {
    let options = Options {
        faults: false,
        ..Options::default()
    };
    for seed in 0..300 {
        let summary = run_seed(seed, options).result;
        let summary = summary.unwrap_or_else(|violation| panic!("{seed}: {violation}"));
        let seen = (summary.in_doubt, summary.mixed, summary.starts);
        assert_eq!(seen, (0, 0, 1), "{seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let options = Options {
        trace: true,
        ..Options::default()
    };
    for seed in 0..40 {
        let (first, second) = (run_seed(seed, options), run_seed(seed, options));
        assert!(!first.trace.is_empty());
        assert_eq!(first.trace, second.trace, "{seed}");
    }
}
