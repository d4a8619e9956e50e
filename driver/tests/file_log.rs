//! The file log on a real disk, with real processes: the lock, kills, modes and readers.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gtc::log::{
    DecisionLog, Durability, FileLog, FileLogOptions, LogError, LogErrorKind, LogWrite, Receipt,
    read_only,
};

/// Tells a copy of this program which directory to own.
const OWNER_DIRECTORY: &str = "GTC_TEST_LOG_DIRECTORY";

/// A directory of this test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("file-log-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options(directory: &Path) -> FileLogOptions {
    let mut options = FileLogOptions::new(directory, "alpha");
    options.segment_bytes = 64 << 10;
    options
}

fn append(log: &FileLog, entry: &[u8]) -> Receipt {
    let durability = Durability::Forced;
    log.submit(LogWrite::Append {
        entries: vec![entry.to_vec()],
        durability,
    })
}

/// Another process that owns a log and appends numbers, printing each when it is durable.
struct Owner {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    /// Starts this very test again, with the directory in its environment.
    fn start(test: &str, directory: &Path) -> Owner {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(OWNER_DIRECTORY, directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Owner { child, lines }
    }

    fn next_durable(&mut self) -> u64 {
        for line in &mut self.lines {
            if let Some(number) = line.unwrap().strip_prefix("durable ") {
                return number.parse().unwrap();
            }
        }
        panic!("the owner ended");
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Kills it and returns the last number that it called durable.
    fn kill(mut self, mut last: u64) -> u64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        for line in &mut self.lines {
            if let Some(number) = line.unwrap().strip_prefix("durable ") {
                last = number.parse().unwrap();
            }
        }
        last
    }
}

impl Drop for Owner {
    /// Leaves no process behind when a test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other process: never returns if it is one.
fn be_owner_if_told() {
    let Some(directory) = std::env::var_os(OWNER_DIRECTORY) else {
        return;
    };
    let (log, replay) = FileLog::open(options(Path::new(&directory))).unwrap();
    for number in replay.entries.len() as u64.. {
        append(&log, &number.to_le_bytes()).wait().unwrap();
        println!("durable {number}");
    }
}

#[test]
fn two_coordinators_cannot_own_one_log() {
    be_owner_if_told();
    let scratch = Scratch::new("two");
    let mut owner = Owner::start("two_coordinators_cannot_own_one_log", &scratch.log());
    owner.next_durable();
    for stopped in [false, true] {
        if stopped {
            owner.signal("-STOP");
        }
        let error = FileLog::open(options(&scratch.log()))
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Locked);
        let text = error.to_string();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(
            text.contains(&format!("process {}", owner.child.id())),
            "{text}"
        );
        assert!(
            text.contains(host.trim()) && text.contains("since"),
            "{text}"
        );
    }
    // Reading needs no lock.
    let replay = read_only(&scratch.log()).unwrap();
    assert_eq!(replay.identity.coordinator, "alpha");
    assert!(!replay.entries.is_empty());
    owner.signal("-KILL");
    owner.kill(0);
    FileLog::open(options(&scratch.log())).map(drop).unwrap();
}

#[test]
fn killed_at_any_moment_it_keeps_what_was_durable() {
    be_owner_if_told();
    let scratch = Scratch::new("kill");
    for round in 0..8 {
        let test = "killed_at_any_moment_it_keeps_what_was_durable";
        let mut owner = Owner::start(test, &scratch.log());
        let mut last = owner.next_durable();
        for _ in 0..100 * round {
            last = owner.next_durable();
        }
        let last = owner.kill(last);
        let (_log, replay) = FileLog::open(options(&scratch.log())).unwrap();
        let found = replay.entries.len() as u64;
        assert!(
            found > last && found <= last + 2,
            "{last} was durable, found {found}"
        );
        for (number, entry) in (0u64..).zip(&replay.entries) {
            assert_eq!(entry[..], number.to_le_bytes()[..]);
        }
    }
}

#[test]
fn directory_and_files_are_private() {
    let scratch = Scratch::new("modes");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::create_dir(scratch.log()).unwrap();
    let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
    append(&log, b"entry").wait().unwrap();
    assert_eq!(mode(&scratch.log()), 0o700);
    let files = || -> Vec<PathBuf> {
        let entries = fs::read_dir(scratch.log()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    assert_eq!(files().len(), 3, "{:?}", files());
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    // Opened by a hand, or by a copy: the next start closes them again.
    drop(log);
    for file in files() {
        fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
    }
    let (_log, replay) = FileLog::open(options(&scratch.log())).unwrap();
    assert_eq!(replay.entries.len(), 1);
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
}

#[test]
fn a_directory_of_other_things_is_refused() {
    let scratch = Scratch::new("strangers");
    fs::create_dir(scratch.log()).unwrap();
    fs::write(scratch.log().join("notes.txt"), "mine").unwrap();
    let error = FileLog::open(options(&scratch.log()))
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Foreign);
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(
        read_only(&scratch.log()).unwrap_err().kind(),
        LogErrorKind::Absent
    );
}

#[test]
fn a_copied_log_is_refused_until_it_is_adopted() {
    let scratch = Scratch::new("copy");
    let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
    append(&log, b"entry").wait().unwrap();
    let log_id = log.identity().log_id;
    drop(log);
    let copy = scratch.0.join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(scratch.log()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let error = FileLog::open(options(&copy)).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Moved);
    assert!(error.to_string().contains("another directory"), "{error}");
    let mut adopting = options(&copy);
    adopting.adopt = true;
    let (log, replay) = FileLog::open(adopting).unwrap();
    assert_eq!((log.identity().log_id, replay.entries.len()), (log_id, 1));
    // The original is not changed by any of it.
    assert_eq!(
        FileLog::open(options(&scratch.log())).unwrap().1.entries,
        replay.entries
    );
}

#[test]
fn a_reader_sees_a_consistent_log_while_its_owner_checkpoints() {
    let scratch = Scratch::new("reader");
    let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
    append(&log, &0u64.to_le_bytes()).wait().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..2000u64 {
                append(&log, &number.to_le_bytes()).wait().unwrap();
                if number % 20 == 0 {
                    let snapshot = vec![number.to_le_bytes().to_vec()];
                    log.submit(LogWrite::Checkpoint { snapshot })
                        .wait()
                        .unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let (mut last, mut reads) = (0, 0);
        while !done.load(Ordering::Acquire) {
            let replay = read_only(&scratch.log()).unwrap();
            let numbers: Vec<u64> = replay
                .entries
                .iter()
                .map(|entry| u64::from_le_bytes(entry[..].try_into().unwrap()))
                .collect();
            assert!(
                numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "{numbers:?}"
            );
            let newest = *numbers.last().unwrap();
            assert!(newest >= last, "{newest} after {last}");
            (last, reads) = (newest, reads + 1);
        }
        assert!(reads > 10, "only {reads} reads");
    });
}

#[tokio::test]
async fn a_closed_log_can_be_opened_at_once() {
    let scratch = Scratch::new("close");
    for round in 0..5 {
        let (log, replay) = FileLog::open(options(&scratch.log())).unwrap();
        assert_eq!(replay.entries.len(), round);
        append(&log, b"entry").await.unwrap();
        log.close().await.unwrap();
        // The old handle still exists while the next round opens the log.
        std::mem::forget(log);
    }
}

/// Case torn-log on a real file system: a cut between two records leaves nothing that looks torn.
#[test]
fn a_file_that_was_cut_between_two_records_refuses_the_start() {
    let scratch = Scratch::new("cut");
    let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
    for entry in [b"kept", b"lost"] {
        append(&log, entry).wait().unwrap();
    }
    drop(log);
    let files = fs::read_dir(scratch.log()).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let used = |path: &PathBuf| fs::read(path).unwrap().iter().rposition(|byte| *byte != 0);
    // The other segment is allocated ahead, and empty.
    let mut segments = paths.filter(|path| path.extension().is_some_and(|end| end == "segment"));
    let (last, path) = segments
        .find_map(|path| Some((used(&path)? as u64, path)))
        .unwrap();
    // The last frame: its entry, the length of that, and 40 bytes.
    let cut = last + 1 - 48;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(cut).unwrap();
    let error = FileLog::open(options(&scratch.log())).unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (LogErrorKind::Corrupt, Some(cut)),
        "{error}"
    );
    let error = read_only(&scratch.log()).unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (LogErrorKind::Corrupt, Some(cut)),
        "{error}"
    );
}

/// The error of the first write that is refused.
fn await_refusal(log: &FileLog) -> LogError {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Err(error) = append(log, b"more").wait() {
            return error;
        }
        assert!(Instant::now() < deadline, "nothing was noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Moves all files of a directory to another one.
fn move_files(log: &Path) -> std::io::Result<PathBuf> {
    let away = log.with_file_name("away");
    fs::create_dir(&away)?;
    for entry in fs::read_dir(log)? {
        let entry = entry?;
        fs::rename(entry.path(), away.join(entry.file_name()))?;
    }
    Ok(away)
}

/// Otherwise another owner could start in its place, and decisions would go where no start looks.
#[test]
fn a_log_that_is_taken_away_from_its_owner_accepts_nothing_any_more() {
    type Take = fn(&Path) -> std::io::Result<()>;
    const OTHER_FILE: &str = "this file was removed, moved or replaced";
    let ways: [(&str, Take, &str); 6] = [
        ("removed", |log| fs::remove_dir_all(log), "removed or moved"),
        (
            "moved",
            |log| fs::rename(log, log.with_file_name("elsewhere")),
            "removed or moved",
        ),
        (
            "replaced",
            |log| {
                fs::rename(log, log.with_file_name("elsewhere"))?;
                fs::create_dir(log)
            },
            "replaced by another",
        ),
        (
            "emptied",
            |log| {
                let mut entries = fs::read_dir(log)?;
                entries.try_for_each(|entry| fs::remove_file(entry?.path()))
            },
            OTHER_FILE,
        ),
        ("files moved", |log| move_files(log).map(drop), OTHER_FILE),
        (
            "files replaced",
            |log| {
                let away = move_files(log)?;
                // Of the same names and contents: a start would take them for the log.
                fs::read_dir(&away)?.try_for_each(|entry| {
                    let entry = entry?;
                    fs::copy(entry.path(), log.join(entry.file_name())).map(drop)
                })
            },
            OTHER_FILE,
        ),
    ];
    for (name, take, told) in ways {
        let scratch = Scratch::new(name);
        let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
        append(&log, b"one").wait().unwrap();
        take(&scratch.log()).unwrap();
        let error = await_refusal(&log);
        assert_eq!(error.kind(), LogErrorKind::Poisoned, "{name}: {error}");
        let text = error.to_string();
        for part in [told, "put it back", "docs/operations.md"] {
            assert!(text.contains(part), "{name}: no {part} in {text}");
        }
        // It stays so, whatever comes back.
        assert_eq!(
            append(&log, b"two").wait().unwrap_err().to_string(),
            text,
            "{name}"
        );
    }
}

/// Nobody may have to write for it to be noticed.
#[test]
fn an_idle_owner_notices_that_its_log_is_taken_away() {
    let scratch = Scratch::new("idle");
    let (log, _) = FileLog::open(options(&scratch.log())).unwrap();
    let away = scratch.0.join("away");
    fs::rename(scratch.log(), &away).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while log.failure().is_none() {
        assert!(Instant::now() < deadline, "nothing was noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Back again: what it had noticed in between stands.
    fs::rename(&away, scratch.log()).unwrap();
    let error = append(&log, b"one").wait().unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Poisoned, "{error}");
    drop(log);
    let (log, replay) = FileLog::open(options(&scratch.log())).unwrap();
    assert!(replay.entries.is_empty());
    append(&log, b"two").wait().unwrap();
}
