//! Every byte flipped, every place cut: the case torn-log.

use super::disk::Disk;
use super::{append, open, options, place, texts};
use crate::log::LogErrorKind;
use crate::log::file::format::{HEADER_BYTES, SegmentHeader};
use crate::log::file::open_engine;

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
        let bytes = crate::log::file::storage::Storage::read(disk, &name).unwrap();
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
        for shorten in [false, true] {
            let copy = disk.after(super::disk::Crash::Process);
            copy.edit(&name, |bytes| {
                bytes.truncate(length);
                if !shorten {
                    bytes.resize(4096, 0);
                }
            });
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
}

#[test]
fn a_cut_before_later_frames_is_damage() {
    let (disk, entries) = written();
    let (name, used) = contents(&disk).remove(0);
    // Below the header it is a file that was never begun, found as a missing one.
    for length in 0..4096 {
        let copy = disk.after(super::disk::Crash::Process);
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

#[test]
fn a_missing_file_is_damage() {
    let (disk, _) = written();
    let (name, _) = contents(&disk).remove(0);
    crate::log::file::storage::Storage::remove(&disk, &name).unwrap();
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
    disk.edit(&name, |bytes| SegmentHeader::set_version(bytes, 2));
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Unsupported);
    assert!(error.to_string().contains("version 2"), "{error}");
}

#[test]
fn another_coordinators_log_is_refused() {
    let (disk, _) = written();
    let operations = disk.operations();
    let mut options = options();
    options.coordinator = "beta".to_owned();
    let outcome = open_engine(std::sync::Arc::new(disk.clone()), &options, place());
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
    let storage = std::sync::Arc::new(disk.clone());
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
