//! Seeded histories of the shipped log, from its queue to the disk: appends, checkpoints, full disks, failing
//! operations, kills and power cuts at any operation, and starts after them. An oracle knows what was
//! acknowledged, refused and left unknown.

use std::fmt;
use std::sync::Arc;

use super::disk::Disk;
use super::machine::Machine;
use super::{SEGMENT_BYTES, options, place, texts};
use crate::log::file::broken::Broken;
use crate::log::file::format::{FRAME_BYTES, HEADER_BYTES, SECTOR_BYTES};
use crate::log::file::open_engine;
use crate::log::file::storage::Storage;
use crate::log::{Durability, LogError, LogErrorKind, LogWrite, Receipt, Replay};

type Entries = Vec<Vec<u8>>;

/// An invariant that does not hold.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) invariant: &'static str,
    pub(super) detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}

pub(super) type Holds<T = ()> = Result<T, Violation>;

pub(super) fn holds(
    invariant: &'static str,
    holds: bool,
    detail: impl FnOnce() -> String,
) -> Holds {
    if holds {
        return Ok(());
    }
    let detail = detail();
    Err(Violation { invariant, detail })
}

/// What a history was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
    pub(super) unknown: usize,
    pub(super) starts: usize,
    pub(super) power_cuts: usize,
}

impl Summary {
    pub(super) fn add(&mut self, other: Summary) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.starts += other.starts;
        self.power_cuts += other.power_cuts;
    }
}

struct History {
    machine: Machine,
    log_id: Option<u64>,
    /// What must be there.
    base: Entries,
    /// How many bytes at its end, at most, are of the writes that were acknowledged last, together.
    tail_bytes: usize,
    /// What may be there as well, in this order.
    unknown: Vec<LogWrite>,
    waiting: Vec<(LogWrite, Receipt)>,
    /// Entries of writes that were refused for good.
    refused: Vec<Vec<u8>>,
    next: u64,
    incarnation: u64,
    /// Nothing failed and nothing crashed since the disk filled up.
    undisturbed: bool,
    summary: Summary,
}

/// Runs the history of a seed.
pub(super) fn run(seed: u64, without: Option<Broken>) -> Holds<Summary> {
    let mut history = History {
        machine: Machine::new(seed, without),
        log_id: None,
        base: Entries::new(),
        tail_bytes: 0,
        unknown: Vec::new(),
        waiting: Vec::new(),
        refused: Vec::new(),
        next: 1,
        incarnation: 0,
        undisturbed: false,
        summary: Summary::default(),
    };
    for _ in 0..60 {
        history.step()?;
    }
    history.heal()?;
    history.summary.power_cuts = history.machine.power_cuts;
    Ok(history.summary)
}

/// What a history writes: a number that no other entry has, its kind and a value, and something to fill up.
fn entry(number: u64, incarnation: Option<u64>, bytes: usize) -> Vec<u8> {
    let mut entry = number.to_le_bytes().to_vec();
    entry.push(u8::from(incarnation.is_some()));
    entry.extend(incarnation.unwrap_or(0).to_le_bytes());
    entry.resize(entry.len() + bytes, 0xa5);
    entry
}

fn started(entry: &[u8]) -> u64 {
    let value = entry.get(9..17).filter(|_| entry[8] == 1);
    value.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

fn incarnation(entries: &Entries) -> u64 {
    entries
        .iter()
        .map(|entry| started(entry))
        .max()
        .unwrap_or(0)
}

fn applied(base: &Entries, write: &LogWrite) -> Entries {
    match write {
        LogWrite::Append { entries, .. } => [base.as_slice(), entries.as_slice()].concat(),
        LogWrite::Checkpoint { snapshot } => snapshot.clone(),
    }
}

fn append(entries: Entries) -> LogWrite {
    LogWrite::Append {
        entries,
        durability: Durability::Forced,
    }
}

impl History {
    fn step(&mut self) -> Holds {
        if !self.machine.is_running() {
            return self.start();
        }
        match self.machine.dice.pick(24) {
            0..=7 => self.append(),
            8..=12 => self.write()?,
            13 | 14 => self.checkpoint()?,
            15 => self.kill(),
            16 => self.cut_power(),
            17 => self.machine.arm(),
            18 => self.fill(),
            19 => self.damage()?,
            20 => self.misplace()?,
            _ => {
                self.append();
                self.write()?;
            }
        }
        Ok(())
    }

    /// No room is left but for a few segments more.
    fn fill(&mut self) {
        let more = self.machine.dice.pick(4) * SEGMENT_BYTES as usize;
        let disk = &self.machine.disk;
        disk.set_room(Some(disk.used_bytes() + more));
        // A log that started on a full disk may have found no room to allocate ahead.
        let names = disk.names();
        self.undisturbed =
            self.machine.is_fair() && names.iter().any(|name| used_bytes(disk, name) == 0);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn append(&mut self) {
        let count = self.machine.dice.pick(4);
        let sizes = [0, 12, 300, 700, 1600, 5000];
        let entries = (0..count).map(|_| {
            let bytes = sizes[self.machine.dice.pick(sizes.len())];
            entry(self.number(), None, bytes)
        });
        let entries = entries.collect();
        self.submit(append(entries));
    }

    /// A snapshot keeps the last start, and some of the rest.
    fn checkpoint(&mut self) -> Holds {
        self.write()?;
        if !self.machine.is_running() {
            return Ok(());
        }
        let last = incarnation(&self.base);
        let mut snapshot = vec![entry(self.number(), Some(last), 0)];
        for _ in 0..self.machine.dice.pick(6) {
            let bytes = [0, 300, 1500, 3000][self.machine.dice.pick(4)];
            snapshot.push(entry(self.number(), None, bytes));
        }
        self.submit(LogWrite::Checkpoint { snapshot });
        if self.machine.dice.once_in(2) {
            self.append();
        }
        self.write()
    }

    fn submit(&mut self, write: LogWrite) {
        if let Some(receipt) = self.machine.submit(write.clone()) {
            self.waiting.push((write, receipt));
        }
    }

    /// Writes all that waits, and takes in what became of it. A log that stopped is left.
    fn write(&mut self) -> Holds {
        self.write_waiting()?;
        if !self.unknown.is_empty() {
            let number = self.number();
            self.submit(append(vec![entry(number, None, 40)]));
            self.write_waiting()?;
            self.kill();
        }
        Ok(())
    }

    fn write_waiting(&mut self) -> Holds {
        self.machine.write_waiting();
        let (mut full, mut bytes) = (false, 0);
        for (write, receipt) in std::mem::take(&mut self.waiting) {
            let outcome = receipt.wait();
            full |= matches!(&outcome, Err(error) if error.kind() == LogErrorKind::Full);
            let wrote = outcome.is_ok() && !entries_of(&write).is_empty();
            bytes += if wrote { bytes_at_most(&write) } else { 0 };
            self.take_in(write, outcome)?;
        }
        // What was refused, or had nothing in it, leaves the last writes the last.
        if bytes > 0 {
            self.tail_bytes = bytes;
        }
        if full && self.undisturbed && self.machine.is_running() {
            return self.make_room();
        }
        Ok(())
    }

    fn take_in(&mut self, write: LogWrite, outcome: Result<(), LogError>) -> Holds {
        match outcome {
            Ok(()) => {
                holds(
                    "a failed append ends the log",
                    self.unknown.is_empty(),
                    || "a write behind one without an answer was acknowledged".into(),
                )?;
                self.summary.acknowledged += 1;
                self.base = applied(&self.base, &write);
            }
            Err(error) if error.is_unwritten() => {
                self.summary.refused += 1;
                self.refused.extend(entries_of(&write).iter().cloned());
            }
            Err(_) => {
                self.summary.unknown += 1;
                self.unknown.push(write);
            }
        }
        Ok(())
    }

    /// On a full disk a checkpoint of one segment finds its room, and makes more.
    fn make_room(&mut self) -> Holds {
        let snapshot = vec![entry(self.number(), Some(incarnation(&self.base)), 0)];
        let write = LogWrite::Checkpoint { snapshot };
        let outcome = self.machine.write(write.clone());
        let full = matches!(&outcome, Err(error) if error.kind() == LogErrorKind::Full);
        holds("a checkpoint makes room", !full, || format!("{outcome:?}"))?;
        self.tail_bytes = bytes_at_most(&write);
        self.take_in(write, outcome)
    }

    fn kill(&mut self) {
        self.leave();
        self.machine.kill();
    }

    fn cut_power(&mut self) {
        self.leave();
        self.machine.cut_power();
    }

    fn leave(&mut self) {
        self.waiting.clear();
        self.undisturbed = false;
    }

    fn start(&mut self) -> Holds {
        let Some(replay) = self.machine.open()? else {
            return Ok(());
        };
        self.judge(&replay)?;
        self.summary.starts += 1;
        self.raise_incarnation()
    }

    /// R13: forced before anything else; only then it is used.
    fn raise_incarnation(&mut self) -> Holds {
        let incarnation = incarnation(&self.base) + 1;
        let started = entry(self.number(), Some(incarnation), 0);
        let acknowledged = self.summary.acknowledged;
        self.submit(append(vec![started]));
        self.write()?;
        if self.summary.acknowledged == acknowledged {
            self.kill();
            return Ok(());
        }
        let before = std::mem::replace(&mut self.incarnation, incarnation);
        holds("the incarnation rises", incarnation > before, || {
            format!("{incarnation} after {before}")
        })
    }

    /// What a start found is what was acknowledged, and perhaps what was left unknown.
    fn judge(&mut self, replay: &Replay) -> Holds {
        let log_id = replay.identity.log_id;
        let same = self.log_id.is_none_or(|known| known == log_id);
        holds("a log keeps its identity", same, || format!("{log_id:x}"))?;
        let found = texts(replay);
        let mut allowed = vec![self.base.clone()];
        for write in std::mem::take(&mut self.unknown) {
            allowed.push(applied(&allowed[allowed.len() - 1], &write));
        }
        if !allowed.contains(&found) {
            return Err(self.accuse(&found));
        }
        if !found.is_empty() || self.log_id.is_some() {
            self.log_id = Some(log_id);
        }
        // From here on it is what others act on, and must stay (R1).
        self.base = found;
        self.tail_bytes = usize::MAX;
        Ok(())
    }

    fn accuse(&self, found: &Entries) -> Violation {
        let numbers = |entries: &Entries| -> Vec<u64> {
            let number = |entry: &Vec<u8>| u64::from_le_bytes(entry[..8].try_into().unwrap());
            entries.iter().map(number).collect()
        };
        let lost = self.base.iter().any(|entry| !found.contains(entry));
        let refused = found.iter().any(|entry| self.refused.contains(entry));
        let invariant = if lost {
            "acknowledged records survive"
        } else if refused {
            "a refused record is never found"
        } else {
            "nothing is found but what was written, in its order"
        };
        let detail = format!("{:?} instead of {:?}", numbers(found), numbers(&self.base));
        Violation { invariant, detail }
    }

    /// A copy in which a bit was flipped, a sector lost, or a file cut, says so or holds all that was acknowledged.
    fn damage(&mut self) -> Holds {
        if !self.waiting.is_empty() || !self.unknown.is_empty() || self.machine.is_down() {
            return Ok(());
        }
        let copy = self.machine.copy();
        let names = copy.names();
        let name = &names[self.machine.dice.pick(names.len())];
        let hole = self.machine.dice.once_in(2);
        let (at, bit) = (self.machine.dice.pick(4096), self.machine.dice.pick(8));
        let cut = self.machine.dice.once_in(3);
        // Sectors of the very last writes that are lost cannot be told from writes that a crash cut.
        let last = names.iter().rfind(|name| used_bytes(&copy, name) > 0);
        let tail_bytes = last.map_or(0, |last| if last == name { self.tail_bytes } else { 0 });
        let safe = used_bytes(&copy, name).saturating_sub(tail_bytes);
        copy.edit(name, |bytes| match bytes.get_mut(at) {
            // An empty file is one that a crash left before it was given its length.
            Some(_) if cut => bytes.truncate(at.max(1)),
            Some(_) if hole && at + SECTOR_BYTES <= safe => {
                let sector = at / SECTOR_BYTES * SECTOR_BYTES;
                bytes[sector..sector + SECTOR_BYTES].fill(0);
            }
            Some(byte) if !hole => *byte ^= 1 << bit,
            _ => {}
        });
        let opened = open_engine(Arc::new(copy), &options(), place());
        let Ok((_, replay)) = opened else {
            return Ok(());
        };
        let found = texts(&replay);
        holds("damage is noticed", found == self.base, || {
            let (found, all) = (found.len(), self.base.len());
            format!("{found} of {all} entries, hole: {hole}, cut: {cut}, byte {at} of {name}")
        })
    }

    /// The log of another coordinator, and one that was moved, are refused.
    fn misplace(&mut self) -> Holds {
        if self.log_id.is_none() || self.machine.is_down() {
            return Ok(());
        }
        let copy = self.machine.copy();
        let (mut options, mut place) = (options(), place());
        let foreign = self.machine.dice.once_in(2);
        if foreign {
            options.coordinator = "beta".into();
        } else {
            place.inode += 1;
        }
        let outcome = open_engine(Arc::new(copy), &options, place).map(|_| ());
        let is_corrupt = |error: &LogError| error.kind() == LogErrorKind::Corrupt;
        let (invariant, kind) = if outcome.as_ref().is_err_and(is_corrupt) {
            // Whoever it belongs to, it was read first.
            ("a log that was only crashed opens", LogErrorKind::Foreign)
        } else if foreign {
            ("a foreign log is refused", LogErrorKind::Foreign)
        } else {
            ("a moved log is refused", LogErrorKind::Moved)
        };
        let refused = matches!(&outcome, Err(error) if error.kind() == kind);
        holds(invariant, refused, || format!("{outcome:?}"))
    }

    /// The weather is fair again: whatever happened, the log opens and takes a write.
    fn heal(&mut self) -> Holds {
        self.leave();
        self.machine.heal();
        for _ in 0..2 {
            self.start()?;
            let opens = self.machine.is_running();
            holds("a log that was only crashed opens", opens, || {
                "it stays closed in fair weather".into()
            })?;
            self.kill();
        }
        Ok(())
    }
}

fn entries_of(write: &LogWrite) -> &Entries {
    match write {
        LogWrite::Append { entries, .. } => entries,
        LogWrite::Checkpoint { snapshot } => snapshot,
    }
}

fn bytes_at_most(write: &LogWrite) -> usize {
    let frame = HEADER_BYTES + FRAME_BYTES;
    let entries = entries_of(write).iter();
    frame + entries.map(|entry| 4 + entry.len()).sum::<usize>()
}

/// The bytes of a file up to the last that is not zero.
fn used_bytes(disk: &Disk, name: &str) -> usize {
    let bytes = disk.read(name).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0);
    last.map_or(0, |last| last + 1)
}
