//! The commands `load` and `check`, as a person calls them.

use std::path::PathBuf;
use std::process::{Command, Output};

fn chaos(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gtc-chaos"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn flights_are_loaded_and_what_another_cluster_lacks_is_told_by_table_json_and_exit_code() {
    let clusters = gtc_clusters::shared::plain(2).unwrap();
    let us = format!("us={}", clusters[0].bootstrap());
    let eu = format!("eu={}", clusters[1].bootstrap());
    let files = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (journal, few) = (files.join("commands.journal"), files.join("few.csv"));
    std::fs::write(&few, "carrier,flight\nUA,1\nAA,2\nUA,1\n").unwrap();
    let (journal, few) = (journal.to_str().unwrap(), few.to_str().unwrap());

    let loaded = chaos(&["load", "--cluster", &us, "--journal", journal]);
    assert!(loaded.status.success(), "{}", text(&loaded));
    assert!(text(&loaded).contains("20000 records"), "{}", text(&loaded));

    let kept = format!("us={journal}");
    let check = ["check", "--cluster", &us, "--journal", &kept];
    let clean = chaos(&check);
    assert!(clean.status.success(), "{}", text(&clean));
    assert!(text(&clean).contains("check: clean"), "{}", text(&clean));

    let other = files.join("other.journal");
    let load = [
        "load",
        "--input",
        few,
        "--cluster",
        &eu,
        "--journal",
        other.to_str().unwrap(),
    ];
    assert!(chaos(&load).status.success());
    let mut both: Vec<&str> = check.to_vec();
    both.extend(["--cluster", &eu, "--link", "us:eu:nobody", "--json"]);
    let lacking = chaos(&both);
    assert_eq!(lacking.status.code(), Some(3), "{}", text(&lacking));
    let report: serde_json::Value = serde_json::from_slice(&lacking.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let missing: u64 = rows
        .iter()
        .map(|row| row["missing"].as_u64().unwrap())
        .sum();
    // The loader of eu gave ids of its own, which nobody journalled here.
    assert_eq!(missing, 20_000);
    assert!(report["groups"][0]["offset"].is_null());

    let absent = chaos(&["check", "--cluster", &us, "--topic", "absent"]);
    assert_eq!(absent.status.code(), Some(1), "{}", text(&absent));
    assert_eq!(chaos(&["check", "--cluster", "us"]).status.code(), Some(1));
    assert_eq!(chaos(&["check"]).status.code(), Some(2));
}
