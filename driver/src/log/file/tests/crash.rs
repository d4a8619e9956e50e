//! Crashes after each single operation of appends, checkpoints and recovery itself.

use super::disk::{CRASHES, Crash, Disk};
use super::{SEGMENT_BYTES, append, open, texts};
use crate::log::LogErrorKind;
use crate::log::file::engine::Engine;

type Entries = Vec<Vec<u8>>;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Appends that many entries of that size.
    Append(usize, usize),
    /// Replaces everything by that many entries of that size.
    Checkpoint(usize, usize),
}

/// Small and large appends, rolls, and snapshots of none, one and several segments.
const SCRIPT: [Step; 11] = [
    Step::Append(1, 10),
    Step::Append(3, 700),
    Step::Append(1, 3000),
    Step::Append(2, 0),
    Step::Checkpoint(2, 300),
    Step::Append(1, 5000),
    Step::Append(1, 40),
    Step::Checkpoint(5, 1500),
    Step::Append(2, 90),
    Step::Checkpoint(0, 0),
    Step::Append(1, 1800),
];

fn entries(step: usize, count: usize, bytes: usize) -> Entries {
    (0..count)
        .map(|index| vec![(16 * step + index + 1) as u8; bytes])
        .collect()
}

/// What the log holds after each number of steps.
fn states() -> Vec<Entries> {
    let mut states = vec![Entries::new()];
    for (index, step) in SCRIPT.into_iter().enumerate() {
        let next = match step {
            Step::Append(count, bytes) => {
                [states[index].clone(), entries(index, count, bytes)].concat()
            }
            Step::Checkpoint(count, bytes) => entries(index, count, bytes),
        };
        states.push(next);
    }
    states
}

/// Runs steps until one fails; returns how many were acknowledged.
fn run(engine: &mut Engine, from: usize) -> usize {
    for (index, step) in SCRIPT.into_iter().enumerate().skip(from) {
        let outcome = match step {
            Step::Append(count, bytes) => append(engine, &entries(index, count, bytes)),
            Step::Checkpoint(count, bytes) => engine.checkpoint(&entries(index, count, bytes)),
        };
        if outcome.and_then(|()| engine.allocate_ahead()).is_err() {
            return index;
        }
    }
    SCRIPT.len()
}

/// Opens the log and finds out which of the allowed states it is in.
fn reopened(disk: &Disk, acknowledged: usize, context: &str) -> usize {
    let (_, replay) = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    position(&texts(&replay), acknowledged, context)
}

fn position(found: &Entries, acknowledged: usize, context: &str) -> usize {
    // The step under way may have become durable or not; an acknowledged one must have.
    let states = states();
    let allowed = acknowledged..=(acknowledged + 1).min(SCRIPT.len());
    // The later state is preferred where two are equal.
    let position = allowed.rev().find(|position| states[*position] == *found);
    position.unwrap_or_else(|| {
        let lengths: Vec<usize> = found.iter().map(Vec::len).collect();
        panic!("{context}: {acknowledged} steps acknowledged, found entries of {lengths:?}")
    })
}

/// The disk as it is when the power goes off after `operations` changes.
fn crashed_after(operations: usize) -> (Disk, usize) {
    let disk = Disk::default();
    disk.crash_after(operations);
    let acknowledged = open(&disk).map_or(0, |(mut engine, _)| run(&mut engine, 0));
    (disk, acknowledged)
}

#[test]
fn every_crash_keeps_what_was_acknowledged_and_invents_nothing() {
    let mut operations = 0;
    loop {
        let (disk, acknowledged) = crashed_after(operations);
        for crash in CRASHES {
            let context = format!("{crash:?} after {operations} operations");
            let after = disk.after(crash);
            let position = reopened(&after, acknowledged, &context);
            // What recovery handed out is durable, whatever happens next (rule R1).
            let lost = after.after(Crash::LoseAll);
            let again = reopened(&lost, position, &context);
            assert_eq!(states()[again], states()[position], "{context}: taken back");
        }
        if !disk.crashed() {
            break;
        }
        operations += 1;
    }
    assert!(
        operations > 50,
        "the script has only {operations} operations"
    );
}

#[test]
fn every_crash_of_recovery_can_be_recovered() {
    // All of the making of a log, and then every third operation, for the sake of time.
    for operations in (0..).filter(|operations| *operations < 20 || operations % 3 == 0) {
        let (disk, acknowledged) = crashed_after(operations);
        for first in CRASHES {
            let context = format!("{first:?} after {operations}");
            crash_recovery(&disk.after(first), acknowledged, &context);
        }
        if !disk.crashed() {
            break;
        }
    }
}

/// Recovers again and again, with a crash of each kind after each operation.
fn crash_recovery(disk: &Disk, acknowledged: usize, context: &str) {
    for operations in 0.. {
        let recovering = disk.after(Crash::Process);
        recovering.crash_after(operations);
        let outcome = open(&recovering);
        if !recovering.crashed() {
            assert!(outcome.is_ok(), "{context}");
            return;
        }
        for crash in CRASHES {
            let context = format!("{context}, then {crash:?} after {operations}");
            reopened(&recovering.after(crash), acknowledged, &context);
        }
    }
}

#[test]
fn the_log_goes_on_after_a_crash() {
    let (disk, acknowledged) = crashed_after(30);
    let after = disk.after(Crash::Torn(1));
    let (mut engine, replay) = open(&after).unwrap();
    let position = position(&texts(&replay), acknowledged, "before");
    assert_eq!(run(&mut engine, position), SCRIPT.len());
    let (_, replay) = open(&after.after(Crash::LoseAll)).unwrap();
    assert_eq!(texts(&replay), states()[SCRIPT.len()]);
}

#[test]
fn after_a_failed_sync_nothing_read_from_the_cache_counts() {
    for number in 1.. {
        let disk = Disk::default();
        disk.fail_sync(number);
        let acknowledged = open(&disk).map_or(0, |(mut engine, _)| run(&mut engine, 0));
        if !disk.sync_failed() {
            assert!(number > 20, "only {number} syncs");
            return;
        }
        // The process starts again and reads pages that the disk never got.
        let context = format!("sync {number} failed");
        let restarted = disk.after(Crash::Process);
        let position = reopened(&restarted, acknowledged, &context);
        let again = reopened(&restarted.after(Crash::LoseAll), position, &context);
        assert_eq!(states()[again], states()[position], "{context}: taken back");
    }
}

#[test]
fn log_disk_full_is_a_no_before_anything_is_written() {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    disk.set_room(Some(disk.used_bytes()));
    let entry = vec![vec![1; 1000]];
    let mut accepted = 0;
    let error = loop {
        let writes = disk.writes();
        match append(&mut engine, &entry).and_then(|()| engine.allocate_ahead()) {
            Ok(()) => accepted += 1,
            Err(error) => {
                assert_eq!(disk.writes(), writes, "a refused append wrote something");
                break error;
            }
        }
    };
    assert_eq!(error.kind(), LogErrorKind::Full);
    assert!(
        error.is_unwritten() && error.to_string().contains("remedy"),
        "{error}"
    );
    // What the segment had room for; the one allocated ahead is kept for a checkpoint.
    assert_eq!(accepted, 3);
    // A checkpoint that needs more room is refused too, and leaves no file behind.
    disk.set_room(Some(disk.used_bytes() + 3 * SEGMENT_BYTES as usize));
    let files = disk.names().len();
    let error = engine.checkpoint(&vec![vec![2; 3000]; 5]).unwrap_err();
    assert_eq!(
        (error.kind(), disk.names().len()),
        (LogErrorKind::Full, files)
    );
    // It goes on by itself when there is room, and nothing is lost or added.
    disk.set_room(None);
    append(&mut engine, &entry).unwrap();
    let (_, replay) = open(&disk.after(Crash::LoseAll)).unwrap();
    assert_eq!(texts(&replay), vec![vec![1; 1000]; 4]);
}

#[test]
fn a_log_on_a_full_disk_opens_and_a_checkpoint_makes_room() {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    disk.set_room(Some(disk.used_bytes() + SEGMENT_BYTES as usize));
    let entry = [vec![1; 1000]];
    let mut accepted = 0;
    while append(&mut engine, &entry).is_ok() {
        accepted += 1;
    }
    assert_eq!(accepted, 6);
    // The snapshot goes to the segment kept for it, and the old segments make room.
    engine.checkpoint(&[vec![3; 1000]]).unwrap();
    engine.allocate_ahead().unwrap();
    while append(&mut engine, &entry).is_ok() {
        accepted += 1;
    }
    assert_eq!(accepted, 6 + 5);
    engine.checkpoint(&[vec![4; 30]]).unwrap();
    engine.allocate_ahead().unwrap();
    drop(engine);
    disk.set_room(Some(disk.used_bytes()));
    let (_, replay) = open(&disk).map_err(|error| error.to_string()).unwrap();
    assert_eq!(texts(&replay), [vec![4; 30]]);
}

#[test]
fn a_checkpoint_removes_old_segments() {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    for _ in 0..20 {
        append(&mut engine, &[vec![1; 1000]]).unwrap();
        engine.allocate_ahead().unwrap();
    }
    assert!(disk.names().len() > 6 && engine.grown_bytes() > 20_000);
    engine.checkpoint(&[vec![2; 10]]).unwrap();
    engine.allocate_ahead().unwrap();
    assert_eq!((disk.names().len(), engine.grown_bytes()), (2, 0));
}

/// A whole log is not rewritten by each start, and what it grew by counts on.
#[test]
fn a_start_goes_on_behind_the_last_frame() {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    append(&mut engine, &[vec![1; 700]]).unwrap();
    let grown = engine.grown_bytes();
    let restarted = disk.after(Crash::Process);
    let (mut engine, _) = open(&restarted).unwrap();
    assert_eq!(restarted.names()[0], disk.names()[0]);
    assert_eq!(engine.grown_bytes(), grown);
    append(&mut engine, &[vec![2; 700]]).unwrap();
    assert_eq!(engine.grown_bytes(), 2 * grown);
    let (_, replay) = open(&restarted.after(Crash::LoseAll)).unwrap();
    assert_eq!(texts(&replay), [vec![1; 700], vec![2; 700]]);
}
