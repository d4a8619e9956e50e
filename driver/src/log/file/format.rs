//! The bytes of a segment file.
//!
//! A segment starts with one sector that names the log; frames follow, then zeros up to the
//! allocated length. A frame is what one sync made durable: no frame is written before its
//! predecessor is synced. Its checksums cover the log id and its sequence number, so that no
//! old or foreign bytes pass for a frame.
//!
//! ```text
//! header, 512 bytes: magic, version, starts_snapshot, segment, first sequence, log id,
//!                    directory inode, directory birth, length of the file, coordinator, machine id,
//!                    CRC32C
//! frame:  kind u32, part u32, entries u32, body bytes u32, sequence u64, CRC32C, magic
//!         body: for each entry its length u32 and its bytes
//!         CRC32C of the body, magic
//! ```
//! All integers are little-endian. Kinds and magics hold no zero byte where a cut would show:
//! see [`classify`].

use std::ops::Range;

use crc::{CRC_32_ISCSI, Crc, Table};

use crate::log::LogIdentity;

/// The unit in which a disk writes all or nothing.
pub(crate) const SECTOR_BYTES: usize = 512;
/// The bytes of a segment before its first frame.
pub(crate) const HEADER_BYTES: usize = SECTOR_BYTES;
/// The bytes of a frame beside its body.
pub(crate) const FRAME_BYTES: usize = FRAME_HEADER_BYTES + FRAME_TRAILER_BYTES;
/// The longest coordinator id that a header can hold.
pub(crate) const COORDINATOR_BYTES_MAX: usize = 200;
/// The longest machine id that a header can hold.
pub(crate) const MACHINE_BYTES_MAX: usize = 64;

const FRAME_HEADER_BYTES: usize = 32;
const FRAME_TRAILER_BYTES: usize = 8;
/// Version 1 did not say how long the file is: there is a zero in that place.
const FORMAT_VERSIONS: std::ops::RangeInclusive<u32> = 1..=2;
const SEGMENT_MAGIC: [u8; 8] = *b"GTC-DLOG";
const HEADER_MAGIC: [u8; 4] = [0xa7, 0x4c, 0xe9, 0x35];
const TRAILER_MAGIC: [u8; 4] = [0x5b, 0xd2, 0x93, 0x6e];
const COORDINATOR_OFFSET: usize = 64;
const MACHINE_OFFSET: usize = COORDINATOR_OFFSET + 2 + COORDINATOR_BYTES_MAX;
const CRC_OFFSET: usize = HEADER_BYTES - 4;

static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The machine and the directory that a log was made in (rule R13).
///
/// The birth time stands beside the inode because a copy may get the inode of a removed
/// original. The device number is left out: it changes when a machine starts again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) machine: String,
    pub(crate) inode: u64,
    pub(crate) birth_ns: u64,
}

/// The first sector of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) identity: LogIdentity,
    pub(crate) place: Place,
    pub(crate) segment: u64,
    pub(crate) starts_snapshot: bool,
    pub(crate) first_sequence: u64,
    /// How long the file was made, at least, before this header was written to it; 0 in version 1.
    pub(crate) bytes: u64,
}

/// Why a sector is no header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    /// Nothing was written yet.
    Blank,
    /// A later version wrote it.
    Version(u32),
    /// Anything else.
    Damaged,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut sector = [0; HEADER_BYTES];
        sector[..8].copy_from_slice(&SEGMENT_MAGIC);
        sector[8..12].copy_from_slice(&FORMAT_VERSIONS.end().to_le_bytes());
        sector[12..16].copy_from_slice(&u32::from(self.starts_snapshot).to_le_bytes());
        let numbers = [
            self.segment,
            self.first_sequence,
            self.identity.log_id,
            self.place.inode,
            self.place.birth_ns,
            self.bytes,
        ];
        for (index, number) in numbers.into_iter().enumerate() {
            sector[16 + 8 * index..24 + 8 * index].copy_from_slice(&number.to_le_bytes());
        }
        put_text(
            &mut sector[COORDINATOR_OFFSET..MACHINE_OFFSET],
            &self.identity.coordinator,
        );
        put_text(&mut sector[MACHINE_OFFSET..CRC_OFFSET], &self.place.machine);
        let checksum = CRC32C.checksum(&sector[..CRC_OFFSET]);
        sector[CRC_OFFSET..].copy_from_slice(&checksum.to_le_bytes());
        sector
    }

    /// Makes an encoded header one of another version.
    #[cfg(test)]
    pub(crate) fn set_version(file: &mut [u8], version: u32) {
        file[8..12].copy_from_slice(&version.to_le_bytes());
        let checksum = CRC32C.checksum(&file[..CRC_OFFSET]);
        file[CRC_OFFSET..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    pub(crate) fn decode(file: &[u8]) -> Result<SegmentHeader, BadHeader> {
        let sector = &file[..file.len().min(HEADER_BYTES)];
        if is_zero(sector) {
            return Err(BadHeader::Blank);
        }
        let intact = sector.len() == HEADER_BYTES
            && sector[..8] == SEGMENT_MAGIC
            && CRC32C.checksum(&sector[..CRC_OFFSET]) == read_u32(sector, CRC_OFFSET);
        if !intact {
            return Err(BadHeader::Damaged);
        }
        match read_u32(sector, 8) {
            version if FORMAT_VERSIONS.contains(&version) => {}
            version => return Err(BadHeader::Version(version)),
        }
        let coordinator = get_text(&sector[COORDINATOR_OFFSET..MACHINE_OFFSET]);
        let machine = get_text(&sector[MACHINE_OFFSET..CRC_OFFSET]);
        let (Some(coordinator), Some(machine)) = (coordinator, machine) else {
            return Err(BadHeader::Damaged);
        };
        Ok(SegmentHeader {
            identity: LogIdentity {
                coordinator,
                log_id: read_u64(sector, 32),
            },
            place: Place {
                machine,
                inode: read_u64(sector, 40),
                birth_ns: read_u64(sector, 48),
            },
            segment: read_u64(sector, 16),
            starts_snapshot: read_u32(sector, 12) != 0,
            first_sequence: read_u64(sector, 24),
            bytes: read_u64(sector, 56),
        })
    }
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Entries behind all earlier ones.
    Append,
    /// A part of a snapshot that goes on in the next segment.
    Snapshot,
    /// The last part of a snapshot, which makes it count.
    SnapshotEnd,
}

impl FrameKind {
    fn code(self) -> u32 {
        match self {
            FrameKind::Append => 0x6b6b_6b6b,
            FrameKind::Snapshot => 0x9c9c_9c9c,
            FrameKind::SnapshotEnd => 0xd5d5_d5d5,
        }
    }

    fn from_code(code: u32) -> Option<FrameKind> {
        [
            FrameKind::Append,
            FrameKind::Snapshot,
            FrameKind::SnapshotEnd,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }
}

/// A frame's head: what stands before the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    /// The number of a snapshot's part, from 0.
    pub(crate) part: u32,
    pub(crate) sequence: u64,
}

/// A frame found intact.
#[derive(Debug)]
pub(crate) struct FoundFrame {
    pub(crate) frame: Frame,
    /// Where each entry lies in the file.
    pub(crate) entries: Vec<Range<usize>>,
    /// Where the next frame starts.
    pub(crate) end: usize,
}

/// The bytes of `entries` in a frame's body.
pub(crate) fn body_bytes(entries: &[impl AsRef<[u8]>]) -> usize {
    entries.iter().map(|entry| 4 + entry.as_ref().len()).sum()
}

/// Collects the entries of one frame behind whatever `buffer` holds already.
pub(crate) struct FrameWriter<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    entries: u32,
}

impl<'a> FrameWriter<'a> {
    pub(crate) fn new(buffer: &'a mut Vec<u8>) -> FrameWriter<'a> {
        let start = buffer.len();
        buffer.resize(start + FRAME_HEADER_BYTES, 0);
        FrameWriter {
            buffer,
            start,
            entries: 0,
        }
    }

    /// Adds an entry. The caller keeps bodies far below 4 GiB.
    pub(crate) fn push(&mut self, entry: &[u8]) {
        self.buffer
            .extend_from_slice(&(entry.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(entry);
        self.entries += 1;
    }

    pub(crate) fn finish(self, frame: Frame, log_id: u64) {
        let body_start = self.start + FRAME_HEADER_BYTES;
        let body_bytes = (self.buffer.len() - body_start) as u32;
        let head = &mut self.buffer[self.start..body_start];
        head[..4].copy_from_slice(&frame.kind.code().to_le_bytes());
        head[4..8].copy_from_slice(&frame.part.to_le_bytes());
        head[8..12].copy_from_slice(&self.entries.to_le_bytes());
        head[12..16].copy_from_slice(&body_bytes.to_le_bytes());
        head[16..24].copy_from_slice(&frame.sequence.to_le_bytes());
        let checksum = seal(log_id, frame.sequence, &head[..24]);
        head[24..28].copy_from_slice(&checksum.to_le_bytes());
        head[28..].copy_from_slice(&HEADER_MAGIC);
        let checksum = seal(log_id, frame.sequence, &self.buffer[body_start..]);
        self.buffer.extend_from_slice(&checksum.to_le_bytes());
        self.buffer.extend_from_slice(&TRAILER_MAGIC);
    }
}

/// What stands at a place where the next frame belongs.
#[derive(Debug)]
pub(crate) enum Slot {
    /// An intact frame of this log.
    Frame(FoundFrame),
    /// Nothing, up to the end of the file.
    Empty,
    /// A write that a crash cut.
    Cut,
    /// Bytes that no crash leaves behind.
    Damaged,
}

/// Tells what stands at `offset` of a segment's bytes.
///
/// A disk writes whole sectors into a file of zeros, so that a cut frame shows a gap: it runs
/// over the end of the file, or its part of some sector is all zero, or its end is zero. A
/// frame that fails its checksum without such a gap was damaged later, even if it is the last.
pub(crate) fn classify(file: &[u8], offset: usize, log_id: u64) -> Slot {
    let Some(extent) = frame_extent(file, offset, log_id) else {
        return match file.get(offset..) {
            None => Slot::Empty,
            Some(rest) if is_zero(rest) => Slot::Empty,
            Some(_) if has_gap(file, offset..offset + FRAME_HEADER_BYTES) => Slot::Cut,
            Some(_) => Slot::Damaged,
        };
    };
    match decode_frame(file, extent.clone(), log_id) {
        Some(found) => Slot::Frame(found),
        None if has_gap(file, extent) => Slot::Cut,
        None => Slot::Damaged,
    }
}

/// The first intact frame at or behind `offset` whose sequence number is above `sequence`.
pub(crate) fn find_later_frame(
    file: &[u8],
    offset: usize,
    log_id: u64,
    sequence: u64,
) -> Option<usize> {
    let mut position = offset;
    while position + FRAME_BYTES <= file.len() {
        let sector = &file[position..file.len().min(position + SECTOR_BYTES)];
        // Most of what is searched is zero, and no frame starts with a zero byte.
        let candidates = if is_zero(sector) { 0 } else { sector.len() };
        for start in position..position + candidates {
            let frame = frame_extent(file, start, log_id)
                .and_then(|extent| decode_frame(file, extent, log_id));
            if frame.is_some_and(|found| found.frame.sequence > sequence) {
                return Some(start);
            }
        }
        position += sector.len();
    }
    None
}

/// The bytes that a frame with an intact head claims; they may go beyond the file.
fn frame_extent(file: &[u8], offset: usize, log_id: u64) -> Option<Range<usize>> {
    let head = file.get(offset..offset + FRAME_HEADER_BYTES)?;
    let intact = head[28..] == HEADER_MAGIC
        && FrameKind::from_code(read_u32(head, 0)).is_some()
        && seal(log_id, read_u64(head, 16), &head[..24]) == read_u32(head, 24);
    let body_bytes = read_u32(head, 12) as usize;
    intact.then(|| offset..offset + FRAME_BYTES + body_bytes)
}

fn decode_frame(file: &[u8], extent: Range<usize>, log_id: u64) -> Option<FoundFrame> {
    let bytes = file.get(extent.clone())?;
    let kind = FrameKind::from_code(read_u32(bytes, 0))?;
    let sequence = read_u64(bytes, 16);
    let (content, trailer) = bytes.split_at(bytes.len() - FRAME_TRAILER_BYTES);
    let body = &content[FRAME_HEADER_BYTES..];
    let intact =
        trailer[4..] == TRAILER_MAGIC && seal(log_id, sequence, body) == read_u32(trailer, 0);
    if !intact {
        return None;
    }
    let entries = entry_ranges(body, extent.start + FRAME_HEADER_BYTES, read_u32(bytes, 8))?;
    let frame = Frame {
        kind,
        part: read_u32(bytes, 4),
        sequence,
    };
    Some(FoundFrame {
        frame,
        entries,
        end: extent.end,
    })
}

fn entry_ranges(body: &[u8], base: usize, count: u32) -> Option<Vec<Range<usize>>> {
    let mut ranges = Vec::with_capacity((count as usize).min(body.len() / 4));
    let mut position = 0;
    while position < body.len() {
        let start = position + 4;
        let length = u32::from_le_bytes(body.get(position..start)?.try_into().ok()?) as usize;
        position = start + length;
        ranges.push(base + start..base + position);
    }
    (position == body.len() && ranges.len() == count as usize).then_some(ranges)
}

fn has_gap(file: &[u8], extent: Range<usize>) -> bool {
    let Some(bytes) = file.get(extent.clone()) else {
        return true;
    };
    if bytes.last() == Some(&0) {
        return true;
    }
    let mut start = extent.start;
    while start < extent.end {
        let end = extent.end.min((start / SECTOR_BYTES + 1) * SECTOR_BYTES);
        if is_zero(&file[start..end]) {
            return true;
        }
        start = end;
    }
    false
}

/// A checksum that only this log's frame of this number has.
fn seal(log_id: u64, sequence: u64, content: &[u8]) -> u32 {
    let mut digest = CRC32C.digest();
    digest.update(&log_id.to_le_bytes());
    digest.update(&sequence.to_le_bytes());
    digest.update(content);
    digest.finalize()
}

/// Whether all bytes are zero. Compares slices, which is fast in a debug build as well.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes
        .chunks(ZEROS.len())
        .all(|chunk| chunk == &ZEROS[..chunk.len()])
}

fn put_text(field: &mut [u8], text: &str) {
    field[..2].copy_from_slice(&(text.len() as u16).to_le_bytes());
    field[2..2 + text.len()].copy_from_slice(text.as_bytes());
}

fn get_text(field: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_le_bytes([field[0], field[1]]));
    let text = field.get(2..2 + length)?;
    String::from_utf8(text.to_vec()).ok()
}

/// Reads an integer whose bytes the caller knows to be there.
fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(number)
}

/// As [`read_u32`].
fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(number)
}
