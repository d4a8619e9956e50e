//! The end of a history: the faults stop, everything must end, and the slots must work again.

use std::time::Duration;

use gtc_core::{ParticipantId, ParticipantStatus, TransactionId, TransactionState};

use super::World;
use super::account::Told;
use super::app::own::Stage;
use super::clusters::CEILINGS_MS;
use super::log::{Sync, log_of};
use super::network::Link;
use super::process::Role;
use crate::invariants::{ac5_termination, offsets, usable};
use crate::model::broker::Broker;
use crate::violation::demand;

/// How often healing looks again before it gives up: hours of the world's time.
const PATIENCE: usize = 600;

impl World {
    /// The faults are over: everything must end.
    pub fn heal(&mut self) {
        self.tell(|| "the faults end".into());
        self.faults = false;
        self.source.fall_silent();
        let replaced = self.links.iter().any(|link| link.impostor);
        for (broker, link) in self.brokers.iter_mut().zip(&mut self.links) {
            broker.up = true;
            broker.marker_delay_us = broker.marker_delay_us.min(40_000);
            *link = Link {
                clock_set: link.clock_set,
                ..Link::default()
            };
        }
        self.expel_strangers();
        if replaced {
            self.restart();
        }
        if self.has_ended() {
            return;
        }
        self.outlast_silent();
        if self.has_ended() {
            return;
        }
        // What stays open for hours is what readers wait for.
        for broker in &self.brokers {
            demand(ac5_termination::check(broker));
        }
        let out = &self.process.driver.outstanding;
        let open: Vec<_> = self.brokers.iter().flat_map(|b| b.open_tags()).collect();
        let owns: Vec<_> = self.process.app.owns.iter().map(|own| own.stage).collect();
        let left = format!(
            "recovered {}, under way {out:?}, open {open:?}, own producers {owns:?}, others {}",
            self.process.recovered,
            self.others.len()
        );
        ac5_termination::unending(&self.process.coordinator.list(), left).raise();
    }

    /// Whether everything ends while it is waited for.
    fn has_ended(&mut self) -> bool {
        (0..PATIENCE).any(|_| self.heal_once() && self.is_quiet())
    }

    /// What an application left open that never speaks again, and that is in no log, ends by its time-out. Where the
    /// cluster's clock was set back, that is hours away.
    fn outlast_silent(&mut self) {
        let owns = self.process.app.owns.iter();
        let silent = owns.filter(|own| own.stage == Stage::Ready);
        let ends_us = silent.filter_map(|own| {
            let broker = &self.brokers[own.p];
            broker.expires_us(broker.open_tag(&own.name)?)
        });
        if let Some(end_us) = ends_us.max() {
            let now_us = self.now.monotonic.as_micros();
            self.advance(Duration::from_micros(end_us.saturating_sub(now_us)));
        }
    }

    /// Whether nothing was left to do but to wait.
    pub fn heal_once(&mut self) -> bool {
        self.replace_stopped();
        let mut idle = self.logs.iter().all(|log| log.is_idle());
        while !self.late.is_empty() {
            self.arrive(0);
        }
        self.sync_all();
        idle &= self.heal_process();
        for index in 0..self.others.len() {
            self.others[index].paused = false;
            self.as_other(index, |world| idle &= world.heal_process());
        }
        idle &= self.logs.iter().all(|log| log.is_idle());
        if idle && self.has_stopped_participant() {
            // A fenced or broken participant waits for an operator, who starts the coordinator anew.
            self.restart();
            return false;
        }
        if idle {
            self.bury_idle();
        }
        self.wait(idle);
        idle
    }

    fn sync_all(&mut self) {
        for log in 0..self.logs.len() {
            while !self.logs[log].is_idle() {
                self.sync_log(log, Sync::Durable);
            }
        }
    }

    /// Whether the process had nothing to do.
    fn heal_process(&mut self) -> bool {
        let driver = &self.process.driver;
        let idle = driver.outstanding.is_empty() && driver.responses.is_empty();
        for _ in 0..self.process.driver.outstanding.len() {
            self.run_action(0);
        }
        while !self.process.driver.responses.is_empty() {
            self.answer_some();
        }
        self.finish_app();
        idle && self.process.driver.outstanding.is_empty()
    }

    fn wait(&mut self, idle: bool) {
        let wakes = self.others.iter().map(|other| other.wake);
        let wake = wakes.chain([self.process.wake]).flatten().min();
        let span = match wake {
            Some(wake) if idle => wake.saturating_since(self.now.monotonic),
            _ => Duration::ZERO,
        };
        self.advance(span.max(Duration::from_millis(1)));
    }

    fn has_stopped_participant(&self) -> bool {
        let status = |p| self.process.coordinator.participant_status(p);
        let mut participants = (0..self.brokers.len()).map(|p| ParticipantId(p as u16));
        participants.any(|p| matches!(status(p), Some(ParticipantStatus::Stopped(_))))
    }

    fn finish_app(&mut self) {
        let open: Vec<TransactionId> = self.process.app.open.keys().copied().collect();
        for id in open {
            let open = &self.process.app.open[&id];
            if self.finishing && !open.asked && open.waiting == 0 {
                self.commit(id);
            }
        }
        if self.process.role == Role::Zombie {
            return;
        }
        for index in 0..self.process.app.owns.len() {
            if self.process.app.owns[index].stage == Stage::Fresh {
                self.settle(index);
                self.drain();
            }
        }
    }

    fn is_quiet(&self) -> bool {
        let open = self.brokers.iter().any(|b| b.open_tags().next().is_some());
        let stable = |b: &Broker| b.partition.is_stable() && b.group.fetch_stable().is_some();
        let stable = self.brokers.iter().all(stable);
        let owns = self.process.app.owns.iter();
        let owns = owns.clone().all(|own| own.stage == Stage::Ready);
        let zombies = self.others.iter().any(|other| other.role == Role::Zombie);
        let processes = self.others.iter().chain([&self.process]);
        let ended = processes.clone().all(|process| {
            let listed = process.coordinator.list();
            let over = listed.iter().all(|view| {
                matches!(
                    view.state,
                    TransactionState::Mixed | TransactionState::InDoubt
                )
            });
            over && process.recovered && process.app.open.is_empty()
        });
        !open && stable && owns && ended && !zombies
    }

    /// Judges what has become of everything.
    pub fn judge(&self) {
        let outcome = |id: TransactionId| {
            let processes = self.others.iter().chain([&self.process]);
            let mut owners = processes.filter(|process| process.log == log_of(id));
            let owner = owners.next().expect("each log has an owner");
            owner.coordinator.outcome(id)
        };
        self.oracle.judge(&self.brokers, &outcome);
        self.judge_job();
        let validated = self.process.coordinator.validate();
        validated.expect("invariant broken");
    }

    fn judge_job(&self) {
        let job = &self.process.app.job;
        if !self.oracle.all_ended_as_decided() || self.restored {
            return;
        }
        let committed = self.brokers[job.source].group.committed();
        let visible = self.brokers[job.destination].partition.committed();
        let numbers = visible.iter().map(|(_, number)| *number);
        let results: Vec<u64> = numbers
            .filter(|number| *number < super::oracle::FIRST_PLAIN_NUMBER)
            .collect();
        demand(offsets::check(committed, &results));
    }

    /// Every slot works again: a new transaction over all participants commits.
    pub fn prove_usable(&mut self) {
        self.finishing = false;
        for broker in &mut self.brokers {
            broker.ceiling_ms = CEILINGS_MS[0];
        }
        for _ in 0..100 {
            if !(0..self.brokers.len()).all(|p| self.is_verified(p)) {
                self.heal_once();
            }
        }
        // A slot whose id its cluster forgot fails once, and is replaced.
        let attempts = 4;
        let committed = (0..attempts).any(|_| self.commit_everywhere());
        demand(usable::check(committed));
    }

    /// The coordinator has proved all preconditions of this participant.
    pub fn is_verified(&self, p: usize) -> bool {
        let participant = ParticipantId(p as u16);
        let status = self.process.coordinator.participant_status(participant);
        status == Some(&ParticipantStatus::Verified)
    }

    fn commit_everywhere(&mut self) -> bool {
        self.process.app.open.clear();
        self.begin();
        let Some(id) = self.process.app.open.keys().next_back().copied() else {
            return false;
        };
        for p in 0..self.brokers.len() {
            self.enlist(id, p);
        }
        for _ in 0..40 {
            self.heal_twice();
            let open = self.process.app.open.get(&id);
            if open.is_none_or(|open| open.waiting == 0) {
                break;
            }
        }
        let slots = self
            .process
            .app
            .open
            .get(&id)
            .map(|open| open.slots.clone());
        let slots = slots.unwrap_or_default();
        if slots.len() < self.brokers.len() {
            self.abort(id);
            return false;
        }
        for slot in slots {
            self.write(id, slot);
        }
        self.commit(id);
        for _ in 0..10 {
            self.heal_twice();
        }
        self.oracle.account(id).told == Some(Told::Committed)
    }

    fn heal_twice(&mut self) {
        self.heal_once();
        self.heal_once();
    }
}
