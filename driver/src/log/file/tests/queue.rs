//! The queue and its thread: order, group commit, lazy entries, poison, close.

use std::time::{Duration, Instant};

use super::disk::{Crash, Disk};
use super::{SEGMENT_BYTES, open, texts};
use crate::log::file::FileLog;
use crate::log::file::storage::Storage;
use crate::log::{DecisionLog, Durability, LogErrorKind, LogWrite, Receipt};

fn start(disk: &Disk) -> FileLog {
    let (engine, replay) = open(disk).unwrap();
    FileLog::start(replay.identity, engine, None).unwrap()
}

fn submit(log: &FileLog, entry: &[u8], durability: Durability) -> Receipt {
    log.submit(LogWrite::Append {
        entries: vec![entry.to_vec()],
        durability,
    })
}

fn forced(log: &FileLog, entry: &[u8]) -> Receipt {
    submit(log, entry, Durability::Forced)
}

#[test]
fn one_sync_serves_all_that_waited() {
    let disk = Disk::default();
    let log = start(&disk);
    let writes = disk.writes();
    disk.close_gate();
    let first = forced(&log, b"0");
    while disk.writes() == writes {
        std::thread::yield_now();
    }
    // The first sync hangs; all that comes now gathers for the second.
    let receipts: Vec<Receipt> = (1..=20u8)
        .map(|number| forced(&log, &[b'0' + number]))
        .collect();
    disk.open_gate();
    first.wait().unwrap();
    receipts
        .into_iter()
        .for_each(|receipt| receipt.wait().unwrap());
    assert_eq!(disk.writes(), writes + 2);
    let expected: Vec<Vec<u8>> = (0..=20).map(|number| vec![b'0' + number]).collect();
    assert_eq!(
        texts(&open(&disk.after(Crash::LoseAll)).unwrap().1),
        expected
    );
}

#[test]
fn a_batch_is_no_larger_than_a_segment() {
    let disk = Disk::default();
    let log = start(&disk);
    let writes = disk.writes();
    disk.close_gate();
    let first = forced(&log, b"0");
    while disk.writes() == writes {
        std::thread::yield_now();
    }
    let receipts: Vec<Receipt> = (0..20u8).map(|fill| forced(&log, &[fill; 1000])).collect();
    disk.open_gate();
    first.wait().unwrap();
    receipts
        .into_iter()
        .for_each(|receipt| receipt.wait().unwrap());
    drop(log);
    for name in disk.names() {
        assert_eq!(
            disk.read(&name).unwrap().len(),
            SEGMENT_BYTES as usize,
            "{name}"
        );
    }
    assert_eq!(open(&disk).unwrap().1.entries.len(), 21);
}

#[test]
fn a_lazy_entry_rides_on_the_next_forced_one() {
    let disk = Disk::default();
    let log = start(&disk);
    let writes = disk.writes();
    let lazy = submit(&log, b"lazy", Durability::Lazy);
    let forced = forced(&log, b"forced");
    forced.wait().unwrap();
    lazy.wait().unwrap();
    // A machine that stalls for 50 ms between the two submits would make it two.
    assert!(disk.writes() <= writes + 2);
    let (_, replay) = open(&disk.after(Crash::LoseAll)).unwrap();
    assert_eq!(texts(&replay), [b"lazy".to_vec(), b"forced".to_vec()]);
}

#[test]
fn a_lazy_entry_is_durable_after_50_ms_at_the_latest() {
    let disk = Disk::default();
    let log = start(&disk);
    let started = Instant::now();
    let first = submit(&log, b"one", Durability::Lazy);
    let second = submit(&log, b"two", Durability::Lazy);
    first.wait().unwrap();
    let waited = started.elapsed();
    second.wait().unwrap();
    assert!(waited >= Duration::from_millis(50), "{waited:?}");
    assert!(waited < Duration::from_secs(5), "{waited:?}");
}

#[test]
fn a_failed_sync_poisons_the_log() {
    let disk = Disk::default();
    let log = start(&disk);
    forced(&log, b"good").wait().unwrap();
    let writes = disk.writes();
    disk.close_gate();
    disk.fail_sync(1);
    let failing = forced(&log, b"bad");
    while disk.writes() == writes {
        std::thread::yield_now();
    }
    let waiting = forced(&log, b"behind");
    disk.open_gate();
    let error = failing.wait().unwrap_err();
    assert_eq!(
        (error.kind(), error.is_unwritten()),
        (LogErrorKind::Io, false)
    );
    let error = waiting.wait().unwrap_err();
    assert_eq!(
        (error.kind(), error.is_unwritten()),
        (LogErrorKind::Poisoned, true)
    );
    // The disk works again, but this log does not.
    for durability in [Durability::Forced, Durability::Lazy] {
        let error = submit(&log, b"later", durability).wait().unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Poisoned);
        assert!(error.to_string().contains("a bad sector"), "{error}");
    }
    log.close().wait().unwrap();
    let found = texts(&open(&disk.after(Crash::LoseAll)).unwrap().1);
    assert_eq!(found, [b"good".to_vec()]);
}

#[test]
fn a_full_disk_refuses_and_then_goes_on() {
    let disk = Disk::default();
    let log = start(&disk);
    disk.set_room(Some(disk.used_bytes()));
    let entry = [7; 3000];
    forced(&log, &entry).wait().unwrap();
    for _ in 0..2 {
        let error = forced(&log, &entry).wait().unwrap_err();
        assert_eq!(
            (error.kind(), error.is_unwritten()),
            (LogErrorKind::Full, true)
        );
    }
    disk.set_room(None);
    forced(&log, &entry).wait().unwrap();
    assert_eq!(
        open(&disk.after(Crash::LoseAll)).unwrap().1.entries.len(),
        2
    );
}

#[test]
fn a_checkpoint_keeps_its_place_in_the_order() {
    let disk = Disk::default();
    let log = start(&disk);
    let before = submit(&log, b"before", Durability::Lazy);
    let checkpoint = log.submit(LogWrite::Checkpoint {
        snapshot: vec![b"snapshot".to_vec()],
    });
    let after = forced(&log, b"after");
    for receipt in [before, checkpoint, after] {
        receipt.wait().unwrap();
    }
    assert!(log.grown_bytes() > 0 && log.grown_bytes() < 100);
    let (_, replay) = open(&disk.after(Crash::LoseAll)).unwrap();
    assert_eq!(texts(&replay), [b"snapshot".to_vec(), b"after".to_vec()]);
}

#[test]
fn close_writes_what_was_submitted_and_refuses_the_rest() {
    let disk = Disk::default();
    let log = start(&disk);
    let lazy = submit(&log, b"lazy", Durability::Lazy);
    log.close().wait().unwrap();
    lazy.wait().unwrap();
    assert_eq!(
        forced(&log, b"late").wait().unwrap_err().kind(),
        LogErrorKind::Closed
    );
    log.close().wait().unwrap();
    assert_eq!(
        texts(&open(&disk.after(Crash::LoseAll)).unwrap().1),
        [b"lazy".to_vec()]
    );
}

#[test]
fn dropping_the_log_writes_what_was_submitted() {
    let disk = Disk::default();
    let log = start(&disk);
    let lazy = submit(&log, b"lazy", Durability::Lazy);
    drop(log);
    lazy.wait().unwrap();
    assert_eq!(
        texts(&open(&disk.after(Crash::LoseAll)).unwrap().1),
        [b"lazy".to_vec()]
    );
}

#[test]
fn an_entry_beyond_the_limit_is_refused() {
    let disk = Disk::default();
    let log = start(&disk);
    let error = forced(&log, &vec![0; 17 << 20]).wait().unwrap_err();
    assert_eq!(
        (error.kind(), error.is_unwritten()),
        (LogErrorKind::TooLarge, true)
    );
    forced(&log, b"small").wait().unwrap();
}
