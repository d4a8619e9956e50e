//! Replays the golden scenarios bit for bit: the same requests and responses must lead to the same
//! actions, events and bytes of records. `vectors/README.md` describes the files.

use std::fs;
use std::path::{Path, PathBuf};

use gtc_core::{ActionId, Config, Coordinator, Ledger, Now, Output, Record, Request, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const FORMAT: u64 = 1;

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/golden");
    let entries = fs::read_dir(directory).expect("the golden scenarios");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    files
}

fn part<T: for<'de> Deserialize<'de>>(line: &Value, name: &str) -> T {
    let value = line
        .get(name)
        .unwrap_or_else(|| panic!("no {name} in {line}"));
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn whole<T: for<'de> Deserialize<'de>>(line: &Value) -> T {
    serde_json::from_value(line.clone()).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn plain(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("plain")
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
        .collect()
}

/// The ledger of the header's records, each of which must have the bytes that this build writes.
fn ledger(log: &[String]) -> Ledger {
    let mut ledger = Ledger::new();
    for hex in log {
        let record = Record::decode(&bytes(hex)).expect("a record");
        assert_eq!(record.encode(), bytes(hex), "{record:?}");
        ledger.apply(record).expect("in order");
    }
    ledger
}

/// All outputs, as a line holds them.
fn drain(coordinator: &mut Coordinator) -> (Value, Value, Value) {
    let (mut actions, mut events) = (Vec::new(), Vec::new());
    loop {
        match coordinator.poll_output() {
            Output::Action(id, action) => {
                let mut object = Map::from_iter([("id".to_owned(), plain(id))]);
                let Value::Object(action) = plain(action) else {
                    panic!("an action is an object")
                };
                object.extend(action);
                actions.push(Value::Object(object));
            }
            Output::Event(event) => events.push(plain(event)),
            Output::Wait(until, reason) => {
                let wait = json!({ "until_us": until, "reason": reason });
                return (Value::Array(actions), Value::Array(events), wait);
            }
        }
    }
}

fn replay(path: &Path) -> usize {
    let text = fs::read_to_string(path).expect("readable");
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let header: Value = lines.next().expect("a header");
    assert_eq!(header["format"], FORMAT);
    let log: Vec<String> = part(&header, "log");
    let config: Config = part(&header, "config");
    let ledger = ledger(&log);
    let mut coordinator: Option<Coordinator> = None;
    let mut count = 0;
    for line in lines {
        count += 1;
        let place = format!("{} line {}", path.display(), count + 1);
        let now: Now = part(&line, "now");
        if line["step"] == "start" {
            let started = Coordinator::new(config.clone(), ledger.clone(), now);
            coordinator = Some(started.expect("valid"));
        }
        let coordinator = coordinator.as_mut().expect("start comes first");
        step(coordinator, (&line, now), &place);
        let (actions, events, wait) = drain(coordinator);
        assert_eq!(actions, line["actions"], "{place}");
        assert_eq!(events, line["events"], "{place}");
        assert_eq!(wait, line["wait"], "{place}");
    }
    count
}

fn step(coordinator: &mut Coordinator, (line, now): (&Value, Now), place: &str) {
    match line["step"].as_str() {
        Some("start") => {}
        Some("request") => {
            let request: Request = whole(line);
            let result = match coordinator.handle_request(request, now) {
                Ok(accepted) => plain(accepted),
                Err(refusal) => plain(refusal),
            };
            assert_eq!(result, line["result"], "{place}");
        }
        Some("response") => {
            let to: ActionId = part(line, "to");
            let response: Response = whole(line);
            coordinator.handle_response(to, response, now);
        }
        Some("timeout") => coordinator.handle_timeout(now),
        other => panic!("{place}: {other:?}"),
    }
}

#[test]
fn every_golden_scenario_replays_bit_for_bit() {
    let files = files();
    assert!(files.len() >= 40, "{} files", files.len());
    let steps: usize = files.iter().map(|path| replay(path)).sum();
    assert!(steps > 1000, "{steps} steps");
}
