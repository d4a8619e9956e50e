//! Starts on an old copy of the log, which must be refused before they have done any harm (R13).

use std::time::Duration;

use gtc_core::{Action, Incarnation, SlotName, TransactionId};

use super::World;
use super::log::{Log, Sync};
use crate::invariants::log_identity;
use crate::model::broker::Broker;
use crate::swarm::Fault;
use crate::violation::demand;

/// For how long a start on a copy runs, in steps of a tenth of a second, and when it is given its rights.
const ROUNDS: usize = 60;
const RIGHTS_AT: usize = 20;

/// What a start on a copy may describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// Everything.
    Clear,
    /// Nothing of the slots, at first.
    Blind,
    /// The same, but for the first question: the right is taken away before the first listing.
    Closing,
}

impl Sight {
    fn words(self) -> &'static str {
        match self {
            Self::Clear => "",
            Self::Blind => ", and may describe nothing",
            Self::Closing => ", and loses the right to describe after its first question",
        }
    }
}

impl World {
    /// Makes a copy of the log, or starts on the one that there is.
    pub fn start_on_copy(&mut self) {
        if self.copy.is_none() {
            self.copy = Some(self.logs[self.process.log].clone());
            return;
        }
        let blind = self.has(Fault::Rights) && self.source.once_in(2);
        self.start_seeing(if blind { Sight::Blind } else { Sight::Clear });
    }

    /// A start that reads an old copy of the log must be refused, or find out nothing, and the true log still be good.
    fn start_seeing(&mut self, sight: Sight) {
        let log = self.process.log;
        let evident = |copy: &Log| self.is_copy_evident(copy.incarnation(), sight);
        if !self.copy.as_ref().is_some_and(evident) {
            return;
        }
        let Some(copy) = self.copy.take() else { return };
        self.tell(|| {
            let sight = sight.words();
            format!("the coordinator is started on an old copy of its log{sight}")
        });
        self.lose_driver();
        self.logs[log].crash(&mut self.source);
        self.oracle.after_write(&self.logs, &self.brokers);
        let truth = std::mem::replace(&mut self.logs[log], copy);
        self.on_copy = true;
        self.lose_coordinator();
        let app = std::mem::take(&mut self.process.app);
        self.set_blind(sight == Sight::Blind);
        // A supervisor starts it again and again: what is refused once is refused for good.
        for _ in 0..if sight == Sight::Clear { 3 } else { 1 } {
            self.process = self.successor(log);
            self.drain();
            self.run_on_copy(sight);
        }
        self.set_blind(false);
        self.on_copy = false;
        self.logs[log] = truth;
        self.process = self.successor(log);
        self.process.app = app;
        self.drain();
    }

    fn set_blind(&mut self, blind: bool) {
        self.links.iter_mut().for_each(|link| link.blind = blind);
    }

    /// Runs a start on an old copy of the log, on a good network, until it is refused. One that may not see cannot know,
    /// and must have done nothing that hides the truth once it is allowed to.
    fn run_on_copy(&mut self, sight: Sight) {
        let faults = std::mem::replace(&mut self.faults, false);
        let mut closes = sight == Sight::Closing;
        for round in 0..ROUNDS {
            if self.process.stopped.is_some() {
                break;
            }
            if sight != Sight::Clear && round == RIGHTS_AT {
                self.set_blind(false);
            }
            let mut outstanding = self.process.driver.outstanding.iter();
            if closes && outstanding.any(|(_, action)| matches!(action, Action::List { .. })) {
                closes = false;
                self.set_blind(true);
            }
            self.run_round(|_| true);
        }
        self.faults = faults;
        demand(log_identity::copy_refused(self.process.stopped.as_ref()));
        self.lose_driver();
    }

    /// Everything that is under way comes to its end, but for actions that are not wanted now.
    fn run_round(&mut self, wanted: fn(&Action) -> bool) {
        let log = self.process.log;
        while !self.logs[log].is_idle() {
            self.sync_log(log, Sync::Durable);
        }
        let outstanding = self.process.driver.outstanding.iter();
        let count = outstanding.filter(|(_, action)| wanted(action)).count();
        for _ in 0..count {
            let mut outstanding = self.process.driver.outstanding.iter();
            if let Some(index) = outstanding.position(|(_, action)| wanted(action)) {
                self.run_action(index);
            }
        }
        while !self.process.driver.responses.is_empty() {
            self.answer_some();
        }
        self.advance(Duration::from_millis(100));
    }

    /// Copies where they hurt: one of a log in which an own producer's transaction is undecided, started on while the producer
    /// has something open that is decided.
    pub fn copy_where_it_hurts(&mut self) {
        if !self.has(Fault::LogCopy) || !self.others.is_empty() {
            return;
        }
        let log = &self.logs[self.process.log];
        let hurts = if self.copy.is_none() {
            log.has_undecided()
        } else {
            let mut open = self.brokers.iter().flat_map(Broker::open_tags);
            open.any(|tag| !tag.name.starts_with("gtc.") && log.is_decided(tag.transaction))
        };
        if hurts && self.source.once_in(4) {
            self.start_on_copy();
        }
    }

    /// A copy is made while nothing is decided and an own producer has something open, which is decided then and does not end
    /// before the coordinator has died twice; and the start on the copy loses its rights half-way (R8). What a copy
    /// has decided is ended before any listing is known to be complete: of that one a lost right would hide too much.
    pub fn lose_rights_where_it_hurts(&mut self) {
        let faults = [Fault::LogCopy, Fault::Rights, Fault::Crash];
        let may = faults.iter().all(|fault| self.has(*fault)) && self.others.is_empty();
        if !may || !self.source.once_in(8) || !self.is_in_plain_sight() {
            return;
        }
        let log = &self.logs[self.process.log];
        if !log.has_undecided() || !log.is_all_undecided() {
            return;
        }
        let Some(id) = self.votable_own() else { return };
        self.copy = Some(self.logs[self.process.log].clone());
        self.commit(id);
        self.run_without_ends();
        for _ in 0..2 {
            self.restart();
            self.run_without_ends();
        }
        self.start_seeing(Sight::Closing);
    }

    /// A transaction that can be asked to commit, and holds what an own producer has open.
    fn votable_own(&self) -> Option<TransactionId> {
        let owns = self.process.app.owns.iter();
        let mut ids = owns.filter_map(|own| {
            let id = own.stage.transaction()?;
            let tag = self.brokers[own.p].open_tag(&own.name)?;
            let open = self.process.app.open.get(&id)?;
            let votes = !open.asked && open.waiting == 0 && own.report.failed == 0;
            (votes && tag.transaction == id && !tag.stray).then_some(id)
        });
        ids.next()
    }

    /// Everything goes on for a second, on a good network, but no branch is ended by its identity.
    fn run_without_ends(&mut self) {
        let faults = std::mem::replace(&mut self.faults, false);
        for _ in 0..10 {
            self.run_round(|action| !matches!(action, Action::EndTransaction { .. }));
        }
        self.faults = faults;
    }

    fn is_in_plain_sight(&self) -> bool {
        (0..self.brokers.len()).all(|p| self.is_whole(p) && !self.links[p].blind)
    }

    /// Every cluster lists a name that a later incarnation than the copy's has made; for a start that may not see, one of
    /// the very next, whose names the true log then knows. Where it has initialised its probe before it may see
    /// again, only names beside that probe tell.
    fn is_copy_evident(&self, copied: Incarnation, sight: Sight) -> bool {
        let next = Incarnation(copied.0 + 1);
        let known = |name: &SlotName| sight == Sight::Clear || name.incarnation == next;
        let telling = |name: &SlotName| name.incarnation > next || name.number > 0;
        let later: Vec<Vec<SlotName>> = self
            .brokers
            .iter()
            .map(|broker| self.made_later(broker, copied))
            .collect();
        let tells = sight != Sight::Closing || later.iter().flatten().any(telling);
        let seen = later.iter().all(|names| names.iter().any(known));
        self.is_in_plain_sight() && self.others.is_empty() && seen && tells
    }

    /// The names of this log that a cluster lists, and that later incarnations have made.
    fn made_later(&self, broker: &Broker, copied: Incarnation) -> Vec<SlotName> {
        let config = &self.process.config;
        let listed = broker.list("gtc.");
        let names = listed
            .iter()
            .filter_map(|t| SlotName::parse(&config.coordinator, &t.transactional_id));
        names
            .filter(|name| name.log_id == config.log_id && name.incarnation > copied)
            .collect()
    }
}
