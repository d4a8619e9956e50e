use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::phase::Window;
use crate::plan::Aim;
use crate::program::{Life, Program, Watched};

const PATIENCE: Duration = Duration::from_secs(20);

/// A shell script in the place of the program.
fn script(name: &str, text: &str) -> Program {
    let directory = std::env::temp_dir().join(format!("gtc-chaos-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    Program {
        binary: PathBuf::from("sh"),
        arguments: vec!["-c".into(), format!("{SAY}\n{text}")],
        environment: Vec::new(),
        log: directory.join("program.log"),
    }
}

const SAY: &str = r#"say() { echo "{\"phase\":\"$1\",\"txn\":\"$2\"}" >&2; }"#;

fn aim(window: Window, nth: u32) -> Aim {
    Aim::Window {
        window,
        nth,
        jitter: Duration::ZERO,
    }
}

fn started(program: &Program, at: Aim) -> (Life, Watched) {
    let mut life = program.start().unwrap();
    let watched = life.watch(at, PATIENCE).unwrap();
    (life, watched)
}

fn is_gone(pid: u32) -> bool {
    !std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_kill_hits_the_window_it_was_aimed_at() {
    let text = "for t in 1 2 3; do for p in begun preparing deciding decided; do say $p $t; done\n\
                [ $t = 2 ] && exec sleep 60\n say acknowledged $t; say completed $t; done";
    let (life, watched) = started(&script("aim", text), aim(Window::Decided, 2));
    assert_eq!(watched, Watched::Reached);
    assert_eq!(life.tracker().completed(), 1);
    assert_eq!(life.kill().unwrap(), Some(Window::Decided));
}

#[test]
fn what_was_written_before_the_death_counts_also_where_it_is_read_after() {
    // It goes on when the file `go` is there, and makes `done` when it has told of the decision.
    let text = "say begun 1; while [ ! -e $GO ]; do sleep 0.01; done\n\
                say preparing 1; say deciding 1; say decided 1; : > $DONE; exec sleep 60";
    let mut program = script("drain", text);
    let [go, done] = ["go", "done"].map(|name| program.log.with_file_name(name));
    for (name, path) in [("GO", &go), ("DONE", &done)] {
        // An earlier run of the same process id may have left it.
        let _ = std::fs::remove_file(path);
        program
            .environment
            .push((name.to_owned(), path.display().to_string()));
    }
    let (life, watched) = started(&program, aim(Window::Writing, 1));
    assert_eq!(watched, Watched::Reached);
    assert_eq!(life.tracker().window(), Window::Writing);
    std::fs::write(&go, "").unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !done.exists() {
        assert!(Instant::now() < deadline, "the script does not go on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(life.kill().unwrap(), Some(Window::Decided));
}

#[test]
fn a_kill_by_time_needs_no_line() {
    let delay = Duration::from_millis(300);
    let begin = Instant::now();
    let (life, watched) = started(&script("time", "exec sleep 60"), Aim::After(delay));
    assert_eq!(watched, Watched::Reached);
    assert!(begin.elapsed() >= delay);
    assert_eq!(life.kill().unwrap(), Some(Window::Idle));
}

#[test]
fn without_a_recovery_the_next_decision_is_hit() {
    let text = "echo '{\"phase\":\"recovering\",\"open\":0}' >&2; echo '{\"phase\":\"recovered\"}' >&2\n\
                say begun 1; say decided 1; exec sleep 60";
    let (life, _) = started(&script("recovery", text), aim(Window::Recovering, 1));
    assert_eq!(life.kill().unwrap(), Some(Window::Decided));
}

#[test]
fn a_program_that_ends_by_itself_is_told_from_a_killed_one() {
    let program = script("end", "say begun 1; exit 7");
    let (life, watched) = started(&program, aim(Window::Decided, 1));
    assert_eq!(watched, Watched::Ended);
    assert_eq!(life.finish(PATIENCE).unwrap().code(), Some(7));
    let error = program.output(PATIENCE).unwrap_err().to_string();
    assert!(
        error.contains("exit status: 7") && error.contains("begun"),
        "{error}"
    );
}

#[test]
fn sigterm_reaches_the_program_itself() {
    let text = "trap 'exit 5' TERM; say begun 1; while :; do sleep 0.05; done";
    let (life, _) = started(&script("term", text), aim(Window::Writing, 1));
    life.terminate().unwrap();
    assert_eq!(life.finish(PATIENCE).unwrap().code(), Some(5));
}

#[test]
fn one_that_does_not_end_in_time_is_killed_and_told() {
    let life = script("late", "exec sleep 60").start().unwrap();
    let pid = life.child.id();
    let error = life
        .finish(Duration::from_millis(200))
        .unwrap_err()
        .to_string();
    assert!(error.contains("has not ended"), "{error}");
    assert!(is_gone(pid));
}

#[test]
fn the_program_dies_with_its_caller() {
    let mut life = script("orphan", "say begun 1; exec sleep 60")
        .start()
        .unwrap();
    life.watch(aim(Window::Writing, 1), PATIENCE).unwrap();
    // The end of the pipe is all that the watcher sees of the caller's death.
    drop(life.child.stdin.take());
    let deadline = Instant::now() + PATIENCE;
    while !is_gone(life.child.id()) {
        assert!(Instant::now() < deadline, "the watcher kills it");
        std::thread::sleep(Duration::from_millis(10));
    }
    life.child.wait().unwrap();
}
