//! The contract of the core: step, then drain.

use std::time::Duration;

use gtc_core::{
    Action, ActionId, AppendFailure, Output, ParticipantId, ParticipantStatus, Record, Response,
};

use super::log::Sync;
use super::process::Role;
use super::{MARGIN, World};
use crate::invariants::{fence_stops, log_identity, write_ahead};
use crate::swarm::Fault;
use crate::violation::demand;

impl World {
    /// Takes everything that came out of the last step.
    pub fn drain(&mut self) {
        loop {
            match self.process.coordinator.poll_output() {
                Output::Action(id, action) => self.take(id, action),
                Output::Event(event) => self.hear(event),
                Output::Wait(wake, _) => {
                    self.process.wake = wake;
                    self.process.walk.follow(&self.process.coordinator);
                    return;
                }
            }
        }
    }

    fn take(&mut self, id: ActionId, action: Action) {
        self.process.given_out = id;
        let of = (self.process.serial, id);
        let log = &mut self.logs[self.process.log];
        match action {
            Action::Append {
                records,
                durability,
            } => {
                self.watch_decisions(&records);
                self.note(|| format!("append {id:?} {records:?}"));
                let log = &mut self.logs[self.process.log];
                log.append(of, records.to_vec(), durability);
            }
            Action::Checkpoint { snapshot } => log.checkpoint(of, snapshot),
            Action::OpenSlot {
                participant,
                ref transactional_id,
                ..
            }
            | Action::Fence {
                participant,
                ref transactional_id,
                ..
            } => {
                let seen = self.process.strangers.contains(&usize::from(participant.0));
                demand(fence_stops::initialises(seen, transactional_id));
                self.process.driver.outstanding.push((id, action));
            }
            action => self.process.driver.outstanding.push((id, action)),
        }
    }

    fn watch_decisions(&mut self, records: &[Record]) {
        for record in records {
            if let Record::OwnEnlisted {
                transaction,
                transactional_id,
                ..
            } = record
            {
                let own = (*transaction, transactional_id.clone());
                self.process.recorded.insert(own);
            }
            if let Record::Decided {
                transaction,
                branches,
                ..
            } = record
            {
                for branch in branches.iter().filter(|branch| branch.own) {
                    let name = branch.identity.transactional_id.clone();
                    let own = (*transaction, name);
                    let recorded = self.process.recorded.contains(&own);
                    demand(write_ahead::enlisted(recorded, &own.1));
                }
            }
            if let Record::Decided { transaction, .. } = record {
                self.tell(|| format!("the coordinator decides to commit {transaction}"));
                let span = (self.now.monotonic.as_micros(), MARGIN.as_micros() as u64);
                // What a zombie decides, its log refuses.
                let owner = self.process.role == Role::Owner;
                let clocks = self.links.iter().any(|link| link.clock_set);
                if owner && !clocks && !self.restored {
                    self.oracle.deciding(*transaction, span, &self.brokers);
                }
            }
        }
    }

    /// Runs one of the outstanding actions.
    pub fn run_some(&mut self) {
        if !self.process.driver.outstanding.is_empty() {
            let index = self.source.pick(self.process.driver.outstanding.len());
            self.run_action(index);
        }
    }

    /// Delivers a response, in any order; now and then twice.
    pub fn answer_some(&mut self) {
        if self.process.driver.responses.is_empty() {
            return;
        }
        let index = self.source.pick(self.process.driver.responses.len());
        let (id, response) = self.process.driver.responses.remove(index);
        self.note(|| format!("response {id:?} {response:?}"));
        if self.faults && self.swarm.has(Fault::Twice) && self.source.once_in(8) {
            self.respond(id, response.clone());
        }
        let listed = match &response {
            Response::Listed(listing) if listing.complete => Some(listing.clone()),
            _ => None,
        };
        self.watch_stranger(&response);
        let fenced = matches!(response, Response::AppendFailed(AppendFailure::Fenced(_)));
        self.respond(id, response);
        demand(fence_stops::log(!fenced || self.process.stopped.is_some()));
        if let Some(listing) = listed {
            self.watch_foreign(&listing);
        }
    }

    fn respond(&mut self, id: ActionId, response: Response) {
        if response == Response::Appended {
            self.process.durable = self.process.durable.max(id);
        }
        let now = self.now;
        self.process.coordinator.handle_response(id, response, now);
        self.drain();
    }

    /// Open transactions of other logs that were just listed are reported.
    fn watch_foreign(&self, listing: &gtc_core::Listing) {
        if self.process.stopped.is_some() || self.logs.len() < 2 {
            return;
        }
        let verified = |p: usize| {
            let status = self
                .process
                .coordinator
                .participant_status(ParticipantId(p as u16));
            status == Some(&ParticipantStatus::Verified)
        };
        if !(0..self.brokers.len()).all(verified) {
            return;
        }
        let ours = self.process.config.log_id.to_string();
        let foreign = listing.transactions.iter().find(|listed| {
            let id = &listed.transactional_id;
            let slot = id.starts_with("gtc.w.") && !id.contains(&ours);
            let told = self.process.foreign.iter().any(|(_, told)| **told == **id);
            slot && listed.state.is_open() && !told
        });
        let missing = foreign.map(|listed| &*listed.transactional_id);
        demand(log_identity::reported(missing));
    }

    /// A write to some log ends.
    pub fn sync_some(&mut self) {
        let log = self.source.pick(self.logs.len());
        if !self.logs[log].is_wanted() && !self.source.once_in(16) {
            return;
        }
        let how = match self.source.pick(32 * self.swarm.calm) {
            29 | 30 if self.has(Fault::LogRefused) => Sync::Refused,
            31 if self.has(Fault::LogUnknown) => Sync::Unknown(self.source.pick(2) == 1),
            _ => Sync::Durable,
        };
        self.sync_log(log, how);
    }

    /// The oldest write to this log ends like this.
    pub fn sync_log(&mut self, log: usize, how: Sync) {
        let Some((writer, id, response)) = self.logs[log].sync_one(how) else {
            return;
        };
        self.note(|| format!("log {log}: {id:?} {response:?}"));
        if how != Sync::Durable {
            self.tell(|| format!("a write to the log ends: {response:?}"));
        }
        self.oracle.after_write(&self.logs, &self.brokers);
        let mut processes = self.others.iter_mut().chain([&mut self.process]);
        if let Some(process) = processes.find(|process| process.serial == writer) {
            process.driver.responses.push((id, response));
        }
    }

    /// All that is under way comes to an end, for better or worse.
    pub fn flush(&mut self) {
        for _ in 0..self.process.driver.outstanding.len() {
            self.run_some();
        }
        let log = self.process.log;
        while self.logs[log].is_wanted() {
            self.sync_log(log, Sync::Durable);
        }
        while !self.process.driver.responses.is_empty() {
            self.answer_some();
        }
    }

    /// Some time passes.
    pub fn pass_time(&mut self) {
        let long = self.has(Fault::Time);
        let us = match self.source.pick(8) {
            0..=3 => 5_000,
            4 | 5 if self.faults => 500_000,
            6 if self.faults => 7_000_000,
            7 if long => 30_000_000,
            _ => 5_000,
        };
        self.advance(Duration::from_micros(us));
    }

    /// Time passes, for everybody.
    pub fn advance(&mut self, by: Duration) {
        self.now.monotonic = self.now.monotonic + by;
        self.now.unix_ms += by.as_millis() as u64;
        for broker in &mut self.brokers {
            broker.tick(self.now.monotonic.as_micros());
        }
        self.wake_process();
        for index in 0..self.others.len() {
            if !self.others[index].paused {
                self.as_other(index, Self::wake_process);
            }
        }
    }

    fn wake_process(&mut self) {
        let due = |wake| wake <= self.now.monotonic;
        if self.process.wake.is_some_and(due) {
            self.time_out();
        }
    }

    /// The coordinator is told the time.
    pub fn time_out(&mut self) {
        self.process.coordinator.handle_timeout(self.now);
        self.drain();
    }
}
