//! A short run under every kind of fault, for every change. `GTC_CHAOS_MINUTES` and `GTC_CHAOS_SEED` make it another one.

mod support;

use std::time::Duration;

use gtc_chaos::faults::Faults;

/// Long enough for each common fault, and short enough for every change.
const MINUTES: f64 = 3.0;
/// Every kind of fault but one within the three minutes, on three clusters, with own
/// producers of both kinds and a small disk.
const SEED: u64 = 9;

fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => otherwise,
    }
}

#[test]
fn nothing_is_torn_lost_doubled_or_left_open_through_every_kind_of_fault() {
    let minutes = setting("GTC_CHAOS_MINUTES", MINUTES);
    let worker = support::build("chaos_worker");
    let faults = Faults {
        directory: support::place("faults", worker.clone()).directory,
        worker,
        seed: setting("GTC_CHAOS_SEED", SEED),
        length: Duration::from_secs_f64(minutes * 60.0),
    };
    let outcome = faults.run(&|line| println!("{line}")).unwrap();
    println!("{}\n{}", outcome.fault_table, outcome.verdict.to_text());
    assert!(outcome.verdict.is_clean());
    // A run in which nothing happened proves nothing.
    assert!(outcome.verdict.outcomes["told committed"] > 100);
    assert!(outcome.verdict.copies > 100);
    assert!(
        outcome.kills as f64 >= 4.0 * minutes,
        "{} kills",
        outcome.kills
    );
}
