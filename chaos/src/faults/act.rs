//! Carries out the schedule, and heals everything in the end.

use std::sync::Mutex;
use std::thread::Scope;
use std::time::{Duration, Instant};

use gtc_clusters::Direction;
use rustix::process::Signal;

use super::field::{Field, Site};
use super::notes::Notes;
use super::schedule::{Fault, Planned};
use crate::error::{Error, Result};

/// Requests pile up behind this delay, so that some are cut off between decision and completion.
const BEFORE_HOLE: Duration = Duration::from_millis(300);

/// The beginning or the end of a fault.
struct Moment<'a> {
    at: Duration,
    is_end: bool,
    planned: &'a Planned,
}

/// Who carries it out.
pub(super) struct Actor<'a> {
    pub(super) field: &'a Field,
    pub(super) notes: &'a Notes,
    /// What went wrong in threads.
    pub(super) errors: Mutex<Vec<Error>>,
}

impl<'a> Actor<'a> {
    pub(super) fn new(field: &'a Field, notes: &'a Notes) -> Self {
        Self {
            field,
            notes,
            errors: Mutex::default(),
        }
    }

    /// Plays the schedule, and calls `look` about every half second.
    pub(super) fn play<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        schedule: &'scope [Planned],
        look: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let begin = Instant::now();
        let mut moments = Vec::new();
        for planned in schedule {
            let (from, to) = (planned.at, planned.at + planned.lasts);
            moments.extend([(from, false), (to, true)].map(|(at, is_end)| Moment {
                at,
                is_end,
                planned,
            }));
        }
        moments.sort_by_key(|moment| moment.at);
        for moment in moments {
            await_time(begin + moment.at, look)?;
            self.act(scope, &moment)?;
        }
        Ok(())
    }

    fn act<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        moment: &Moment<'scope>,
    ) -> Result<()> {
        let planned = moment.planned;
        let (name, target) = (planned.fault.name(), planned.target.as_str());
        let is_done = match planned.fault {
            Fault::KillWorker | Fault::PauseWorker => self.worker(moment)?,
            Fault::KillBroker | Fault::RestartBroker | Fault::PauseBroker => {
                self.broker(scope, moment)?
            }
            Fault::FillDisk => self.disk(moment)?,
            _ => self.network(moment)?,
        };
        let how = match (is_done, moment.is_end) {
            (false, false) => "skipped",
            (true, false) => "begins",
            (true, true) => "ends",
            (false, true) => return Ok(()),
        };
        self.notes.add(name, target, how);
        Ok(())
    }

    fn worker(&self, moment: &Moment<'_>) -> Result<bool> {
        let worker = self.field.worker(&moment.planned.target)?;
        Ok(match (moment.planned.fault, moment.is_end) {
            (Fault::KillWorker, false) => worker.kill(moment.planned.lasts),
            (Fault::KillWorker, true) => true,
            (_, false) => worker.signal(Signal::STOP),
            (_, true) => worker.signal(Signal::CONT),
        })
    }

    fn broker<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        moment: &Moment<'scope>,
    ) -> Result<bool> {
        let planned = moment.planned;
        let site = self.field.site(&planned.target)?;
        if planned.fault == Fault::PauseBroker {
            return match moment.is_end {
                false if site.take() => site.cluster.pause().map(|()| true).map_err(Into::into),
                false => Ok(false),
                true => {
                    // Harmless for one that was never paused, or is down.
                    let is_up = site.cluster.resume().is_ok();
                    site.give_back();
                    Ok(is_up)
                }
            };
        }
        if moment.is_end {
            return Ok(true);
        }
        if !site.take() {
            return Ok(false);
        }
        scope.spawn(move || self.restart(site, planned));
        Ok(true)
    }

    /// Down, for a while, and up again; the cluster is in hand meanwhile.
    fn restart(&self, site: &Site, planned: &Planned) {
        let is_orderly = planned.fault == Fault::RestartBroker;
        let stopped = match is_orderly {
            true => site.cluster.stop(),
            false => {
                site.cluster.kill();
                Ok(())
            }
        };
        std::thread::sleep(planned.lasts);
        if let Err(error) = stopped.and_then(|()| site.cluster.restart()) {
            let mut errors = self.errors.lock().unwrap_or_else(|e| e.into_inner());
            errors.push(error.into());
        }
        self.notes.add("broker-up", &planned.target, "again");
        site.give_back();
    }

    fn disk(&self, moment: &Moment<'_>) -> Result<bool> {
        let Some(disk) = &self.field.disk else {
            return Ok(false);
        };
        match moment.is_end {
            false => disk.fill()?,
            true => disk.free()?,
        }
        Ok(true)
    }

    fn network(&self, moment: &Moment<'_>) -> Result<bool> {
        let proxy = &self.field.site(&moment.planned.target)?.proxy;
        if moment.is_end {
            proxy.heal();
            return Ok(true);
        }
        match moment.planned.fault {
            Fault::Refuse => {
                proxy.refuse_new(true);
                proxy.cut_all();
            }
            Fault::Delay(delay) => proxy.delay(delay),
            Fault::HoleToBroker => proxy.black_hole(Direction::ToBroker),
            Fault::HoleToClient => proxy.black_hole(Direction::ToClient),
            Fault::Expire => {
                proxy.delay(BEFORE_HOLE);
                std::thread::sleep(BEFORE_HOLE * 2);
                proxy.black_hole(Direction::Both);
            }
            _ => proxy.cut_all(),
        }
        Ok(true)
    }

    /// Ends whatever still lasts. Brokers that are being restarted are waited for by the scope of the threads.
    pub(super) fn heal(&self) -> Result<()> {
        for worker in self.field.workers.values() {
            worker.signal(Signal::CONT);
        }
        if let Some(disk) = &self.field.disk {
            disk.free()?;
        }
        for site in self.field.sites.values() {
            site.proxy.heal();
            if site.take() {
                // Harmless for one that is not paused.
                let _ = site.cluster.resume();
                site.give_back();
            }
        }
        Ok(())
    }
}

/// Waits until then.
pub(super) fn await_time(time: Instant, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    loop {
        look()?;
        let left = time.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(500)));
    }
}
