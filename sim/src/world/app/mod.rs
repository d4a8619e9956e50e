//! A model of an application: it begins, enlists, writes through pool slots and own producers, commits.

pub mod hear;
pub mod job;
pub mod own;
pub mod write;

use std::collections::BTreeMap;
use std::time::Duration;

use gtc_core::{Accepted, CommitReturn, ParticipantId, Refusal, Request, SlotId, TransactionId};

use super::World;
use super::process::Role;
use crate::swarm::Fault;
use job::Job;
use own::{Own, Stage};

/// The time-out of those transactions that have one of their own.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A transaction that the application has open.
#[derive(Clone, Default)]
pub struct Open {
    /// Enlistments without an answer.
    pub waiting: usize,
    /// Its leased slots.
    pub slots: Vec<(usize, SlotId)>,
    /// It was asked to commit or to abort.
    pub asked: bool,
    /// It belongs to the job, which looks after it alone.
    pub of_job: bool,
}

/// The application.
#[derive(Clone, Default)]
pub struct App {
    pub open: BTreeMap<TransactionId, Open>,
    pub owns: Vec<Own>,
    pub job: Job,
}

impl App {
    /// The same application in a new process, which knows nothing of what the old one was about.
    pub fn restarted(&self) -> Self {
        let fresh = |own: &Own| Own {
            stage: Stage::Fresh,
            ..own.clone()
        };
        Self {
            open: BTreeMap::new(),
            owns: self.owns.iter().map(fresh).collect(),
            job: self.job.restarted(),
        }
    }
}

impl World {
    /// One thing that an application does.
    pub fn app_step(&mut self) {
        match self.source.pick(16) {
            0 | 1 => {
                self.begin();
            }
            2..=4 => self.enlist_some(),
            5..=7 => self.write_some(),
            8 | 9 => self.commit_some(),
            10 | 14 | 15 => self.own_step(),
            11 | 12 => self.job_step(),
            _ => self.abort_some(),
        }
    }

    /// Asks the coordinator for something.
    pub fn request(&mut self, request: Request) -> Result<Accepted, Refusal> {
        let result = self
            .process
            .coordinator
            .handle_request(request.clone(), self.now);
        self.note(|| format!("request {request:?} -> {result:?}"));
        result
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Option<TransactionId> {
        if self.process.app.open.len() >= 4 {
            return None;
        }
        let key = self
            .source
            .once_in(4)
            .then(|| vec![self.source.pick(3) as u8]);
        let timeout = self.source.once_in(8).then_some(TIMEOUT);
        let recorded = key.is_some();
        let mut begun = None;
        if let Ok(Accepted::Begun(id)) = self.request(Request::Begin { key, timeout }) {
            self.tell(|| format!("the application begins {id}"));
            self.process.app.open.insert(id, Open::default());
            self.process.began.push(id);
            let account = self.oracle.account(id);
            account.live = self.process.role == Role::Owner;
            account.owed = true;
            account.recorded = recorded;
            begun = Some(id);
        }
        self.drain();
        begun
    }

    fn some_open(&mut self, wanted: impl Fn(&Open) -> bool) -> Option<TransactionId> {
        let open = self.process.app.open.iter();
        let open = open.filter(|(_, open)| wanted(open) && !open.of_job);
        let open: Vec<TransactionId> = open.map(|(id, _)| *id).collect();
        let index = self.source.pick(open.len());
        open.get(index).copied()
    }

    fn enlist_some(&mut self) {
        let Some(id) = self.some_open(|open| !open.asked) else {
            self.begin();
            return;
        };
        if self.source.once_in(3) {
            return self.enlist_own(id);
        }
        let p = self.source.pick(self.brokers.len());
        self.enlist(id, p);
    }

    /// Enlists a managed branch, unless the transaction has one there.
    pub fn enlist(&mut self, id: TransactionId, p: usize) {
        let open = self.process.app.open.get(&id);
        if open.is_none_or(|open| open.slots.iter().any(|(at, _)| *at == p)) {
            return;
        }
        let request = Request::Enlist {
            transaction: id,
            participant: ParticipantId(p as u16),
        };
        let already = self.process.enlisting.contains(&(id, p));
        if self.request(request).is_ok() && !already {
            self.process.enlisting.insert((id, p));
            self.waits(id, 1);
        }
        self.drain();
    }

    /// So many more enlistments of a transaction are without an answer.
    pub fn waits(&mut self, id: TransactionId, more: isize) {
        if let Some(open) = self.process.app.open.get_mut(&id) {
            open.waiting = open.waiting.saturating_add_signed(more);
        }
    }

    fn commit_some(&mut self) {
        if let Some(id) = self.some_open(|open| !open.asked && open.waiting == 0) {
            self.commit(id);
        }
    }

    /// Asks to commit.
    pub fn commit(&mut self, id: TransactionId) {
        let report = match self.source.once_in(4) {
            true => CommitReturn::Decided,
            false => CommitReturn::Acknowledged,
        };
        let request = Request::Commit {
            transaction: id,
            report,
        };
        self.tell(|| format!("the application commits {id}"));
        self.oracle.account(id).commit_asked = true;
        let accepted = self.request(request).is_ok();
        if accepted {
            self.asked(id);
        } else {
            self.oracle.account(id).commit_asked = false;
        }
        self.drain();
        if accepted && self.has(Fault::OwnRash) {
            self.be_rash(id);
        }
        if self.has(Fault::OwnImpatient) {
            self.be_impatient(id);
        }
    }

    fn asked(&mut self, id: TransactionId) {
        if let Some(open) = self.process.app.open.get_mut(&id) {
            open.asked = true;
        }
    }

    fn abort_some(&mut self) {
        if let Some(id) = self.some_open(|_| true) {
            self.abort(id);
        }
    }

    /// Asks to abort.
    pub fn abort(&mut self, id: TransactionId) {
        let request = Request::Abort {
            transaction: id,
            reason: "model".into(),
        };
        if self.request(request).is_ok() {
            self.tell(|| format!("the application aborts {id}"));
            self.asked(id);
            self.oracle.account(id).abort_asked = true;
        }
        self.drain();
    }
}
