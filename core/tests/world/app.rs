//! A model of an application: it begins, enlists, writes through pool slots and own producers, commits.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Accepted, CommitReturn, Decision, Event, Outcome, ParticipantId, ProducerIdentity, Refusal,
    Request, Reuse, SlotId, TransactionId, VersionClass, WriteReport,
};

use super::World;
use super::broker::{Call, Fate, Reply, Tag};
use super::driver::Lease;

/// A transaction that the application has open.
#[derive(Default)]
pub struct Open {
    /// Enlistments without an answer.
    pub waiting: usize,
    pub slots: Vec<(usize, SlotId)>,
    pub asked: bool,
}

/// Where an own producer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not initialised in this life.
    Fresh,
    /// Has asked to settle.
    Settling,
    Ready,
    Enlisting(TransactionId),
    Writing(TransactionId),
}

/// A producer of the application's own.
pub struct Own {
    pub p: usize,
    pub name: Arc<str>,
    pub class: VersionClass,
    pub stage: Stage,
    pub producer: ProducerIdentity,
    pub report: WriteReport,
}

/// The application.
#[derive(Default)]
pub struct App {
    pub open: BTreeMap<TransactionId, Open>,
    pub owns: Vec<Own>,
}

impl App {
    /// What the façade of an own producer counted.
    pub fn own_report(&self, p: usize, name: &str) -> WriteReport {
        let own = self
            .owns
            .iter()
            .find(|own| own.p == p && *own.name == *name);
        own.expect("an own producer that was enlisted")
            .report
            .clone()
    }
}

impl World {
    /// One thing that an application does.
    pub fn app_step(&mut self) {
        match self.source.pick(12) {
            0 | 1 => self.begin(),
            2..=4 => self.enlist_some(),
            5..=7 => self.write_some(),
            8 | 9 => self.commit_some(),
            10 => self.own_step(),
            _ => self.abort_some(),
        }
    }

    fn request(&mut self, request: Request) -> Result<Accepted, Refusal> {
        let result = self.coordinator.handle_request(request.clone(), self.now);
        self.note(|| format!("request {request:?} -> {result:?}"));
        result
    }

    pub fn begin(&mut self) {
        if self.app.open.len() >= 4 {
            return;
        }
        let key = (self.source.pick(4) == 3).then(|| vec![self.source.pick(3) as u8]);
        let timeout = (self.source.pick(8) == 7).then(|| core::time::Duration::from_secs(3));
        let recorded = key.is_some();
        if let Ok(Accepted::Begun(id)) = self.request(Request::Begin { key, timeout }) {
            self.app.open.insert(id, Open::default());
            let account = self.oracle.account(id);
            account.live = true;
            account.recorded = recorded;
        }
        self.drain();
    }

    fn some_open(&mut self, wanted: impl Fn(&Open) -> bool) -> Option<TransactionId> {
        let open = self.app.open.iter().filter(|(_, open)| wanted(open));
        let open: Vec<TransactionId> = open.map(|(id, _)| *id).collect();
        let index = self.source.pick(open.len());
        open.get(index).copied()
    }

    fn enlist_some(&mut self) {
        let Some(id) = self.some_open(|open| !open.asked) else {
            return self.begin();
        };
        if self.source.pick(4) == 3 {
            return self.enlist_own(id);
        }
        let p = self.source.pick(self.brokers.len());
        self.enlist(id, p);
    }

    /// Enlists a managed branch, unless the transaction has one there.
    pub fn enlist(&mut self, id: TransactionId, p: usize) {
        let open = self.app.open.get(&id);
        if open.is_none_or(|open| open.slots.iter().any(|(at, _)| *at == p)) {
            return;
        }
        let waits = |own: &Own| own.p == p && own.stage == Stage::Enlisting(id);
        if self.app.owns.iter().any(waits) {
            return;
        }
        let participant = ParticipantId(p as u16);
        let request = Request::Enlist {
            transaction: id,
            participant,
        };
        let already = self.enlisting.contains(&(id, p));
        if self.request(request).is_ok() && !already {
            self.enlisting.insert((id, p));
            self.waits(id, 1);
        }
        self.drain();
    }

    fn waits(&mut self, id: TransactionId, more: isize) {
        if let Some(open) = self.app.open.get_mut(&id) {
            open.waiting = open.waiting.saturating_add_signed(more);
        }
    }

    fn enlist_own(&mut self, id: TransactionId) {
        let ready = |own: &Own| own.stage == Stage::Ready;
        let ready: Vec<usize> = (0..self.app.owns.len())
            .filter(|index| ready(&self.app.owns[*index]))
            .collect();
        let choice = self.source.pick(ready.len());
        let Some(index) = ready.get(choice).copied() else {
            return self.own_step();
        };
        let own = &self.app.owns[index];
        let here = |other: &Own| {
            let same = matches!(other.stage, Stage::Enlisting(t) | Stage::Writing(t) if t == id);
            other.p == own.p && same
        };
        // The events name the participant only: one that waits there at a time.
        if self.app.owns.iter().any(here) || self.enlisting.contains(&(id, own.p)) {
            return;
        }
        let request = Request::EnlistOwn {
            transaction: id,
            participant: ParticipantId(own.p as u16),
            transactional_id: own.name.clone(),
            version_class: own.class,
        };
        if self.request(request).is_ok() {
            self.app.owns[index].stage = Stage::Enlisting(id);
            self.waits(id, 1);
        }
        self.drain();
    }

    /// Restarts an own producer, or takes it a step further (R5).
    pub fn own_step(&mut self) {
        let index = self.source.pick(self.app.owns.len());
        let Some(own) = self.app.owns.get_mut(index) else {
            return;
        };
        let restarts = self.faults && own.stage != Stage::Settling && self.source.pick(6) == 5;
        if own.stage != Stage::Fresh && !restarts {
            return;
        }
        own.stage = Stage::Fresh;
        let request = Request::Settle {
            participant: ParticipantId(own.p as u16),
            transactional_id: own.name.clone(),
        };
        self.settle(index, request);
        self.drain();
    }

    fn settle(&mut self, index: usize, request: Request) {
        if self.request(request).is_ok() {
            self.app.owns[index].stage = Stage::Settling;
        }
    }

    fn write_some(&mut self) {
        let Some(id) = self.some_open(|open| !open.asked) else {
            return;
        };
        let slots = self.app.open[&id].slots.clone();
        let choice = self.source.pick(slots.len() + 1);
        match slots.get(choice) {
            Some(slot) => self.write(id, *slot),
            None => self.write_own(id),
        }
    }

    /// Writes a record through a leased slot.
    pub fn write(&mut self, id: TransactionId, key: (usize, SlotId)) {
        let Some(instance) = self.driver.instances.get(&key) else {
            return;
        };
        let (name, producer) = (instance.name.clone(), instance.producer);
        let leased = |lease: &Lease| lease.transaction == id;
        if !instance.lease.as_ref().is_some_and(leased) {
            // It is being aborted, and the application does not know yet: the driver refuses the record.
            self.oracle.account(id).lost_write = true;
            return;
        }
        let (delivered, mut clean) = self.deliver(id, key.0, (name.clone(), producer));
        if delivered && self.faults && self.source.pick(24 * self.calm) == 1 {
            // AddPartitionsToTxn was repeated: the copy may open a transaction once this one is ended.
            clean = false;
            let tag = Tag {
                transaction: id,
                participant: key.0,
                name: name.clone(),
                stray: true,
            };
            let id = name;
            self.late.push((key.0, Call::Add { id, producer, tag }));
        }
        let Some(instance) = self.driver.instances.get_mut(&key) else {
            return;
        };
        instance.suspicious |= !clean;
        if let Some(lease) = &mut instance.lease {
            count(&mut lease.report, delivered);
        }
    }

    fn write_own(&mut self, id: TransactionId) {
        let writing = |own: &Own| own.stage == Stage::Writing(id);
        let Some(index) = self.app.owns.iter().position(writing) else {
            return;
        };
        let own = &self.app.owns[index];
        let (p, name, producer) = (own.p, own.name.clone(), own.producer);
        let (delivered, _) = self.deliver(id, p, (name, producer));
        count(&mut self.app.owns[index].report, delivered);
    }

    /// Whether a record was delivered, and whether every request of it was answered.
    fn deliver(
        &mut self,
        id: TransactionId,
        p: usize,
        (name, producer): (Arc<str>, ProducerIdentity),
    ) -> (bool, bool) {
        let mut tag = Tag {
            transaction: id,
            participant: p,
            name: name.clone(),
            stray: false,
        };
        let ended = self.brokers[p].fates.get(&tag);
        if ended.is_some_and(|fate| *fate != Fate::Open) {
            // It was aborted, and its own producer, which does not know yet, goes on.
            tag.stray = true;
        }
        let fails = !self.brokers[p].up || self.faults && self.source.pick(12 * self.calm) == 11;
        if fails {
            self.oracle.account(id).lost_write = true;
            self.note(|| format!("a record of {id} to {name} is lost"));
            if self.source.pick(2) == 1 {
                tag.stray = true;
                self.late.push((
                    p,
                    Call::Add {
                        id: name,
                        producer,
                        tag,
                    },
                ));
            }
            return (false, false);
        }
        let call = Call::Add {
            id: name,
            producer,
            tag: tag.clone(),
        };
        let mut reply = self.execute(p, &call);
        if reply == Reply::Code(51) {
            // The client tries again once the markers of the transaction before are written.
            self.brokers[p].tick(self.now.monotonic.as_micros());
            reply = self.execute(p, &call);
        }
        match reply {
            Reply::Done(_) => {
                if !tag.stray {
                    self.oracle.account(id).written.insert(tag);
                }
                (true, true)
            }
            Reply::Code(_) => {
                self.oracle.account(id).lost_write = true;
                (false, true)
            }
        }
    }

    fn commit_some(&mut self) {
        if let Some(id) = self.some_open(|open| !open.asked && open.waiting == 0) {
            self.commit(id);
        }
    }

    pub fn commit(&mut self, id: TransactionId) {
        let report = if self.source.pick(4) == 3 {
            CommitReturn::Decided
        } else {
            CommitReturn::Acknowledged
        };
        let request = Request::Commit {
            transaction: id,
            report,
        };
        self.oracle.account(id).commit_asked = true;
        match self.request(request) {
            Ok(_) => self.asked(id),
            Err(_) => self.oracle.account(id).commit_asked = false,
        }
        self.drain();
    }

    fn asked(&mut self, id: TransactionId) {
        if let Some(open) = self.app.open.get_mut(&id) {
            open.asked = true;
        }
    }

    fn abort_some(&mut self) {
        if let Some(id) = self.some_open(|_| true) {
            self.abort(id);
        }
    }

    pub fn abort(&mut self, id: TransactionId) {
        let request = Request::Abort {
            transaction: id,
            reason: "model".into(),
        };
        if self.request(request).is_ok() {
            self.asked(id);
            self.oracle.account(id).abort_asked = true;
        }
        self.drain();
    }

    /// What the coordinator tells.
    pub fn hear(&mut self, event: Event) {
        self.note(|| format!("event {event:?}"));
        match event {
            Event::Enlisted {
                transaction,
                participant,
                slot,
            } => self.enlisted(transaction, usize::from(participant.0), slot),
            Event::EnlistRefused {
                transaction,
                participant,
                ..
            } => self.enlist_refused(transaction, usize::from(participant.0)),
            Event::Ended {
                transaction,
                outcome,
            } => self.ended(transaction, &outcome),
            Event::OwnReleased {
                transaction,
                participant,
                reuse,
            } => self.own_released(transaction, usize::from(participant.0), reuse),
            Event::Heuristic(id, branch) => self.oracle.heuristic(id, &branch, &self.brokers),
            Event::Settled {
                participant,
                transactional_id,
            } => self.settled(usize::from(participant.0), &transactional_id),
            Event::Recovered => {
                self.recovered = true;
                self.oracle.recovered(&self.brokers);
            }
            Event::Stopped(_) => self.stopped = true,
            _ => {}
        }
    }

    fn enlisted(&mut self, id: TransactionId, p: usize, slot: Option<SlotId>) {
        self.waits(id, -1);
        let Some(slot) = slot else {
            let enlisting = |own: &&mut Own| own.p == p && own.stage == Stage::Enlisting(id);
            if let Some(own) = self.app.owns.iter_mut().find(enlisting) {
                own.stage = Stage::Writing(id);
                own.report = WriteReport {
                    stated_delivered: true,
                    ..WriteReport::default()
                };
                self.oracle.account(id).recorded = true;
            }
            return;
        };
        self.enlisting.remove(&(id, p));
        let instance = self.driver.instances.get_mut(&(p, slot));
        let instance = instance.expect("a leased slot has an instance");
        // A lease that wrote nothing ended without a call.
        let over = |lease: &Lease| lease.transaction == id || lease.report.sent == 0;
        assert!(
            instance.lease.as_ref().is_none_or(over),
            "one transaction a slot"
        );
        instance.lease = Some(Lease {
            transaction: id,
            report: WriteReport::default(),
        });
        if let Some(open) = self.app.open.get_mut(&id) {
            open.slots.push((p, slot));
        }
    }

    fn enlist_refused(&mut self, id: TransactionId, p: usize) {
        self.waits(id, -1);
        if self.enlisting.remove(&(id, p)) {
            return;
        }
        let enlisting = |own: &&mut Own| own.p == p && own.stage == Stage::Enlisting(id);
        if let Some(own) = self.app.owns.iter_mut().find(enlisting) {
            own.stage = Stage::Fresh;
        }
    }

    fn ended(&mut self, id: TransactionId, outcome: &Outcome) {
        self.app.open.remove(&id);
        self.oracle.told(id, outcome, &self.brokers);
    }

    /// Its own commit or abort call returns at once: with a v2 client that is how it learns its next epoch.
    fn own_released(&mut self, id: TransactionId, p: usize, reuse: Reuse) {
        let writing = |own: &Own| own.p == p && own.stage == Stage::Writing(id);
        let Some(index) = self.app.owns.iter().position(writing) else {
            return;
        };
        let own = &self.app.owns[index];
        if let Some(stray) = self.brokers[p].open_tag(&own.name).cloned() {
            let call = Call::End {
                id: own.name.clone(),
                producer: own.producer,
                class: own.class,
                decision: Decision::Abort,
                intent: Some(stray),
            };
            self.execute(p, &call);
        }
        let own = &mut self.app.owns[index];
        let now = self.brokers[p].producer(&own.name);
        let reusable = match own.class {
            VersionClass::V1 => now == Some(own.producer),
            VersionClass::V2 => now.is_some(),
        };
        if reuse == Reuse::Reuse && reusable && own.report.failed == 0 {
            own.producer = now.unwrap_or(own.producer);
            own.stage = Stage::Ready;
        } else {
            own.stage = Stage::Fresh;
        }
    }

    fn settled(&mut self, p: usize, name: &Arc<str>) {
        let settling = |own: &Own| own.p == p && own.name == *name && own.stage == Stage::Settling;
        let Some(index) = self.app.owns.iter().position(settling) else {
            return;
        };
        self.app.owns[index].stage = Stage::Fresh;
        if !self.brokers[p].up {
            return;
        }
        let call = Call::Init {
            id: name.clone(),
            timeout_ms: 65_000,
        };
        // The client repeats it while the broker is still ending what was open.
        for _ in 0..3 {
            if let Reply::Done(producer) = self.execute(p, &call) {
                self.app.owns[index].producer = producer;
                self.app.owns[index].stage = Stage::Ready;
                return;
            }
            self.brokers[p].tick(self.now.monotonic.as_micros());
        }
    }

    /// The coordinator's process died: the application hears nothing of what was open.
    pub fn lose_coordinator(&mut self) {
        self.app.open.clear();
        self.enlisting.clear();
        for account in self.oracle.accounts.values_mut() {
            account.live = false;
        }
        for own in &mut self.app.owns {
            // An application that survives may try to go on with the same producer, if all was delivered.
            let sound = matches!(own.stage, Stage::Writing(_)) && own.report.failed == 0;
            let survives = sound && self.source.pick(4) == 3;
            if own.stage != Stage::Ready {
                own.stage = if survives { Stage::Ready } else { Stage::Fresh };
            }
        }
    }
}

fn count(report: &mut WriteReport, delivered: bool) {
    report.sent += 1;
    report.delivered += u64::from(delivered);
    report.failed += u64::from(!delivered);
}
