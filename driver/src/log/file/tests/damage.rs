//! Every byte flipped, every place cut: the case torn-log.

use std::io;
use std::sync::Arc;

use super::disk::{Crash, Disk};
use super::{append, open, options, place, texts};
use crate::log::LogErrorKind;
use crate::log::file::engine::NUMBERS_END;
use crate::log::file::format::{Frame, FrameKind, FrameWriter, HEADER_BYTES, SegmentHeader};
use crate::log::file::open_engine;
use crate::log::file::reader::segment_name;
use crate::log::file::storage::Storage;
use crate::said_once::assert_said_once;

/// Two segments with frames that lie within, at and across the borders of sectors.
fn written() -> (Disk, Vec<Vec<u8>>) {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    let sizes = [20, 300, 3, 700, 1, 512, 900, 40, 430, 500, 77];
    let entries: Vec<Vec<u8>> = sizes
        .into_iter()
        .zip(1..)
        .map(|(bytes, fill)| vec![fill; bytes])
        .collect();
    for entry in &entries {
        append(&mut engine, std::slice::from_ref(entry)).unwrap();
        engine.allocate_ahead().unwrap();
    }
    (disk, entries)
}

/// The files with content, in order, and the length of that content.
fn contents(disk: &Disk) -> Vec<(String, usize)> {
    let lengths = disk.names().into_iter().map(|name| {
        let bytes = disk.read(&name).unwrap();
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        (name, used)
    });
    lengths.filter(|(_, used)| *used > 0).collect()
}

#[test]
fn no_flipped_byte_goes_unnoticed_or_costs_an_entry() {
    let (disk, entries) = written();
    let files = contents(&disk);
    assert_eq!(files.len(), 2, "{files:?}");
    for (index, (name, used)) in files.iter().enumerate() {
        // Bytes behind the last frame of all are free for the next one: there a flip is cut off.
        let free = if index == 1 { *used } else { 4096 };
        for offset in (0..used + 600).filter(|offset| *offset < 4096) {
            for mask in [0x01, 0x10, 0x80, 0xff] {
                check_flip(&disk, &entries, name, (offset, mask, free));
            }
        }
    }
}

fn check_flip(
    disk: &Disk,
    entries: &[Vec<u8>],
    name: &str,
    (offset, mask, free): (usize, u8, usize),
) {
    disk.edit(name, |bytes| bytes[offset] ^= mask);
    let context = format!("{name} byte {offset} mask {mask:#x}");
    let operations = disk.operations();
    match crate::log::file::read_log(disk) {
        Ok(found) => {
            assert!(offset >= free, "{context}: went unnoticed");
            assert_eq!(found.entries, entries, "{context}");
        }
        Err(error) => {
            assert_eq!(error.kind(), LogErrorKind::Corrupt, "{context}: {error}");
            assert_said_once(&error.to_string());
            assert!(
                error.path().is_some_and(|path| path.ends_with(name)),
                "{context}: {error}"
            );
            let place = error.offset().unwrap();
            assert!(place <= offset as u64, "{context}: {error}");
            // Opening changes nothing either.
            assert!(open(disk).is_err());
            assert_eq!(
                disk.operations(),
                operations,
                "{context}: something was written"
            );
        }
    }
    disk.edit(name, |bytes| bytes[offset] ^= mask);
}

/// Where the frames of the last file start, with the number of entries before each.
fn frame_starts(entries: &[Vec<u8>], used: usize) -> Vec<(usize, usize)> {
    let mut starts = vec![(used, entries.len())];
    for (index, entry) in entries.iter().enumerate().rev() {
        let start = starts.last().unwrap().0 - (entry.len() + 44);
        starts.push((start, index));
        if start == HEADER_BYTES {
            break;
        }
    }
    starts
}

#[test]
fn a_log_cut_anywhere_in_its_last_file_keeps_all_whole_frames() {
    let (disk, entries) = written();
    let (name, used) = contents(&disk).pop().unwrap();
    let starts = frame_starts(&entries, used);
    for length in HEADER_BYTES..4096 {
        let copy = disk.after(Crash::Process);
        copy.edit(&name, |bytes| bytes[length..].fill(0));
        let (start, kept) = *starts
            .iter()
            .find(|(start, _)| *start <= length.min(used))
            .unwrap();
        let (mut engine, replay) = open(&copy).unwrap();
        assert_eq!(texts(&replay), entries[..kept], "cut at {length}");
        let cut = replay
            .cut_tail
            .map(|tail| (tail.file, tail.offset as usize));
        let expected = (start < length && length < used).then(|| (name.clone(), start));
        assert_eq!(cut, expected, "cut at {length}");
        // What is appended next follows what was kept.
        append(&mut engine, &[b"next".to_vec()]).unwrap();
        let (_, replay) = open(&copy).unwrap();
        assert_eq!(replay.entries.len(), kept + 1, "cut at {length}");
        assert_eq!(replay.entries[kept][..], b"next"[..], "cut at {length}");
    }
}

/// No crash makes a file shorter than it was before its header was written, so that also a cut between
/// two frames shows.
#[test]
fn a_file_that_was_cut_is_damage_wherever_it_was_cut() {
    let (disk, _) = written();
    for (name, _) in contents(&disk) {
        for length in 1..4096 {
            let copy = disk.after(Crash::Process);
            copy.edit(&name, |bytes| bytes.truncate(length));
            let error = open(&copy).map(drop).unwrap_err();
            assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
            assert!(error.path().is_some_and(|path| path.ends_with(&name)));
            let place = if length < HEADER_BYTES { 0 } else { length };
            assert_eq!(error.offset(), Some(place as u64), "{error}");
            assert_said_once(&error.to_string());
        }
    }
}

/// A log of version 1 does not say how long its files are; a start writes it anew.
#[test]
fn a_log_of_the_first_version_opens_and_becomes_one_of_this() {
    let (disk, entries) = written();
    let names: Vec<String> = contents(&disk).into_iter().map(|(name, _)| name).collect();
    for name in &names {
        disk.edit(name, |bytes| {
            bytes[56..64].fill(0);
            SegmentHeader::set_version(bytes, 1);
        });
    }
    let (engine, replay) = open(&disk).unwrap();
    assert_eq!(texts(&replay), entries);
    drop(engine);
    for (name, _) in contents(&disk) {
        assert!(!names.contains(&name), "{name} is still there");
        let header = SegmentHeader::decode(&disk.read(&name).unwrap()).unwrap();
        assert_eq!(header.bytes, 4096);
    }
    assert_eq!(texts(&open(&disk).unwrap().1), entries);
}

#[test]
fn a_cut_before_later_frames_is_damage() {
    let (disk, entries) = written();
    let (name, used) = contents(&disk).remove(0);
    // Below the header it is a file that was never begun, found as a missing one.
    for length in 0..4096 {
        let copy = disk.after(Crash::Process);
        copy.edit(&name, |bytes| bytes[length..].fill(0));
        match open(&copy) {
            Ok((_, replay)) => {
                assert!(length >= used, "cut at {length} went unnoticed");
                assert_eq!(texts(&replay), entries);
            }
            Err(error) => assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}"),
        }
    }
}

#[test]
fn a_hole_before_a_later_frame_is_damage() {
    let (disk, _) = written();
    let (name, used) = contents(&disk).pop().unwrap();
    let error = {
        disk.edit(&name, |bytes| bytes[HEADER_BYTES..used - 121].fill(0));
        open(&disk).map(drop).unwrap_err()
    };
    assert_eq!(
        (error.kind(), error.offset()),
        (LogErrorKind::Corrupt, Some(512))
    );
    assert!(error.to_string().contains("later good one"), "{error}");
}

/// The last file, and where its frames start.
fn last_file(disk: &Disk, entries: &[Vec<u8>]) -> (String, Vec<(usize, usize)>) {
    let (name, used) = contents(disk).pop().unwrap();
    (name, frame_starts(entries, used))
}

#[test]
fn a_segment_begun_after_a_lost_tail_is_damage() {
    let (disk, entries) = written();
    let (last, _) = last_file(&disk, &entries);
    let (first, used) = contents(&disk).remove(0);
    // The last segment has a header but no frame, as if that write was cut; but the header
    // tells of a frame before it, which is gone.
    disk.edit(&last, |bytes| bytes[HEADER_BYTES..].fill(0));
    assert_eq!(open(&disk.after(Crash::Process)).unwrap().1.cut_tail, None);
    let frame = frame_starts(&entries[..9], used)[1].0;
    disk.edit(&first, |bytes| bytes[frame..].fill(0));
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn a_checkpoint_begun_after_a_lost_tail_is_damage() {
    let (disk, entries) = written();
    // The owner dies after the first of two parts of a checkpoint.
    let (mut engine, _) = open(&disk).unwrap();
    append(&mut engine, &[vec![8; 100]]).unwrap();
    engine.allocate_ahead().unwrap();
    disk.crash_after(5);
    engine.checkpoint(&vec![vec![9; 3000]; 2]).unwrap_err();
    let disk = disk.after(Crash::Process);
    assert_eq!(
        open(&disk.after(Crash::Process)).unwrap().1.entries.len(),
        entries.len() + 1
    );
    // The newest entry before that checkpoint vanishes.
    let (name, used) = contents(&disk).remove(1);
    disk.edit(&name, |bytes| bytes[used - 144..].fill(0));
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("ends before"), "{error}");
}

#[test]
fn no_old_or_foreign_frame_passes_for_the_next_one() {
    let (disk, entries) = written();
    let (name, starts) = last_file(&disk, &entries);
    let (tail, first) = (starts[0].0, starts[1].0);
    let other = written().0;
    for source in [&disk, &other] {
        let frame = source.read(&name).unwrap()[first..tail].to_vec();
        let copy = disk.after(Crash::Process);
        copy.edit(&name, |bytes| {
            bytes[tail..tail + frame.len()].copy_from_slice(&frame)
        });
        let error = open(&copy).map(drop).unwrap_err();
        assert_eq!(
            (error.kind(), error.offset()),
            (LogErrorKind::Corrupt, Some(tail as u64))
        );
    }
    // A frame of another log with exactly the number that is due next.
    let due = {
        let (mut engine, _) = open(&other).unwrap();
        append(&mut engine, &[vec![1; 50]]).unwrap();
        other
            .read(contents(&other).last().unwrap().0.as_str())
            .unwrap()
    };
    let copy = Disk::default();
    drop(open(&copy).unwrap());
    let (name, used) = contents(&copy).pop().unwrap();
    copy.edit(&name, |bytes| {
        bytes[used..used + 94].copy_from_slice(&due[HEADER_BYTES..606])
    });
    let error = open(&copy).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
}

#[test]
fn a_body_under_another_frames_head_is_damage() {
    let disk = Disk::default();
    let (mut engine, _) = open(&disk).unwrap();
    for fill in [1, 2, 3] {
        append(&mut engine, &[vec![fill; 56]]).unwrap();
    }
    let (name, used) = contents(&disk).pop().unwrap();
    // The last two frames have 100 bytes each, of which 32 are the head.
    disk.edit(&name, |bytes| {
        bytes.copy_within(used - 168..used - 100, used - 68)
    });
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (LogErrorKind::Corrupt, Some(used as u64 - 100))
    );
}

#[test]
fn a_missing_file_is_damage() {
    let (disk, _) = written();
    let (name, _) = contents(&disk).remove(0);
    disk.remove(&name).unwrap();
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
}

#[test]
fn a_segment_under_another_name_is_damage() {
    let (disk, _) = written();
    let (name, _) = contents(&disk).remove(0);
    disk.copy_file(&name, "00000000000000000099.segment");
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
}

#[test]
fn an_unknown_version_is_refused() {
    let (disk, _) = written();
    let (name, _) = contents(&disk).remove(0);
    disk.edit(&name, |bytes| SegmentHeader::set_version(bytes, 3));
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Unsupported);
    assert!(error.to_string().contains("version 3"), "{error}");
}

#[test]
fn another_coordinators_log_is_refused() {
    let (disk, _) = written();
    let operations = disk.operations();
    let mut options = options();
    options.coordinator = "beta".to_owned();
    let outcome = open_engine(Arc::new(disk.clone()), &options, place());
    let error = outcome.map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Foreign);
    assert!(
        error.to_string().contains("\"alpha\", not to \"beta\""),
        "{error}"
    );
    assert_eq!(disk.operations(), operations);
}

#[test]
fn a_moved_log_is_refused_until_it_is_adopted() {
    let (disk, entries) = written();
    let mut elsewhere = place();
    elsewhere.inode += 1;
    let mut options = options();
    let storage = Arc::new(disk.clone());
    let error = open_engine(storage.clone(), &options, elsewhere.clone())
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Moved, "{error}");
    options.adopt = true;
    let (_, replay) = open_engine(storage.clone(), &options, elsewhere.clone()).unwrap();
    assert_eq!(texts(&replay), entries);
    // Adopted for good; the old place is now the wrong one.
    options.adopt = false;
    assert!(open_engine(storage.clone(), &options, elsewhere).is_ok());
    let error = open_engine(storage, &options, place())
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Moved, "{error}");
}

/// A log of one segment, sound but for its numbers.
fn log_with_numbers(segment: u64, sequence: u64) -> Disk {
    let identity = open(&Disk::default()).unwrap().1.identity;
    let log_id = identity.log_id;
    let header = SegmentHeader {
        identity,
        place: place(),
        segment,
        starts_snapshot: true,
        bytes: 0,
        first_sequence: sequence,
    };
    let mut bytes = header.encode().to_vec();
    let mut writer = FrameWriter::new(&mut bytes);
    writer.push(b"entry");
    let kind = FrameKind::SnapshotEnd;
    let frame = Frame {
        kind,
        part: 0,
        sequence,
    };
    writer.finish(frame, log_id);
    let disk = Disk::default();
    write_file(&disk, &segment_name(segment), &bytes).unwrap();
    disk
}

fn write_file(disk: &Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = disk.create(name)?;
    file.allocate(bytes.len() as u64)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    disk.sync_directory()
}

/// Found by the fuzz target `segment`: counting on overflowed.
#[test]
fn numbers_that_no_log_reaches_are_refused() {
    let (_, replay) = open(&log_with_numbers(9, 77)).unwrap();
    assert_eq!(texts(&replay), [b"entry"]);
    for (segment, sequence) in [
        (9, u64::MAX),
        (9, u64::MAX - 1),
        (9, NUMBERS_END),
        (u64::MAX, 77),
        (NUMBERS_END, 77),
    ] {
        let disk = log_with_numbers(segment, sequence);
        let storage = Arc::new(disk.clone());
        let Err(error) = open_engine(storage, &options(), place()) else {
            panic!("segment {segment}, frame {sequence} opened");
        };
        assert_eq!(error.kind(), LogErrorKind::Corrupt, "{error}");
    }
}
