//! The inputs that the repository keeps, as plain tests: what was found once is not found again.

use std::fs;
use std::path::Path;

use crate::targets;

fn replay(name: &str, take: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let mut count = 0;
    for entry in fs::read_dir(&directory).expect("the inputs of the target") {
        let path = entry.expect("readable").path();
        eprintln!("{}", path.display());
        take(&fs::read(&path).expect("readable"));
        count += 1;
    }
    assert!(count >= 10, "{count} inputs of {name}");
}

#[test]
fn the_inputs_of_record_hold() {
    replay("record", targets::record::take);
}

#[test]
fn the_inputs_of_segment_hold() {
    replay("segment", targets::segment::take);
}

#[test]
fn the_inputs_of_configuration_hold() {
    replay("configuration", targets::configuration::take);
}

#[test]
fn the_inputs_of_control_hold() {
    replay("control", targets::control::take);
}

#[test]
fn the_inputs_of_core_hold() {
    replay("core", targets::core::take);
}

#[test]
fn the_inputs_of_responses_hold() {
    replay("responses", targets::responses::take);
}

#[test]
fn the_inputs_of_admin_hold() {
    replay("admin", targets::admin::take);
}
