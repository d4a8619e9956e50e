//! Writes frames into segments. One thread calls it; each call that returns has synced.
//!
//! The next segment is allocated ahead under its final name, and counts only once a header is
//! written to it. So a full disk is known before a record is written. Appends use a segment
//! only if yet another one could be allocated, so that on a full disk a checkpoint that fits
//! into one segment still finds its room, and makes more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::broken::{Broken, lack};
use super::format::{
    FRAME_BYTES, Frame, FrameKind, FrameWriter, HEADER_BYTES, Place, SECTOR_BYTES, SegmentHeader,
    body_bytes, is_zero,
};
use super::reader::{FIRST_SEGMENT, FoundLog, LastFrame, segment_name};
use super::storage::{Storage, StorageFile};
use crate::crash::{self, Side};
use crate::log::{LogError, LogErrorKind, LogIdentity};

/// How much is filled with zeros at a time, ahead of the frames: to sync what was only reserved, the file
/// system must note in its journal that it was written, which costs a fifth of the syncs or more.
const ZEROS_AHEAD: u64 = 256 << 10;

/// The largest entry: far above what any decision needs, far below what a frame can hold.
pub(crate) const ENTRY_BYTES_MAX: usize = 16 << 20;

/// From here on no number of a segment or a frame is believed, and none could ever be reached.
pub(crate) const NUMBERS_END: u64 = 1 << 62;

/// An allocated segment.
struct Allocated {
    number: u64,
    file: Box<dyn StorageFile>,
    bytes: u64,
}

/// The segment that appends go to, and where the next one goes.
struct Current {
    segment: Allocated,
    offset: u64,
    /// Up to here the file holds written zeros, and not only reserved room.
    zeroed: u64,
}

/// What stays the same for as long as a log is open.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) identity: LogIdentity,
    pub(crate) place: Place,
    pub(crate) segment_bytes: u64,
}

/// The writing half of an open log.
pub(crate) struct Engine {
    storage: Arc<dyn Storage>,
    setup: Setup,
    current: Option<Current>,
    spare: Option<Allocated>,
    /// The segments that a checkpoint makes superfluous.
    numbers: Vec<u64>,
    next_number: u64,
    next_sequence: u64,
    grown_bytes: u64,
    /// Whether the last attempt to allocate ahead found no room.
    out_of_room: bool,
    buffer: Vec<u8>,
}

impl Current {
    fn at(segment: Allocated, offset: u64) -> Current {
        Current {
            segment,
            offset,
            zeroed: offset,
        }
    }

    /// Puts zeros behind a frame that goes beyond those that are there.
    fn zero_ahead(&mut self, frame: &mut Vec<u8>) {
        let end = self.offset + frame.len() as u64;
        if end > self.zeroed {
            self.zeroed = (end + ZEROS_AHEAD).min(self.segment.bytes);
            let bytes = frame.len() as u64 + self.zeroed - end;
            frame.resize(bytes as usize, 0);
        }
    }
}

impl FoundLog {
    /// Whether it is whole, and was made in this place.
    fn is_at(&self, place: &Place) -> bool {
        self.tidy
            && self
                .header
                .as_ref()
                .is_some_and(|header| header.place == *place)
    }
}

impl Engine {
    /// Forces what was found (rule R1) and goes on behind it; what a crash left untidy, or lies elsewhere
    /// now, is rewritten into new segments instead, and the old ones are removed.
    pub(crate) fn start(
        storage: Arc<dyn Storage>,
        setup: Setup,
        found: &FoundLog,
    ) -> Result<Engine, LogError> {
        let last_number = found.numbers.last().copied().unwrap_or(0);
        if last_number.max(found.next_sequence) >= NUMBERS_END {
            let message = format!(
                "counts up to segment {last_number} and frame {}, which no log reaches; nothing \
                 was changed",
                found.next_sequence
            );
            return Err(LogError::new(LogErrorKind::Corrupt, message)
                .with_remedy("find out who wrote these files, and start with a new log")
                .at(storage.path()));
        }
        let mut engine = Engine {
            storage,
            setup,
            current: None,
            spare: None,
            next_number: last_number + 1,
            numbers: found.numbers.clone(),
            next_sequence: found.next_sequence,
            grown_bytes: 0,
            out_of_room: false,
            buffer: Vec::new(),
        };
        if found.header.is_some() {
            if !engine.lacks(Broken::ForceFound) {
                engine.force(found)?;
            }
            engine.drop_spare(found);
        } else {
            engine.make()?;
        }
        match found.last {
            Some(last) if found.is_at(&engine.setup.place) || engine.lacks(Broken::Rewrite) => {
                engine.go_on(last)?;
                engine.grown_bytes = found.appended_bytes;
            }
            _ => engine.checkpoint(&found.entries)?,
        }
        engine.allocate_ahead()?;
        Ok(engine)
    }

    pub(crate) fn lacks(&self, rule: Broken) -> bool {
        lack(self.storage.as_ref(), rule)
    }

    /// Removes the segment that an earlier owner allocated ahead; its room is there for the next one. It is not taken
    /// over: the sync of its name may have failed, and a later one passes over it (rule R1).
    fn drop_spare(&mut self, found: &FoundLog) {
        if let Some(number) = found.spare {
            self.numbers.retain(|other| *other != number);
            self.remove(&[number]);
        }
    }

    /// Makes what was found durable before it is rewritten: otherwise a crash of the machine
    /// could leave a rewrite that was begun, but not the end of the log that it tells of.
    fn force(&self, found: &FoundLog) -> Result<(), LogError> {
        if let Some(last) = found.last
            && !self.lacks(Broken::WriteAgain)
        {
            let written = self.write_again(last);
            written.map_err(|error| LogError::io("writing", self.path(last.segment), &error))?;
        }
        for number in &self.numbers {
            let file = self.storage.open(&segment_name(*number));
            let synced = file.and_then(|file| file.sync());
            synced.map_err(|error| LogError::io("syncing", self.path(*number), &error))?;
        }
        let synced = self.storage.sync_directory();
        synced.map_err(|error| LogError::io("syncing", self.storage.path(), &error))
    }

    /// A sync that fails leaves the last frame in the page cache as if it were clean, and a later sync passes
    /// over it; only what is written again is synced. These are the bytes that are there: a torn
    /// write changes nothing of the frames before.
    fn write_again(&self, last: LastFrame) -> std::io::Result<()> {
        let name = segment_name(last.segment);
        let content = self.storage.read(&name)?;
        let used = content
            .chunks(SECTOR_BYTES)
            .rposition(|part| !is_zero(part));
        let used = used
            .map_or(0, |last| (last + 1) * SECTOR_BYTES)
            .min(content.len());
        // The header goes with the first frame.
        let from = match last.start {
            start if start <= HEADER_BYTES as u64 => 0,
            start => start as usize,
        };
        let file = self.storage.open(&name)?;
        file.write_at(&content[from..used], from as u64)
    }

    /// Appends behind the last frame from now on, in its segment.
    fn go_on(&mut self, last: LastFrame) -> Result<(), LogError> {
        let file = self.storage.open(&segment_name(last.segment));
        let file = file.map_err(|e| LogError::io("opening", self.path(last.segment), &e))?;
        let segment = Allocated {
            number: last.segment,
            file,
            bytes: last.segment_bytes,
        };
        self.current = Some(Current::at(segment, last.end));
        Ok(())
    }

    /// Starts a new log with an empty snapshot in segment 1. The checkpoint that follows every
    /// open moves it on, so that whoever finds segment 1 alone knows that the log was never
    /// handed out, and whoever does not, that something is missing.
    fn make(&mut self) -> Result<(), LogError> {
        let leftovers = std::mem::take(&mut self.numbers);
        self.remove(&leftovers);
        self.next_number = FIRST_SEGMENT;
        self.checkpoint(&[] as &[&[u8]])
    }

    /// The body bytes that fit into a segment of the configured size.
    pub(crate) fn body_bytes_max(&self) -> usize {
        self.setup.segment_bytes as usize - HEADER_BYTES - FRAME_BYTES
    }

    /// The bytes appended since the last checkpoint.
    pub(crate) fn grown_bytes(&self) -> u64 {
        self.grown_bytes
    }

    /// Appends one frame and syncs it. `Full` means that nothing was written; after any other
    /// error the engine must not be used again.
    pub(crate) fn append<'a>(
        &mut self,
        entries: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), LogError> {
        self.buffer.clear();
        let mut writer = FrameWriter::new(&mut self.buffer);
        entries.into_iter().for_each(|entry| writer.push(entry));
        let frame = Frame {
            kind: FrameKind::Append,
            part: 0,
            sequence: self.next_sequence,
        };
        writer.finish(frame, self.setup.identity.log_id);
        self.make_room(self.buffer.len() as u64)?;
        let Some(current) = &mut self.current else {
            return Err(LogError::new(
                LogErrorKind::Io,
                "there is no segment to append to",
            ));
        };
        let frame_bytes = self.buffer.len() as u64;
        current.zero_ahead(&mut self.buffer);
        let path = self
            .storage
            .path()
            .join(segment_name(current.segment.number));
        let storage = self.storage.as_ref();
        write_synced(
            storage,
            &current.segment,
            (&self.buffer, current.offset),
            path,
        )?;
        current.offset += frame_bytes;
        self.grown_bytes += frame_bytes;
        self.next_sequence += 1;
        Ok(())
    }

    /// Refuses to go on where the segment that is written to is not the one that its name leads to.
    pub(crate) fn check_named(&self) -> Result<(), LogError> {
        let Some(Current { segment, .. }) = &self.current else {
            return Ok(());
        };
        let path = self.path(segment.number);
        match segment.file.is_named() {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(LogError::taken_away("this file was removed, moved or replaced").at(path))
            }
            Err(error) => Err(LogError::io("looking for the file", path, &error)),
        }
    }

    /// Allocates the next segment, if there is none. A full disk is no error yet.
    pub(crate) fn allocate_ahead(&mut self) -> Result<(), LogError> {
        if self.spare.is_some() {
            return Ok(());
        }
        let was_out_of_room = self.out_of_room;
        match self.allocate(self.setup.segment_bytes) {
            Ok(segment) => {
                self.spare = Some(segment);
                self.out_of_room = false;
            }
            Err(error) if error.kind() == LogErrorKind::Full => {
                self.out_of_room = true;
                if !was_out_of_room {
                    tracing::warn!(%error, "no room for the decision log's next segment");
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Replaces all that is there by `snapshot`. Errors are as those of `append`.
    pub(crate) fn checkpoint(&mut self, snapshot: &[impl AsRef<[u8]>]) -> Result<(), LogError> {
        let parts = self.split(snapshot);
        let segments = self.allocate_all(&parts)?;
        let superfluous = std::mem::take(&mut self.numbers);
        if self.lacks(Broken::RemoveLast) {
            self.remove(&superfluous);
        }
        let last = parts.len() - 1;
        for (index, (part, segment)) in parts.into_iter().zip(segments).enumerate() {
            let kind = if index == last {
                FrameKind::SnapshotEnd
            } else {
                FrameKind::Snapshot
            };
            self.write_part(
                part,
                segment,
                Frame {
                    kind,
                    part: index as u32,
                    sequence: self.next_sequence,
                },
            )?;
        }
        self.grown_bytes = 0;
        self.remove(&superfluous);
        Ok(())
    }

    /// Cuts a snapshot into parts of one segment each; an empty one has one part as well.
    fn split<'a, T: AsRef<[u8]>>(&self, snapshot: &'a [T]) -> Vec<&'a [T]> {
        let room = self.body_bytes_max();
        let (mut parts, mut start, mut used) = (Vec::new(), 0, 0);
        for (index, entry) in snapshot.iter().enumerate() {
            let bytes = 4 + entry.as_ref().len();
            if used + bytes > room && index > start {
                parts.push(&snapshot[start..index]);
                (start, used) = (index, 0);
            }
            used += bytes;
        }
        parts.push(&snapshot[start..]);
        parts
    }

    /// Allocates a segment for each part before any of them is written.
    fn allocate_all(&mut self, parts: &[&[impl AsRef<[u8]>]]) -> Result<Vec<Allocated>, LogError> {
        let mut segments = Vec::with_capacity(parts.len());
        for part in parts {
            let needed = (HEADER_BYTES + FRAME_BYTES + body_bytes(part)) as u64;
            match self.take_spare_or_allocate(needed) {
                Ok(segment) => segments.push(segment),
                Err(error) => {
                    self.give_back(segments);
                    return Err(error);
                }
            }
        }
        Ok(segments)
    }

    fn give_back(&mut self, segments: Vec<Allocated>) {
        let mut segments = segments.into_iter();
        self.spare = segments.next();
        let numbers: Vec<u64> = segments.map(|segment| segment.number).collect();
        self.remove(&numbers);
    }

    fn write_part(
        &mut self,
        entries: &[impl AsRef<[u8]>],
        segment: Allocated,
        frame: Frame,
    ) -> Result<(), LogError> {
        self.buffer.clear();
        self.buffer
            .extend_from_slice(&self.header(&segment, frame.part == 0).encode());
        let mut writer = FrameWriter::new(&mut self.buffer);
        entries.iter().for_each(|entry| writer.push(entry.as_ref()));
        writer.finish(frame, self.setup.identity.log_id);
        let path = self.path(segment.number);
        write_synced(self.storage.as_ref(), &segment, (&self.buffer, 0), path)?;
        self.numbers.push(segment.number);
        let end = self.buffer.len() as u64;
        self.current = Some(Current::at(segment, end));
        self.next_sequence += 1;
        Ok(())
    }

    fn header(&self, segment: &Allocated, starts_snapshot: bool) -> SegmentHeader {
        SegmentHeader {
            identity: self.setup.identity.clone(),
            place: self.setup.place.clone(),
            segment: segment.number,
            starts_snapshot,
            first_sequence: self.next_sequence,
            bytes: segment.bytes,
        }
    }

    /// Sees to it that the frame in the buffer fits, if need be in the next segment; then the
    /// buffer starts with that segment's header.
    fn make_room(&mut self, frame_bytes: u64) -> Result<(), LogError> {
        let fits = self
            .current
            .as_ref()
            .is_some_and(|current| current.offset + frame_bytes <= current.segment.bytes);
        if fits {
            return Ok(());
        }
        let segment = self.take_spare_or_allocate(HEADER_BYTES as u64 + frame_bytes)?;
        // Appends never take the last segment there is: a checkpoint could not free room then.
        match self.allocate(self.setup.segment_bytes) {
            Ok(next) => self.spare = Some(next),
            Err(_) if self.lacks(Broken::LastSegment) => {}
            Err(error) => {
                self.spare = Some(segment);
                return Err(error);
            }
        }
        let header = self.header(&segment, false).encode();
        self.buffer.splice(0..0, header);
        self.numbers.push(segment.number);
        self.current = Some(Current::at(segment, 0));
        Ok(())
    }

    fn take_spare_or_allocate(&mut self, needed: u64) -> Result<Allocated, LogError> {
        if let Some(spare) = &mut self.spare
            && spare.bytes < needed
        {
            let path = self.storage.path().join(segment_name(spare.number));
            reserve(self.storage.as_ref(), spare.file.as_ref(), needed, &path)?;
            spare.bytes = needed;
        }
        match self.spare.take() {
            Some(spare) => Ok(spare),
            None => self.allocate(needed.max(self.setup.segment_bytes)),
        }
    }

    fn allocate(&mut self, bytes: u64) -> Result<Allocated, LogError> {
        let number = self.next_number;
        let path = self.path(number);
        let file = self
            .storage
            .create(&segment_name(number))
            .map_err(|error| LogError::io("creating", &path, &error))?;
        self.next_number += 1;
        match reserve(self.storage.as_ref(), file.as_ref(), bytes, &path) {
            Ok(()) => Ok(Allocated {
                number,
                file,
                bytes,
            }),
            Err(error) => {
                self.remove(&[number]);
                Err(error)
            }
        }
    }

    /// Removes files that are of no use any more. What cannot be removed does no harm.
    fn remove(&self, numbers: &[u64]) {
        for number in numbers {
            if let Err(error) = self.storage.remove(&segment_name(*number)) {
                let path = self.path(*number).display().to_string();
                tracing::warn!(path, %error, "an old segment of the decision log stays behind");
            }
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.storage.path().join(segment_name(number))
    }
}

fn reserve(
    storage: &dyn Storage,
    file: &dyn StorageFile,
    bytes: u64,
    path: &Path,
) -> Result<(), LogError> {
    file.allocate(bytes)
        .map_err(|error| allocation_failed(path, &error))?;
    // A header says how long the file is, so that is durable first: then a shorter one was cut.
    if !lack(storage, Broken::SyncLength) {
        let synced = file.sync();
        synced.map_err(|error| LogError::io("syncing", path, &error))?;
    }
    if lack(storage, Broken::SyncDirectory) {
        return Ok(());
    }
    let synced = storage.sync_directory();
    synced.map_err(|error| LogError::io("syncing the directory of", path, &error))
}

fn write_synced(
    storage: &dyn Storage,
    segment: &Allocated,
    (content, offset): (&[u8], u64),
    path: PathBuf,
) -> Result<(), LogError> {
    let unknown = |error: LogError| {
        if lack(storage, Broken::FailedUnknown) {
            return LogError::new(LogErrorKind::Full, error.to_string());
        }
        error.outcome_unknown()
    };
    crash::point("log-write", None, Side::Before);
    let written = segment.file.write_at(content, offset);
    written.map_err(|error| unknown(LogError::io("writing", &path, &error)))?;
    crash::point("log-write", None, Side::After);
    if lack(storage, Broken::Sync) {
        return Ok(());
    }
    crash::point("log-sync", None, Side::Before);
    let synced = segment.file.sync();
    crash::point("log-sync", None, Side::After);
    synced.map_err(|error| unknown(LogError::io("syncing", &path, &error)))
}

fn allocation_failed(path: &Path, error: &std::io::Error) -> LogError {
    if error.kind() == std::io::ErrorKind::Unsupported {
        let message = "the file system cannot reserve space for a file (fallocate), so that a \
                       full disk could tear a decision";
        return LogError::new(LogErrorKind::Unsupported, message)
            .with_remedy("use ext4, xfs, btrfs or tmpfs")
            .at(path);
    }
    let error = LogError::io("reserving space", path, error);
    if error.kind() != LogErrorKind::Full {
        return error;
    }
    let message = "no room for the next segment, nothing was written";
    LogError::new(LogErrorKind::Full, message)
        .with_remedy("free space or raise the quota, the log then goes on by itself")
        .at(path)
}
