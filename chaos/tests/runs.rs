//! The runs themselves, with the real program: short ones, for every change.

mod support;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use gtc_chaos::demo::Demo;
use gtc_chaos::mesh::{Mesh, Shape};
use gtc_chaos::transform::Transform;
use gtc_clusters::Security;

/// One run at a time: each has clusters of its own, and a machine of two cores has no room for more.
static ALONE: Mutex<()> = Mutex::new(());

fn gtc() -> PathBuf {
    support::build("gtc")
}

fn say(line: &str) {
    println!("{line}");
}

#[test]
fn flights_fan_out_all_or_none_through_kills_of_gtc_and_of_a_broker() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = support::place("demo", gtc());
    let demo = Demo {
        place,
        input: None,
        seed: 20,
        kills: 8,
        partitions: 4,
    };
    let outcome = demo.run(&say).unwrap();
    println!("{}\n{}", outcome.plan.to_text(), outcome.report.to_text());
    assert!(outcome.is_good());
    assert_eq!(
        outcome
            .report
            .rows
            .iter()
            .map(|row| row.records)
            .sum::<usize>(),
        3 * 20_000
    );
}

#[test]
fn each_flight_becomes_one_delay_on_another_cluster_through_kills() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let transform = Transform {
        place: support::place("transform", gtc()),
        example: support::build("transform"),
        seed: 11,
        kills: 8,
    };
    let (plan, report) = transform.run(&say).unwrap();
    println!("{}\n{}", plan.to_text(), report.to_text());
    assert!(plan.is_fulfilled() && report.is_clean());
}

fn mesh(name: &str, shape: Shape, security: Security) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = support::place(name, gtc());
    let outcome = Mesh {
        place,
        shape,
        security,
        seed: 7,
        kills: 5,
    }
    .run(&say)
    .unwrap();
    for (link, plan) in &outcome.plans {
        println!("{link}\n{}", plan.to_text());
    }
    println!("{}", outcome.report.to_text());
    assert!(outcome.is_good());
    assert_eq!(
        outcome
            .plans
            .iter()
            .map(|(_, plan)| plan.wanted())
            .sum::<u32>(),
        5
    );
    assert!(
        outcome.written.iter().all(|(_, records)| *records > 0),
        "{:?}",
        outcome.written
    );
}

#[test]
fn a_pair_copies_both_ways_through_kills_and_nothing_loops() {
    mesh("pair", Shape::Pair, Security::Plain);
}

#[test]
fn a_ring_of_three_copies_everything_everywhere_through_kills() {
    mesh("ring", Shape::Ring, Security::Plain);
}

#[test]
fn a_pair_runs_over_tls_and_sasl_with_the_documented_rights_only() {
    mesh("secure-pair", Shape::Pair, Security::Secure);
}
