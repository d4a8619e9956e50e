//! Segment files of the decision log: what an open log finds it still finds after it has rewritten
//! itself, and nothing that a file says makes it panic.

use arbitrary::{Result, Unstructured};
use gtc::fuzzing::{Segment, open_log};

const SEGMENTS_MAX: usize = 4;
const FRAMES_MAX: usize = 6;

/// Mostly the number that belongs here.
fn number(input: &mut Unstructured, right: u64) -> Result<u64> {
    Ok(match input.int_in_range(0..=15_u8)? {
        0 => input.arbitrary()?,
        1 => right.wrapping_add(1),
        2 => right.wrapping_sub(1),
        3 => u64::MAX,
        _ => right,
    })
}

struct Maker {
    sequence: u64,
    log_id: u64,
}

impl Maker {
    fn segment(&mut self, input: &mut Unstructured, right: u64) -> Result<(u64, Vec<u8>)> {
        let name = number(input, right)?;
        let starts_snapshot = input.ratio(1, 2)?;
        let mut segment = Segment {
            number: number(input, name)?,
            starts_snapshot,
            first_sequence: number(input, self.sequence)?,
            log_id: number(input, self.log_id)?,
            frames: Vec::new(),
            padding: input.int_in_range(0..=700)?,
        };
        let mut part = 0;
        for _ in 0..input.int_in_range(0..=FRAMES_MAX)? {
            let frame = self.frame(input, &mut part)?;
            segment.frames.push(frame);
        }
        let mut bytes = segment.encode();
        damage(input, &mut bytes)?;
        Ok((name, bytes))
    }

    fn frame(
        &mut self,
        input: &mut Unstructured,
        part: &mut u32,
    ) -> Result<(u8, u32, u64, Vec<Vec<u8>>)> {
        let kind = input.arbitrary()?;
        let sequence = number(input, self.sequence)?;
        self.sequence = sequence.wrapping_add(1);
        let here = number(input, u64::from(*part))? as u32;
        *part = here.wrapping_add(1);
        let mut entries = Vec::new();
        for _ in 0..input.int_in_range(0..=3)? {
            let length = input.int_in_range(0..=40)?;
            entries.push(input.bytes(length.min(input.len()))?.to_vec());
        }
        Ok((kind, here, sequence, entries))
    }
}

/// What a disk or a crash does to a file.
fn damage(input: &mut Unstructured, bytes: &mut Vec<u8>) -> Result<()> {
    match input.int_in_range(0..=7_u8)? {
        0 => bytes.truncate(input.int_in_range(0..=bytes.len())?),
        1 => {
            let from = input.int_in_range(0..=bytes.len())?;
            bytes[from..].fill(0);
        }
        2 => {
            for _ in 0..input.int_in_range(1..=4)? {
                let at = input.choose_index(bytes.len())?;
                bytes[at] = input.arbitrary()?;
            }
        }
        3 => bytes.extend_from_slice(input.peek_bytes(input.len()).unwrap_or_default()),
        _ => {}
    }
    Ok(())
}

fn files(input: &mut Unstructured) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut maker = Maker {
        sequence: number(input, 1)?,
        log_id: 7,
    };
    let first = number(input, 1)?;
    let mut files = Vec::new();
    for index in 0..input.int_in_range(1..=SEGMENTS_MAX)? {
        files.push(maker.segment(input, first.wrapping_add(index as u64))?);
    }
    Ok(files)
}

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    // The plain bytes as one segment, and then the segments that they describe.
    open_log([(1, data.to_vec())]);
    if let Ok(files) = files(&mut Unstructured::new(data)) {
        open_log(files);
    }
}
