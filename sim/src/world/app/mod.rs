//! A model of an application: it begins, enlists, writes through pool slots and own producers, commits.

mod hear;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Accepted, CommitReturn, ParticipantId, ProducerIdentity, Refusal, Request, SlotId,
    TransactionId, VersionClass, WriteReport,
};

use super::World;

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
}
