//! Every interleaving of worlds that an ordinary test run bears; `cargo xtask exhaust` searches the larger ones.

use std::sync::Arc;

use gtc_core::{Coordinator, Ledger, Record};
use gtc_sim::exhaust::{Faults, Limits, Report, World, named, search};

const MESSAGES: Faults = Faults {
    crash: false,
    zombie: false,
    loss: true,
    delay: true,
    repeat: true,
    log: false,
    expiry: false,
};

/// Far more than these worlds have: one that grows without end fails, instead of filling the memory.
const LIMITS: Limits = Limits { states: 1_500_000 };

fn world(name: &str, kinds: Faults) -> World {
    let mut world = named(name).expect("it is in the list");
    (world.faults, world.kinds) = (1, kinds);
    world
}

fn visit(world: &World) -> Report {
    let report = search(world, LIMITS, |_| {});
    if let Some(found) = &report.violation {
        let story = found.trace.join("\n");
        panic!("{}: {}\n{story}", found.invariant, found.detail);
    }
    assert!(report.complete, "every state was visited");
    report
}

#[test]
fn a_lost_late_or_repeated_message_of_two_transactions_does_no_harm() {
    for name in ["v1", "v2"] {
        let report = visit(&world(name, MESSAGES));
        // Far fewer would mean that the faults do not happen.
        assert!(report.transitions > 1_000, "{name}: {report:?}");
    }
}

#[test]
fn a_crash_at_any_step_of_one_transaction_does_no_harm() {
    for name in ["v1", "v2"] {
        let kinds = Faults {
            crash: true,
            ..Faults::default()
        };
        let mut world = world(name, kinds);
        world.transactions = 1;
        visit(&world);
    }
}

#[test]
fn what_is_reduced_is_found_without_reduction_too() {
    // A step that came too early where a zombie may be cost ends in `v1` when it initialised a slot, and in `v1-v2`
    // when it ended a branch; and where a process may die, when it initialised a slot or a probe (`v1`), or when a
    // start looked at one cluster although it might die at another (`v2`).
    let crash = Faults {
        crash: true,
        ..Faults::default()
    };
    let crash_and_loss = Faults {
        loss: true,
        ..crash
    };
    let worlds = [
        ("v1", MESSAGES, 1, 1),
        ("v1", Faults::USUAL, 1, 2),
        ("v1-v2", Faults::USUAL, 1, 2),
        ("v1", crash_and_loss, 2, 1),
        ("v2", crash, 2, 1),
    ];
    for (name, kinds, faults, transactions) in worlds {
        let mut plain = world(name, kinds).with_faults(faults);
        (plain.transactions, plain.slow_markers) = (transactions, false);
        let reduced = visit(&plain);
        plain.reduced = false;
        let whole = visit(&plain);
        assert!(reduced.states < whole.states, "{reduced:?} {whole:?}");
        // It visits a part of the whole: as many ends are the same ends.
        assert_eq!(reduced.ends, whole.ends, "{reduced:?} {whole:?}");
    }
}

/// A log that loses what it was given, but for the starts.
fn forgetful(ledger: &Ledger) -> Ledger {
    let mut forgotten = Ledger::new();
    if ledger.incarnation().0 > 0 {
        let started = Record::Started {
            incarnation: ledger.incarnation(),
            unix_ms: 0,
        };
        forgotten.apply(started).expect("the first record applies");
    }
    forgotten
}

#[test]
fn a_broken_start_is_found_by_a_shortest_story() {
    let kinds = Faults {
        crash: true,
        ..Faults::default()
    };
    let mut world = world("v1", kinds);
    world.transactions = 1;
    world.start = Arc::new(|config, ledger, now| {
        Coordinator::new(config, forgetful(&ledger), now).expect("valid")
    });
    let report = search(&world, LIMITS, |_| {});
    let found = report.violation.expect("a decision is forgotten");
    assert!(found.trace.len() > 1 && found.trace.len() < 40, "{found:?}");
}

#[cfg(feature = "broken")]
#[test]
fn a_rule_that_is_left_out_is_missed() {
    let kinds = Faults {
        crash: true,
        ..Faults::default()
    };
    let mut world = world("v1", kinds).without(gtc_core::Broken::DecisionIgnored);
    world.transactions = 1;
    let report = search(&world, LIMITS, |_| {});
    assert!(report.violation.is_some(), "{report:?}");
}
