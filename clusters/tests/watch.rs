//! No broker outlives its caller, however the caller ends.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn broker_lives(pid: &str) -> bool {
    // A zombie has ended; who collects it is a matter of the machine's first process.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Starts the helper that holds one cluster, and returns it with the broker's process id and data
/// directory.
fn hold() -> (Child, String, PathBuf) {
    let mut helper = Command::new(env!("CARGO_BIN_EXE_hold"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(helper.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let mut words = line.split(' ');
    let (pid, data) = (words.next().unwrap(), words.next().unwrap());
    assert!(broker_lives(pid), "{line}");
    (helper, pid.to_string(), data.into())
}

fn await_true(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_broker_and_its_data_go_when_the_caller_is_killed() {
    let (mut helper, pid, data) = hold();
    assert!(data.is_dir());
    // Also one that cannot run: SIGKILL needs no cooperation.
    let stop = Command::new("kill").args(["-STOP", &pid]).status().unwrap();
    assert!(stop.success());
    helper.kill().unwrap();
    helper.wait().unwrap();
    await_true("the broker is gone", || !broker_lives(&pid));
    await_true("its data are gone", || !data.exists());
}

#[test]
fn a_broker_goes_when_the_caller_ends_in_order() {
    let (mut helper, pid, data) = hold();
    drop(helper.stdin.take());
    assert!(helper.wait().unwrap().success());
    assert!(!broker_lives(&pid) && !data.exists());
}
