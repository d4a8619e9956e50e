//! Opens logs of any bytes, in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::engine::{Engine, Setup};
use super::format::{Frame, FrameKind, FrameWriter, HEADER_BYTES, Place, SegmentHeader};
use super::reader::{read_log, segment_name};
use super::storage::{Storage, StorageFile};
use crate::log::LogIdentity;

const SEGMENT_BYTES: u64 = 4096;
const FRAME_KINDS: [FrameKind; 3] = [
    FrameKind::Append,
    FrameKind::Snapshot,
    FrameKind::SnapshotEnd,
];

/// A segment that is well formed by itself, whatever its numbers say.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The number in its header.
    pub number: u64,
    /// It starts a snapshot.
    pub starts_snapshot: bool,
    /// The number of its first frame.
    pub first_sequence: u64,
    /// Its log.
    pub log_id: u64,
    /// Kind (modulo three), part, sequence and entries of each frame.
    pub frames: Vec<(u8, u32, u64, Vec<Vec<u8>>)>,
    /// Zeros at the end.
    pub padding: usize,
}

impl Segment {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let header = SegmentHeader {
            identity: identity(self.log_id),
            place: place(),
            segment: self.number,
            starts_snapshot: self.starts_snapshot,
            first_sequence: self.first_sequence,
            // At least, so that what there is of the file is all that it ever was.
            bytes: HEADER_BYTES as u64,
        };
        let mut bytes = header.encode().to_vec();
        for (kind, part, sequence, entries) in &self.frames {
            let mut writer = FrameWriter::new(&mut bytes);
            entries.iter().for_each(|entry| writer.push(entry));
            let frame = Frame {
                kind: FRAME_KINDS[usize::from(*kind) % FRAME_KINDS.len()],
                part: *part,
                sequence: *sequence,
            };
            writer.finish(frame, self.log_id);
        }
        bytes.resize(bytes.len() + self.padding, 0);
        bytes
    }
}

/// Opens a log of these segment files, appends to it and reads it again.
///
/// # Panics
/// Where entries that were found are not found any more, or an open log does not take an append.
pub fn open_log(files: impl IntoIterator<Item = (u64, Vec<u8>)>) {
    let files = files
        .into_iter()
        .map(|(number, bytes)| (segment_name(number), bytes));
    let disk = Disk(Arc::new(Mutex::new(files.collect())));
    let Ok(found) = read_log(&disk) else {
        return;
    };
    let Some(header) = found.header.clone() else {
        return;
    };
    let setup = Setup {
        identity: header.identity.clone(),
        place: header.place,
        segment_bytes: SEGMENT_BYTES,
    };
    let Ok(mut engine) = Engine::start(Arc::new(disk.clone()), setup, &found) else {
        return;
    };
    engine
        .append([&b"appended"[..]])
        .expect("there is always room");
    drop(engine);
    let again = read_log(&disk).expect("what was just written is whole");
    let mut expected = found.entries;
    expected.push(b"appended".as_slice().into());
    assert_eq!(again.entries, expected);
    assert_eq!(
        again.header.map(|header| header.identity),
        Some(header.identity)
    );
}

fn identity(log_id: u64) -> LogIdentity {
    LogIdentity {
        coordinator: "fuzz".to_owned(),
        log_id,
    }
}

fn place() -> Place {
    Place {
        machine: "here".to_owned(),
        inode: 1,
        birth_ns: 2,
    }
}

/// A disk that never fails.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Disk {
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str) -> Box<dyn StorageFile> {
        Box::new(Handle {
            disk: self.clone(),
            name: name.to_owned(),
        })
    }
}

impl Storage for Disk {
    fn path(&self) -> &Path {
        Path::new("disk")
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let found = self.files().get(name).cloned();
        found.ok_or(io::ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let replaced = self.files().insert(name.to_owned(), Vec::new());
        match replaced {
            None => Ok(self.file(name)),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.file(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

struct Handle {
    disk: Disk,
    name: String,
}

impl Handle {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        let mut files = self.disk.files();
        files
            .get_mut(&self.name)
            .map(change)
            .ok_or(io::ErrorKind::NotFound.into())
    }
}

impl StorageFile for Handle {
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.change(|content| content.resize(content.len().max(bytes), 0))
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        self.change(|file| file[start..start + content.len()].copy_from_slice(content))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_named(&self) -> io::Result<bool> {
        Ok(self.disk.files().contains_key(&self.name))
    }
}
