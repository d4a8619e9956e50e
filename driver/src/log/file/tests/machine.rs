//! A machine: a disk in bad weather, and the shipped log on it, from its queue to its files, without a thread.

use std::sync::Arc;

use super::disk::{Crash, Dice, Disk, Weather};
use super::history::{Holds, holds};
use super::{options, place};
use crate::log::file::broken::Broken;
use crate::log::file::open_engine;
use crate::log::file::writer::{Shared, Writer};
use crate::log::{LogError, LogErrorKind, LogWrite, Receipt, Replay};

/// The weathers of the histories: fair, syncs fail, everything fails, all of it.
const WEATHERS: [Weather; 4] = [
    Weather {
        io_fails: 0,
        sync_fails: 0,
    },
    Weather {
        io_fails: 0,
        sync_fails: 12,
    },
    Weather {
        io_fails: 40,
        sync_fails: 0,
    },
    Weather {
        io_fails: 90,
        sync_fails: 25,
    },
];

pub(super) struct Machine {
    pub(super) dice: Dice,
    pub(super) disk: Disk,
    pub(super) power_cuts: usize,
    weather: Weather,
    healing: bool,
    log: Option<(Arc<Shared>, Writer)>,
}

impl Machine {
    pub(super) fn new(seed: u64, without: Option<Broken>) -> Machine {
        let mut dice = Dice::new(seed);
        let weather = WEATHERS[dice.pick(WEATHERS.len())];
        let disk = Disk::default();
        disk.leave_out(without);
        Machine {
            dice,
            disk,
            power_cuts: 0,
            weather,
            healing: false,
            log: None,
        }
    }

    /// Nothing but power cuts can fail.
    pub(super) fn is_fair(&self) -> bool {
        self.weather.io_fails + self.weather.sync_fails == 0
    }

    pub(super) fn is_running(&self) -> bool {
        self.log.is_some()
    }

    /// The power is off.
    pub(super) fn is_down(&self) -> bool {
        self.disk.crashed()
    }

    /// The power goes off at one of the operations to come.
    pub(super) fn arm(&mut self) {
        self.disk.crash_after(self.dice.pick(14));
    }

    /// From now on nothing fails any more.
    pub(super) fn heal(&mut self) {
        self.cut_power();
        self.healing = true;
        self.weather = Weather::default();
        self.disk.set_room(None);
    }

    /// A start of the log. It may fail where the disk does, and must not where the disk is sound.
    pub(super) fn open(&mut self) -> Holds<Option<Replay>> {
        self.disk.set_weather(self.weather, self.dice.next());
        if !self.healing && self.dice.once_in(6) {
            self.arm();
        }
        let faults = self.disk.faults();
        match open_engine(Arc::new(self.disk.clone()), &options(), place()) {
            Ok((engine, replay)) => {
                let shared = Arc::new(Shared::default());
                let writer = Writer::new(Arc::clone(&shared), engine, None);
                self.log = Some((shared, writer));
                Ok(Some(replay))
            }
            Err(error) => {
                let excused = self.is_down() || self.disk.faults() > faults;
                let full = error.kind() == LogErrorKind::Full && !self.healing;
                holds("a log that was only crashed opens", excused || full, || {
                    error.to_string()
                })?;
                self.kill();
                Ok(None)
            }
        }
    }

    pub(super) fn submit(&self, write: LogWrite) -> Option<Receipt> {
        self.log.as_ref().map(|(shared, _)| shared.submit(write))
    }

    pub(super) fn write_waiting(&mut self) {
        if let Some((_, writer)) = &mut self.log {
            writer.write_waiting();
        }
    }

    /// Writes this, and nothing else.
    pub(super) fn write(&mut self, write: LogWrite) -> Result<(), LogError> {
        let closed = || LogError::new(LogErrorKind::Closed, "is not open");
        let receipt = self.submit(write).ok_or_else(closed)?;
        self.write_waiting();
        receipt.wait()
    }

    /// kill -9, or what a power cut has left of the machine: what was only submitted is gone.
    pub(super) fn kill(&mut self) {
        if self.is_down() {
            return self.cut_power();
        }
        self.log = None;
        self.disk = self.disk.after(Crash::Process);
    }

    pub(super) fn cut_power(&mut self) {
        self.log = None;
        self.power_cuts += 1;
        self.disk = self.disk.after(Crash::Any(self.dice.next()));
    }

    /// The disk as another process would find it now, in fair weather and with room.
    pub(super) fn copy(&self) -> Disk {
        let copy = self.disk.after(Crash::Process);
        copy.set_weather(Weather::default(), 0);
        copy.set_room(None);
        copy
    }
}
