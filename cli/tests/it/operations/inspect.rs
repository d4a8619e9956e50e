//! `gtc list`, `describe` and `outcome` beside a living owner and without one.

use gtc_clusters::shared;
use rustix::process::Signal;

use crate::kafka::{await_rows, await_true, create_topic, numbered, produce};
use crate::program::Place;

#[test]
fn a_log_is_read_while_its_owner_lives_and_after_it() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("owner", &[("a", a), ("b", b)]);
    create_topic(a, "owner", 1, &[]);
    produce(a, "owner", &numbered(0..10, 1));
    let mut running = place.start_with(
        "replicate --from a --to b --topic owner --log-format json",
        "gtc=debug,info",
    );
    await_rows(b, "owner", 10);
    running.await_stderr(r#""phase":"completed""#);
    let id = committed_id(&running.stderr());

    let listed = place.run("list --json").expect(0).json();
    assert_eq!(listed[0]["owner"], true);
    assert_eq!(
        place.run(&format!("outcome {id}")).expect(0).stdout,
        "committed\n"
    );
    let described = place.run(&format!("describe {id} --json")).expect(0).json();
    assert_eq!(
        (&described[0]["id"], &described[0]["decision"]),
        (&id.clone().into(), &"commit".into())
    );

    // A second owner is refused for as long as the first lives, with an error that names it.
    let second = place
        .run("replicate --from a --to b --topic owner --until-end")
        .expect(1);
    assert!(second.stderr.contains("log"), "{}", second.stderr);

    running.terminate().expect(0);
    let listed = place.run("list --json").expect(0).json();
    assert_eq!(listed[0]["owner"], false);
    assert_eq!(
        place.run(&format!("outcome {id} --json")).expect(0).json()[0]["outcome"],
        "committed"
    );
    assert_eq!(place.run("list").expect(0).stdout, "nothing is open\n");
}

/// The id of a transaction that the log lines show as completed.
fn committed_id(stderr: &str) -> String {
    let line = stderr
        .lines()
        .find(|line| line.contains(r#""phase":"completed""#))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["phase"], "completed");
    line["txn"].as_str().unwrap().to_owned()
}

#[test]
fn what_the_log_does_not_know_is_said_to_be_unknown() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("unknown", &[("a", a), ("b", b)]);
    let absent = place.run("list").expect(0).stdout;
    assert!(
        absent.contains("not started yet: there is no log in"),
        "{absent}"
    );
    assert_eq!(
        place.run("list --json").expect(0).json()[0]["started"],
        false
    );
    for (command, code) in [
        ("describe 1-1", 5),
        ("outcome 1-1", 5),
        ("resolve 1-1 --abort", 5),
        ("forget 1-1", 5),
        ("recover", 1),
    ] {
        let told = place.run(command).expect(code);
        let said = told.stderr.contains("not started yet") || command.starts_with("outcome");
        assert!(said, "{command}: {}", told.stderr);
    }
    place.log_is_a_file(true);
    for command in ["list", "describe 1-1", "outcome 1-1", "recover"] {
        let told = place.run(command).expect(1).stderr;
        for part in ["is a file, and a log is a directory", "name the directory"] {
            assert!(told.contains(part), "{command}: no {part} in {told}");
        }
    }
    place.log_is_a_file(false);
    create_topic(a, "unknown", 1, &[]);
    place
        .run("replicate --from a --to b --topic unknown --until-end")
        .expect(0);
    let described = place.run("describe 9-1 --json").expect(5).json();
    assert_eq!(
        (&described[0]["id"], &described[0]["state"]),
        (&"9-1".into(), &"unknown".into())
    );
    let never = place.run("outcome 9-1").expect(5);
    assert_eq!(never.stdout, "unknown\n");
    let told = never.stderr;
    assert!(
        told.contains("it never began here, as the last start"),
        "{told}"
    );
    let perhaps = place.run("outcome 1-999").expect(5);
    assert_eq!(perhaps.stdout, "unknown\n");
    let told = perhaps.stderr;
    assert!(told.contains("it was forgotten or never begun"), "{told}");
    assert_eq!(
        place.run("outcome --key nobody").expect(5).stdout,
        "unknown\n"
    );
    place.run("describe 1-999").expect(5);
    place.run("resolve 1-999 --commit").expect(5);
    place.run("forget 1-999").expect(5);
}

#[test]
fn a_decision_that_comes_too_late_has_an_exit_code_of_its_own() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("late", &[("a", a), ("b", b)]);
    create_topic(a, "late", 1, &[]);
    produce(a, "late", &numbered(0..10, 1));
    let running = place.start_with(
        "replicate --from a --to b --topic late --until-end --log-format json",
        "gtc=debug,info",
    );
    let id = committed_id(&running.await_end().expect(0).stderr);
    let told = place.run(&format!("resolve {id} --abort")).expect(7);
    assert!(
        told.stderr.contains("nothing was changed"),
        "{}",
        told.stderr
    );
    place.run(&format!("resolve {id} --commit")).expect(0);
    assert_eq!(await_rows(b, "late", 10).len(), 10);
}

/// Whoever asks with a wrong id would hear of transactions that are not its own, or of none.
#[test]
fn the_log_of_another_coordinator_is_refused_by_every_command_beside_its_owner_and_without() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("owned", &[("a", a), ("b", b)]);
    create_topic(a, "owned", 1, &[]);
    produce(a, "owned", &numbered(0..10, 1));
    let running = place.start("replicate --from a --to b --topic owned");
    await_rows(b, "owned", 10);
    place.rewrite("id = \"owned\"", "id = \"other\"");
    let refused = |command: &str| {
        let told = place.run(command).expect(1).stderr;
        let expected = r#"belongs to coordinator "owned", not to "other""#;
        assert!(told.contains(expected), "{command}: {told}");
        assert!(told.contains("correct the coordinator id"), "{told}");
    };
    let commands = [
        "list",
        "describe 1-1",
        "outcome 1-1",
        "outcome --key k",
        "resolve 1-1 --abort",
        "resolve a:gtc.other.1.1.a.1 --abort",
        "forget 1-1",
    ];
    commands.iter().for_each(|command| refused(command));
    running.terminate().expect(0);
    commands.iter().for_each(|command| refused(command));
    refused("recover");
}

/// Who is told that nobody owns the log starts another owner, or resolves what is under way.
#[test]
fn an_owner_that_does_not_answer_is_told_from_none() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("silent", &[("a", a), ("b", b)]);
    create_topic(a, "silent", 1, &[]);
    produce(a, "silent", &numbered(0..10, 1));
    let mut running = place.start_with(
        "replicate --from a --to b --topic silent --log-format json",
        "gtc=debug,info",
    );
    await_rows(b, "silent", 10);
    running.await_stderr(r#""phase":"completed""#);
    let id = committed_id(&running.stderr());
    let owner = format!("owned by process {}", running.id());
    let is_told = |why: &str| {
        let told = place.run("list --json").expect(1);
        for part in [owner.as_str(), why] {
            assert!(told.stderr.contains(part), "no {part} in {}", told.stderr);
        }
        let listed = told.json().remove(0);
        assert_eq!(
            (&listed["owner"], &listed["owner_answers"]),
            (&true.into(), &false.into())
        );
    };
    running.signal(Signal::STOP);
    is_told("no answer in 10 s");
    place.remove_socket();
    is_told("an owner that is not stopped makes it again");
    place.obstruct_socket(true);
    is_told("admin.sock is not a socket");
    place.obstruct_socket(false);
    let told = place.run("list").expect(1).stdout;
    assert!(told.contains("a process that does not answer"), "{told}");
    assert!(!told.contains("nothing is open"), "{told}");
    // What the file proves is told as ever; what it does not know may be under way.
    place.run(&format!("outcome {id}")).expect(0);
    place.run("outcome 1-999").expect(1);
    place.run("describe 1-999").expect(1);
    running.signal(Signal::CONT);
    await_true("the owner to listen anew", || {
        let told = place.run("list --json");
        told.code == Some(0) && told.json()[0]["owner_answers"] == true
    });
    running.terminate().expect(0);
    let listed = place.run("list --json").expect(0).json();
    assert_eq!(listed[0]["owner"], false);
}
