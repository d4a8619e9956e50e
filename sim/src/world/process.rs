//! A process with a coordinator in it: it starts, dies, is paused and comes back as a zombie.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gtc_core::{ActionId, Config, Coordinator, Ledger, Now, StopReason, Time, TransactionId};

use super::World;
use super::app::App;
use super::driver::Driver;
use super::log::Writer;
use crate::invariants::transitions::Walk;
use crate::run::Options;
use crate::swarm::Fault;

/// What a process is to its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It owns the log.
    Owner,
    /// Another process has taken the log over.
    Zombie,
}

/// A process.
pub struct Process {
    pub serial: Writer,
    /// The number of its log.
    pub log: usize,
    pub role: Role,
    pub paused: bool,
    pub coordinator: Coordinator,
    pub driver: Driver,
    pub app: App,
    /// Managed enlistments without an answer.
    pub enlisting: BTreeSet<(TransactionId, usize)>,
    pub recovered: bool,
    pub stopped: Option<StopReason>,
    pub wake: Option<Time>,
    pub walk: Walk,
    pub config: Config,
    /// The transactions that it has begun.
    pub began: Vec<TransactionId>,
    /// Own producers whose enlistments are on their way to the log.
    pub recorded: BTreeSet<(TransactionId, Arc<str>)>,
    /// Questions to settle an own producer, and the last action that was known when they were asked.
    pub settling: BTreeMap<(usize, Arc<str>), ActionId>,
    /// The last action that it has given out.
    pub given_out: ActionId,
    /// The last write that it knows its log to have taken.
    pub durable: ActionId,
    /// Participants where it has seen a stranger under a slot's name.
    pub strangers: BTreeSet<usize>,
    /// Open transactions of other logs that it has reported.
    pub foreign: BTreeSet<(usize, String)>,
}

impl Process {
    /// A start on what a log holds.
    pub fn start(
        (serial, log): (Writer, usize),
        config: Config,
        ledger: Ledger,
        (now, options): (Now, Options),
    ) -> Self {
        Self {
            serial,
            log,
            role: Role::Owner,
            paused: false,
            coordinator: coordinator(&config, ledger, now, options),
            driver: Driver::default(),
            app: App::default(),
            enlisting: BTreeSet::new(),
            recovered: false,
            stopped: None,
            wake: None,
            walk: Walk::default(),
            config,
            began: Vec::new(),
            recorded: BTreeSet::new(),
            settling: BTreeMap::new(),
            given_out: ActionId(0),
            durable: ActionId(0),
            strangers: BTreeSet::new(),
            foreign: BTreeSet::new(),
        }
    }
}

/// A coordinator, which leaves a rule out if the options say so.
#[cfg_attr(
    not(feature = "broken"),
    expect(unused_variables, reason = "all rules hold")
)]
fn coordinator(config: &Config, ledger: Ledger, now: Now, options: Options) -> Coordinator {
    let config = config.clone();
    #[cfg(feature = "broken")]
    if let Some(rule) = options.without {
        let rules = (rule, options.mask);
        return Coordinator::with_broken(config, ledger, now, rules).expect("valid");
    }
    Coordinator::new(config, ledger, now).expect("valid")
}

impl World {
    /// kill -9, of the process or of its machine, and a new start on what the log kept.
    pub fn restart(&mut self) {
        self.restart_around(|_| {});
    }

    /// Something happens while the process is dead.
    pub fn restart_around(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        self.tell(|| {
            "the coordinator's process dies, and starts again on what its log kept".into()
        });
        self.lose_driver();
        let log = self.process.log;
        self.logs[log].crash(&mut self.source);
        self.lose_coordinator();
        self.oracle.after_write(&self.logs, &self.brokers);
        if self.swarm.has(Fault::Shrink) && self.faults {
            self.resize_pools();
        }
        meanwhile(self);
        let app = std::mem::take(&mut self.process.app);
        self.process = self.successor(log);
        self.process.app = app;
        self.drain();
    }

    fn resize_pools(&mut self) {
        for participant in &mut self.process.config.participants {
            participant.slots_max = 1 + self.source.pick(3) as u32;
        }
    }

    /// A new process on a log, with the configuration of the current one.
    pub fn successor(&mut self, log: usize) -> Process {
        self.starts += 1;
        self.serial += 1;
        let ledger = self.logs[log].own(self.serial);
        let config = self.process.config.clone();
        Process::start((self.serial, log), config, ledger, (self.now, self.options))
    }

    /// The process is paused, another takes its log over, and it may come back.
    pub fn take_over(&mut self) {
        self.tell(|| "the coordinator is paused, and another takes its log over".into());
        let log = self.process.log;
        let heard = self.logs[log].fence(self.serial + 1, &mut self.source);
        for (writer, id, response) in heard {
            let mut processes = self.others.iter_mut().chain([&mut self.process]);
            if let Some(process) = processes.find(|process| process.serial == writer) {
                process.driver.responses.push((id, response));
            }
        }
        for id in self.process.began.clone() {
            let account = self.oracle.account(id);
            (account.live, account.paused) = (false, true);
        }
        self.oracle.after_write(&self.logs, &self.brokers);
        let successor = self.successor(log);
        let mut zombie = std::mem::replace(&mut self.process, successor);
        zombie.role = Role::Zombie;
        zombie.paused = true;
        self.process.app = zombie.app.restarted();
        self.others.push(zombie);
        self.drain();
    }

    /// Does something in the place of another process.
    pub fn as_other(&mut self, index: usize, act: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.process, &mut self.others[index]);
        act(self);
        std::mem::swap(&mut self.process, &mut self.others[index]);
    }

    /// A zombie that has stopped is gone; the owner of a log that has stopped starts again.
    pub fn replace_stopped(&mut self) {
        for index in (0..self.others.len()).rev() {
            if self.others[index].stopped.is_none() {
                continue;
            }
            match self.others[index].role {
                Role::Owner => self.as_other(index, Self::restart),
                Role::Zombie => self.bury(index),
            }
        }
        if self.process.stopped.is_some() {
            self.restart();
        }
    }

    /// Zombies that have nothing to do would never learn that they are zombies: they are ended.
    pub fn bury_idle(&mut self) {
        for index in (0..self.others.len()).rev() {
            let other = &self.others[index];
            if other.role == Role::Zombie && other.app.open.is_empty() {
                self.bury(index);
            }
        }
    }

    /// A zombie dies; what it had sent may still arrive.
    fn bury(&mut self, index: usize) {
        self.tell(|| "the old coordinator is gone".into());
        self.as_other(index, Self::lose_driver);
        self.others.remove(index);
    }
}
