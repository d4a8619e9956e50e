//! Reads the segments of a directory and finds out which entries count.
//!
//! Each snapshot starts an *attempt*: a segment whose header says so, and the segments that
//! continue it. The newest attempt whose snapshot is complete is the log; what is older is
//! waiting to be removed, and what is newer is a checkpoint that a crash cut short.

use bytes::Bytes;

use super::broken::{Broken, lack};
use super::format::{
    BadHeader, Frame, FrameKind, HEADER_BYTES, SegmentHeader, Slot, classify, find_later_frame,
    is_zero,
};
use super::storage::Storage;
use crate::log::{CutTail, LogError, LogErrorKind};

/// The number of the segment that a log is made in.
pub(crate) const FIRST_SEGMENT: u64 = 1;
const SUFFIX: &str = ".segment";

/// The name of a segment file.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:020}{SUFFIX}")
}

/// The number of a segment file, if `name` is one's.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}

/// A segment in memory; no header means that nothing was written to it.
struct Segment {
    number: u64,
    header: Option<SegmentHeader>,
    bytes: Bytes,
}

/// A log as found.
pub(crate) struct FoundLog {
    /// The header of its first segment; none if the log was never completely made.
    pub(crate) header: Option<SegmentHeader>,
    pub(crate) entries: Vec<Bytes>,
    pub(crate) next_sequence: u64,
    /// Where the last frame is.
    pub(crate) last: Option<LastFrame>,
    /// The bytes of the frames behind the snapshot.
    pub(crate) appended_bytes: u64,
    /// Nothing is to be cleared away: the segments hold this log, whole, and at most a spare.
    pub(crate) tidy: bool,
    pub(crate) cut_tail: Option<CutTail>,
    /// All segments there are, in order.
    pub(crate) numbers: Vec<u64>,
    /// The last one, if nothing was written to it.
    pub(crate) spare: Option<u64>,
}

/// Where a log's last frame is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastFrame {
    /// The number of its segment, and that file's length.
    pub(crate) segment: u64,
    pub(crate) segment_bytes: u64,
    /// Where the frame starts and ends.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Reads and judges all segments. Writes nothing.
pub(crate) fn read_log(storage: &dyn Storage) -> Result<FoundLog, LogError> {
    let reader = Reader { storage };
    let segments = reader.load()?;
    let numbers = segments.iter().map(|segment| segment.number).collect();
    let spare = segments
        .last()
        .filter(|segment| is_zero(&segment.bytes) && !segment.bytes.is_empty())
        .map(|segment| segment.number);
    let attempts = Reader::attempts(segments);
    reader.judge(
        &attempts,
        FoundLog {
            header: None,
            entries: Vec::new(),
            next_sequence: 1,
            last: None,
            appended_bytes: 0,
            tidy: false,
            cut_tail: None,
            numbers,
            spare,
        },
    )
}

/// A snapshot and what was appended to it, as far as it could be read.
struct Scan {
    complete: bool,
    entries: Vec<Bytes>,
    next_sequence: u64,
    next_part: u32,
    last: Option<LastFrame>,
    appended_bytes: u64,
    cut_tail: Option<CutTail>,
}

impl Scan {
    fn continues_in(&self, header: &SegmentHeader, start: &SegmentHeader) -> bool {
        self.cut_tail.is_none()
            && header.first_sequence == self.next_sequence
            && header.identity == start.identity
    }

    /// Counts a frame, if it is the one that belongs here.
    fn accept(&mut self, frame: Frame) -> bool {
        let expected = match frame.kind {
            FrameKind::Append => self.complete,
            FrameKind::Snapshot | FrameKind::SnapshotEnd => {
                !self.complete && frame.part == self.next_part
            }
        };
        // The number after the last one does not exist, so that the last one is never right.
        let (Some(next), true) = (frame.sequence.checked_add(1), expected) else {
            return false;
        };
        if frame.sequence != self.next_sequence {
            return false;
        }
        self.next_sequence = next;
        if frame.kind != FrameKind::Append {
            self.next_part += 1;
        }
        self.complete |= frame.kind == FrameKind::SnapshotEnd;
        true
    }
}

struct Reader<'a> {
    storage: &'a dyn Storage,
}

impl Reader<'_> {
    fn corrupt(&self, segment: u64, offset: usize, what: &str) -> LogError {
        self.corrupt_at(&segment_name(segment), offset as u64, what)
    }

    fn corrupt_at(&self, file: &str, offset: u64, what: &str) -> LogError {
        let message = format!(
            "{what}; nothing was changed. No crash leaves this behind: suspect the disk, or a \
             file that was edited or restored"
        );
        LogError::new(LogErrorKind::Corrupt, message)
            .at(self.storage.path().join(file))
            .at_offset(offset)
    }

    fn load(&self) -> Result<Vec<Segment>, LogError> {
        let path = self.storage.path();
        let names = self
            .storage
            .list()
            .map_err(|e| LogError::io("listing", path, &e))?;
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|name| segment_number(name))
            .collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .map(|number| self.load_segment(number))
            .collect()
    }

    fn load_segment(&self, number: u64) -> Result<Segment, LogError> {
        let name = segment_name(number);
        let path = self.storage.path().join(&name);
        let bytes = self
            .storage
            .read(&name)
            .map_err(|error| LogError::io("reading", &path, &error))?;
        let header = match SegmentHeader::decode(&bytes) {
            Ok(header) if header.segment == number => {
                self.check_length(&header, bytes.len() as u64)?;
                Some(header)
            }
            Err(BadHeader::Blank) => None,
            Err(BadHeader::Version(version)) => {
                let message =
                    format!("has format version {version}, which this program does not know");
                return Err(LogError::new(LogErrorKind::Unsupported, message)
                    .with_remedy("use the program that wrote it, or a later one")
                    .at(path));
            }
            Ok(_) => return Err(self.corrupt(number, 0, "the header is another segment's")),
            Err(BadHeader::Damaged) => return Err(self.corrupt(number, 0, "damaged header")),
        };
        Ok(Segment {
            number,
            header,
            bytes: Bytes::from(bytes),
        })
    }

    /// A file has its whole length before its header is written: a shorter one lost what stood behind.
    fn check_length(&self, header: &SegmentHeader, bytes: u64) -> Result<(), LogError> {
        if bytes >= header.bytes || lack(self.storage, Broken::CutFile) {
            return Ok(());
        }
        let what = format!("the file was cut: it was made with {} bytes", header.bytes);
        Err(self.corrupt_at(&segment_name(header.segment), bytes, &what))
    }

    /// Groups segments; what stands before the first start of a snapshot is a group as well.
    fn attempts(segments: Vec<Segment>) -> Vec<Vec<Segment>> {
        let mut attempts: Vec<Vec<Segment>> = Vec::new();
        for segment in segments {
            let starts = segment
                .header
                .as_ref()
                .is_some_and(|header| header.starts_snapshot);
            match attempts.last_mut() {
                Some(attempt) if !starts => attempt.push(segment),
                _ => attempts.push(vec![segment]),
            }
        }
        attempts
    }

    /// Picks the newest complete attempt. Later ones must be cut short, not damaged.
    fn judge(&self, attempts: &[Vec<Segment>], found: FoundLog) -> Result<FoundLog, LogError> {
        let mut later_start: Option<&Segment> = None;
        for attempt in attempts.iter().rev() {
            let Some(first) = attempt.first() else {
                continue;
            };
            let Some(header) = first
                .header
                .as_ref()
                .filter(|header| header.starts_snapshot)
            else {
                continue;
            };
            let scan = self.scan(attempt, header)?;
            if !scan.complete && !lack(self.storage, Broken::SnapshotEnd) {
                later_start = Some(first);
                continue;
            }
            self.check_continuation(later_start, header, scan.next_sequence)?;
            let tidy = is_tidy(attempt, &scan, &found);
            return Ok(FoundLog {
                header: Some(header.clone()),
                entries: scan.entries,
                next_sequence: scan.next_sequence,
                tidy,
                last: scan.last,
                appended_bytes: scan.appended_bytes,
                cut_tail: scan.cut_tail,
                ..found
            });
        }
        self.check_never_made(attempts)?;
        Ok(found)
    }

    /// A checkpoint starts where its log ended; a gap means that the log's end is lost.
    fn check_continuation(
        &self,
        later: Option<&Segment>,
        base: &SegmentHeader,
        next_sequence: u64,
    ) -> Result<(), LogError> {
        let Some((segment, header)) = later.and_then(|s| Some((s, s.header.as_ref()?))) else {
            return Ok(());
        };
        if header.first_sequence == next_sequence && header.identity == base.identity {
            return Ok(());
        }
        let what = format!(
            "starts at frame {} of log {:016x}, but the log {:016x} ends before frame {}",
            header.first_sequence, header.identity.log_id, base.identity.log_id, next_sequence
        );
        Err(self.corrupt(segment.number, 0, &what))
    }

    /// Without a complete snapshot there must be no sign that there ever was one.
    fn check_never_made(&self, attempts: &[Vec<Segment>]) -> Result<(), LogError> {
        match attempts
            .iter()
            .flatten()
            .find(|segment| segment.number != FIRST_SEGMENT)
        {
            None => Ok(()),
            Some(segment) => {
                let what = "no complete snapshot: segments are missing or cut";
                Err(self.corrupt(segment.number, 0, what))
            }
        }
    }

    fn scan(&self, attempt: &[Segment], start: &SegmentHeader) -> Result<Scan, LogError> {
        let mut scan = Scan {
            complete: false,
            entries: Vec::new(),
            next_sequence: start.first_sequence,
            next_part: 0,
            last: None,
            appended_bytes: 0,
            cut_tail: None,
        };
        for segment in attempt {
            self.scan_segment(segment, start, &mut scan)?;
        }
        Ok(scan)
    }

    fn scan_segment(
        &self,
        segment: &Segment,
        start: &SegmentHeader,
        scan: &mut Scan,
    ) -> Result<(), LogError> {
        let log_id = start.identity.log_id;
        let mut offset = HEADER_BYTES;
        match &segment.header {
            Some(header) if !scan.continues_in(header, start) => {
                return Err(self.torn_apart(segment.number, scan));
            }
            Some(_) => offset = self.scan_frames(segment, log_id, scan)?,
            // The header goes with the first frame: without it that frame is cut as well.
            None if !is_zero(&segment.bytes) => self.note_cut(segment, 0, scan),
            None => return Ok(()),
        }
        match find_later_frame(&segment.bytes, offset, log_id, scan.next_sequence) {
            None => Ok(()),
            Some(_) if lack(self.storage, Broken::LaterFrames) => Ok(()),
            Some(later) => {
                let what = format!("a bad frame, although byte {later} starts a later good one");
                Err(self.corrupt(segment.number, offset, &what))
            }
        }
    }

    /// A segment was begun although the one before it ends in a bad frame or too early.
    fn torn_apart(&self, segment: u64, scan: &Scan) -> LogError {
        let Some(cut) = &scan.cut_tail else {
            let what = format!(
                "does not continue the log, whose frame {} is missing",
                scan.next_sequence
            );
            return self.corrupt(segment, 0, &what);
        };
        let what = format!(
            "a bad frame, although {} goes on behind it",
            segment_name(segment)
        );
        self.corrupt_at(&cut.file, cut.offset, &what)
    }

    fn note_cut(&self, segment: &Segment, offset: usize, scan: &mut Scan) {
        scan.cut_tail.get_or_insert(CutTail {
            file: segment_name(segment.number),
            offset: offset as u64,
        });
    }

    /// Takes all good frames and returns where they end.
    fn scan_frames(
        &self,
        segment: &Segment,
        log_id: u64,
        scan: &mut Scan,
    ) -> Result<usize, LogError> {
        let mut offset = HEADER_BYTES;
        loop {
            let found = match classify(&segment.bytes, offset, log_id) {
                Slot::Frame(found) => found,
                Slot::Empty => return Ok(offset),
                Slot::Cut => {
                    self.note_cut(segment, offset, scan);
                    return Ok(offset);
                }
                Slot::Damaged if lack(self.storage, Broken::Damage) => {
                    self.note_cut(segment, offset, scan);
                    return Ok(offset);
                }
                Slot::Damaged => {
                    return Err(self.corrupt(segment.number, offset, "a damaged frame"));
                }
            };
            if !scan.accept(found.frame) {
                return Err(self.corrupt(segment.number, offset, "a frame out of order"));
            }
            scan.last = Some(LastFrame {
                segment: segment.number,
                segment_bytes: segment.bytes.len() as u64,
                start: offset as u64,
                end: found.end as u64,
            });
            if found.frame.kind == FrameKind::Append {
                scan.appended_bytes += (found.end - offset) as u64;
            }
            let entries = found
                .entries
                .into_iter()
                .map(|range| segment.bytes.slice(range));
            scan.entries.extend(entries);
            offset = found.end;
        }
    }
}

/// Whether a log can go on where it ends, with nothing left behind by a crash.
fn is_tidy(attempt: &[Segment], scan: &Scan, found: &FoundLog) -> bool {
    let is_used = |number: &u64| Some(*number) != found.spare;
    let held = attempt.iter().map(|segment| segment.number).filter(is_used);
    let used: Vec<u64> = found.numbers.iter().copied().filter(is_used).collect();
    // A log that is still in its first segment may never have been handed out.
    let handed_out = used.first() != Some(&FIRST_SEGMENT);
    // What an earlier version wrote is written anew, so that a cut file shows.
    let mut headers = attempt.iter().filter_map(|segment| segment.header.as_ref());
    let says_length = headers.all(|header| header.bytes > 0);
    let ends_last = used.last().copied() == scan.last.map(|last| last.segment);
    handed_out
        && says_length
        && ends_last
        && scan.cut_tail.is_none()
        && held.eq(used.iter().copied())
}
