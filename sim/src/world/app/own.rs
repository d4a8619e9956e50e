//! Producers of the application's own: they settle, initialise, enlist, and end by themselves once told.

use std::sync::Arc;

use gtc_core::{
    Decision, ParticipantId, ProducerIdentity, Request, Reuse, TransactionId, VersionClass,
    WriteReport,
};

use super::App;
use crate::invariants::fencing;
use crate::model::broker::{Call, Reply, Tag, writer_version};
use crate::swarm::Fault;
use crate::violation::demand;
use crate::world::World;
use crate::world::network::Reach;
use crate::world::process::Role;

/// Where an own producer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not initialised in this life.
    Fresh,
    /// Has asked to settle.
    Settling,
    /// Initialised, and in no transaction.
    Ready,
    /// Waits to be enlisted.
    Enlisting(TransactionId),
    /// Writes.
    Writing(TransactionId),
}

impl Stage {
    /// The transaction that it is part of.
    pub fn transaction(self) -> Option<TransactionId> {
        match self {
            Self::Enlisting(id) | Self::Writing(id) => Some(id),
            _ => None,
        }
    }
}

/// A producer of the application's own.
#[derive(Clone, Debug)]
pub struct Own {
    pub p: usize,
    pub name: Arc<str>,
    pub class: VersionClass,
    pub stage: Stage,
    pub producer: ProducerIdentity,
    pub report: WriteReport,
    pub says: Says,
    /// What it wrote before it was enlisted.
    pub early: Option<Tag>,
}

/// What an own producer's application says at the vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The facade has counted its deliveries.
    Counts,
    /// It states that all it wrote was delivered, if that is so.
    Delivered,
    /// Nothing.
    Nothing,
}

impl Own {
    /// The identity that its façade tells at enlisting, if it has one: what counts also knows.
    fn told(&self) -> Option<ProducerIdentity> {
        (self.says == Says::Counts).then_some(self.producer)
    }

    /// What the coordinator learns of its deliveries.
    fn said(&self) -> WriteReport {
        match self.says {
            Says::Counts => self.report.clone(),
            Says::Delivered => WriteReport {
                stated_delivered: self.report.failed == 0,
                ..WriteReport::default()
            },
            Says::Nothing => WriteReport::default(),
        }
    }
}

impl App {
    /// The own producer of this name.
    pub fn own(&mut self, p: usize, name: &str) -> Option<&mut Own> {
        self.owns
            .iter_mut()
            .find(|own| own.p == p && *own.name == *name)
    }

    /// What the façade of an own producer counted.
    pub fn own_report(&mut self, p: usize, name: &str) -> WriteReport {
        let own = self.own(p, name);
        own.map(|own| own.said()).unwrap_or_default()
    }
}

impl World {
    /// Enlists an own producer that is ready.
    pub fn enlist_own(&mut self, id: TransactionId) {
        let owns = self.process.app.owns.iter().enumerate();
        let ready: Vec<usize> = owns
            .filter(|(_, own)| own.stage == Stage::Ready)
            .map(|(index, _)| index)
            .collect();
        let choice = self.source.pick(ready.len());
        let Some(index) = ready.get(choice).copied() else {
            return self.own_step();
        };
        self.enlist_own_at(index, id);
    }

    /// Enlists this own producer; one that is impatient writes before it is enlisted.
    pub fn enlist_own_at(&mut self, index: usize, id: TransactionId) {
        let own = &self.process.app.owns[index];
        if self.tag(id, own.p, &own.name).stray {
            // It wrote too early, and that is over: it takes no part in this one.
            return;
        }
        let ready = own.stage == Stage::Ready;
        if ready && self.has(Fault::OwnImpatient) && self.source.once_in(4) {
            self.write_early(index, id);
        }
        let own = &self.process.app.owns[index];
        let request = Request::EnlistOwn {
            transaction: id,
            participant: ParticipantId(own.p as u16),
            transactional_id: own.name.clone(),
            version_class: own.class,
            producer: own.told(),
        };
        if self.request(request).is_ok() {
            self.process.app.owns[index].stage = Stage::Enlisting(id);
            self.waits(id, 1);
        }
        self.drain();
    }

    /// Restarts an own producer, or takes it a step further (R5).
    pub fn own_step(&mut self) {
        let index = self.source.pick(self.process.app.owns.len());
        let Some(own) = self.process.app.owns.get(index) else {
            return;
        };
        if let Stage::Writing(id) = own.stage {
            let open = self.process.app.open.get(&id);
            let (active, asked) = open.map_or((false, false), |open| (!open.asked, open.asked));
            if self.has(Fault::OwnUnsettled) && self.source.once_in(6) {
                if active {
                    self.go_on_anew(index, id);
                }
                return;
            }
            if asked && self.has(Fault::OwnImpatient) {
                return self.be_impatient(id);
            }
        }
        let own = &mut self.process.app.owns[index];
        let may_restart = self.faults && self.swarm.has(Fault::OwnRestart);
        let restarts = may_restart && own.stage != Stage::Settling && self.source.once_in(6);
        if own.stage != Stage::Fresh && !restarts {
            return;
        }
        let (stage, p, name) = (own.stage, own.p, own.name.clone());
        own.stage = Stage::Fresh;
        if let Stage::Writing(id) = stage
            && !self.oracle.account(id).commit_asked
        {
            let tag = self.tag(id, p, &name);
            self.oracle.account(id).given_up.insert(tag);
        }
        self.settle(index);
        self.drain();
    }

    /// An own producer is initialised anew in the middle of its transaction, without a question, and goes on.
    fn go_on_anew(&mut self, index: usize, id: TransactionId) {
        let own = &self.process.app.owns[index];
        let (p, name) = (own.p, own.name.clone());
        if self.reach(p, &name) != Reach::Good || self.links[p].impostor {
            return;
        }
        self.tell(|| format!("the own producer {name} is initialised anew"));
        let call = Call::Init {
            id: name.clone(),
            timeout_ms: 65_000,
        };
        self.execute_by_app(p, &call);
        self.brokers[p].write_markers(u64::MAX);
        if let Reply::Done(producer) = self.execute_by_app(p, &call) {
            self.process.app.owns[index].producer = producer;
            let account = self.oracle.account(id);
            (account.lost_write, account.disturbed) = (true, true);
            self.write_by_own(index, id);
        }
    }

    /// Asks whether an own producer may initialise.
    pub fn settle(&mut self, index: usize) {
        let own = &self.process.app.owns[index];
        let request = Request::Settle {
            participant: ParticipantId(own.p as u16),
            transactional_id: own.name.clone(),
        };
        let key = (own.p, own.name.clone());
        if self.request(request).is_ok() {
            self.process.app.owns[index].stage = Stage::Settling;
            let known = self.process.given_out;
            self.process.settling.entry(key).or_insert(known);
        }
    }

    /// It may: its client initialises it, and tries again while the broker is ending what was open.
    pub fn settled(&mut self, p: usize, name: &Arc<str>) {
        let asked = self.process.settling.remove(&(p, name.clone()));
        let zombie = self.process.role == Role::Zombie;
        let heard = asked.is_none_or(|known| self.process.durable > known);
        demand(fencing::settled(!zombie || heard, name));
        let Some(own) = self.process.app.own(p, name) else {
            return;
        };
        if own.stage != Stage::Settling {
            return;
        }
        own.stage = Stage::Fresh;
        if self.reach(p, name) != Reach::Good || self.links[p].impostor {
            return;
        }
        let call = Call::Init {
            id: name.clone(),
            timeout_ms: 65_000,
        };
        for _ in 0..3 {
            if let Reply::Done(producer) = self.initialise(p, &call)
                && let Some(own) = self.process.app.own(p, name)
            {
                own.producer = producer;
                own.stage = Stage::Ready;
                return;
            }
            self.brokers[p].write_markers(u64::MAX);
        }
    }

    /// The application of a zombie fences that of its successor, as any two instances of one do.
    fn initialise(&mut self, p: usize, call: &Call) -> Reply {
        match self.process.role {
            Role::Owner => self.execute(p, call),
            Role::Zombie => {
                self.oracle.overtakes((p, call.id()), None, &self.logs);
                self.execute_by_app(p, call)
            }
        }
    }

    /// A transaction that still takes branches, other than this one; a new one if there is none.
    pub fn next_open(&mut self, other: Option<TransactionId>) -> Option<TransactionId> {
        let next = self.process.app.open.iter();
        let mut next = next.filter(|(id, open)| Some(**id) != other && !open.asked && !open.of_job);
        let next = next.next().map(|(id, _)| *id);
        next.or_else(|| self.begin())
    }

    /// Own producers of a transaction that was asked to commit take part in another one before they are released.
    pub fn be_impatient(&mut self, id: TransactionId) {
        let Some(next) = self.next_open(Some(id)) else {
            return;
        };
        for index in 0..self.process.app.owns.len() {
            let own = &self.process.app.owns[index];
            if own.stage == Stage::Writing(id) && self.source.once_in(2) {
                self.tell(|| format!("its own producer is enlisted in {next} at once"));
                self.enlist_own_at(index, next);
            }
        }
    }

    /// Own producers of a transaction end it by themselves, before they are told.
    pub fn be_rash(&mut self, id: TransactionId) {
        for index in 0..self.process.app.owns.len() {
            let own = &self.process.app.owns[index];
            // Who has initialised it anew has nothing to end by the identity that was enlisted.
            let anew = self.oracle.accounts.get(&id).is_some_and(|a| a.disturbed);
            if own.stage != Stage::Writing(id) || anew || !self.source.once_in(3) {
                continue;
            }
            let decision = [Decision::Commit, Decision::Abort][self.source.pick(2)];
            self.tell(|| format!("the application itself ends its branch: {decision:?}"));
            self.end_by_app(index, decision);
            if self.source.once_in(3) {
                self.hide_end(index);
            }
        }
    }

    /// Another instance of it initialises the producer: nothing shows any more how its last transaction ended.
    fn hide_end(&mut self, index: usize) {
        let own = &self.process.app.owns[index];
        let (p, name) = (own.p, own.name.clone());
        let open = self.brokers[p].open_tag(&name).is_some();
        if open || self.reach(p, &name) != Reach::Good || self.links[p].impostor {
            return;
        }
        self.tell(|| format!("another instance initialises {name}"));
        self.oracle.overtakes((p, &name), None, &self.logs);
        self.brokers[p].write_markers(u64::MAX);
        let timeout_ms = 65_000;
        self.execute_by_app(
            p,
            &Call::Init {
                id: name,
                timeout_ms,
            },
        );
    }

    fn end_by_app(&mut self, index: usize, decision: Decision) {
        let own = &self.process.app.owns[index];
        let (p, name) = (own.p, own.name.clone());
        let call = Call::End {
            id: name.clone(),
            producer: own.producer,
            version: writer_version(own.class),
            decision,
            intent: self.brokers[p].open_tag(&name).cloned(),
        };
        if self.reach(p, &name) == Reach::Good && !self.links[p].impostor {
            self.execute_by_app(p, &call);
        }
    }

    /// Its own commit or abort call returns at once: with a v2 client that is how it learns its next epoch.
    pub fn own_released(&mut self, (p, name): (usize, &Arc<str>), id: TransactionId, reuse: Reuse) {
        let owns = self.process.app.owns.iter();
        let writes = |own: &Own| own.p == p && own.name == *name && own.stage == Stage::Writing(id);
        let Some(index) = owns.clone().position(writes) else {
            return;
        };
        // What it wrote while it was being aborted.
        let aborted = !self.oracle.account(id).decided;
        let left = |tag: &Tag| tag.stray || aborted && tag.transaction == id;
        if self.brokers[p].open_tag(name).is_some_and(left) {
            self.end_by_app(index, Decision::Abort);
        }
        let now = self.brokers[p].producer(name);
        let own = &self.process.app.owns[index];
        let reusable = match own.class {
            VersionClass::V1 => now == Some(own.producer),
            VersionClass::V2 => now.is_some(),
        };
        let deaf = reuse == Reuse::Discard
            && self.faults
            && self.swarm.has(Fault::OwnUnsettled)
            && self.source.once_in(2);
        let own = &mut self.process.app.owns[index];
        if (reuse == Reuse::Reuse || deaf) && reusable {
            own.producer = now.unwrap_or(own.producer);
            own.stage = Stage::Ready;
        } else {
            own.stage = Stage::Fresh;
        }
    }

    /// The coordinator's process died: the application hears nothing of what was open.
    pub fn lose_coordinator(&mut self) {
        self.process.app.open.clear();
        self.process.enlisting.clear();
        self.process.app.job = self.process.app.job.restarted();
        for id in &self.process.began {
            let account = self.oracle.account(*id);
            (account.live, account.owed) = (false, false);
        }
        let unsettled = self.faults && self.swarm.has(Fault::OwnUnsettled);
        for own in &mut self.process.app.owns {
            // An application that survives may try to go on with the same producer, if all was delivered.
            let sound = matches!(own.stage, Stage::Writing(_)) && own.report.failed == 0;
            let survives = unsettled && sound && self.source.once_in(3);
            if own.stage != Stage::Ready {
                own.stage = if survives { Stage::Ready } else { Stage::Fresh };
            }
        }
    }
}
