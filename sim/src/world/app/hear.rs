//! What the application hears, and what it then does.

use std::sync::Arc;

use gtc_core::{Event, Outcome, SlotId, TransactionId, VersionClass, WriteReport};

use super::own::Stage;
use crate::invariants::{log_identity, one_lease, told_late, whole_checkpoint};
use crate::violation::demand;
use crate::world::World;
use crate::world::driver::Lease;
use crate::world::process::Role;

impl World {
    /// What the coordinator tells.
    pub fn hear(&mut self, event: Event) {
        self.note(|| format!("event {event:?}"));
        match event {
            Event::Enlisted {
                transaction,
                participant,
                slot,
                transactional_id,
            } => {
                let p = usize::from(participant.0);
                self.waits(transaction, -1);
                match slot {
                    Some(slot) => self.enlisted(transaction, p, slot),
                    None => self.own_enlisted(transaction, p, &transactional_id),
                }
            }
            Event::EnlistRefused {
                transaction,
                participant,
                own,
                ..
            } => self.enlist_refused(transaction, usize::from(participant.0), own),
            Event::Ended {
                transaction,
                outcome,
            } => self.ended(transaction, &outcome),
            Event::OwnReleased {
                transaction,
                participant,
                transactional_id,
                reuse,
            } => {
                let own = (usize::from(participant.0), &transactional_id);
                self.own_released(own, transaction, reuse);
            }
            Event::Heuristic(id, branch) => {
                self.tell(|| format!("a heuristic outcome of {id} is reported: {branch:?}"));
                self.oracle.heuristic(id, &branch, &self.brokers);
            }
            Event::Settled {
                participant,
                transactional_id,
            } => self.settled(usize::from(participant.0), &transactional_id),
            Event::Recovered => {
                self.process.recovered = true;
                // A zombie knows nothing of what its successor has open.
                // What a restored cluster brings back under the name of a decided branch goes with the next sweep.
                if self.process.role == Role::Owner && !self.restored {
                    self.oracle.recovered(self.process.log, &self.brokers);
                }
            }
            Event::Foreign(branch) => {
                let p = branch.participant.trim_start_matches('p').parse();
                let id = branch.transactional_id.to_string();
                self.process.foreign.insert((p.unwrap_or_default(), id));
            }
            Event::Decided(id) => self.told_of_decision(id),
            Event::Stopped(reason) => {
                self.tell(|| format!("the coordinator stops: {reason:?}"));
                demand(whole_checkpoint::applies(&reason));
                if self.process.role == Role::Owner && !self.on_copy {
                    demand(log_identity::not_stale(&reason));
                }
                self.process.stopped = Some(reason);
            }
            _ => {}
        }
    }

    fn told_of_decision(&mut self, id: TransactionId) {
        let account = self.oracle.account(id);
        let mut own = account
            .written
            .iter()
            .filter(|tag| !tag.name.starts_with("gtc."));
        let open = own.find(|tag| self.brokers[tag.participant].open_tag(&tag.name) == Some(tag));
        demand(told_late::check(id, open));
    }

    fn own_enlisted(&mut self, id: TransactionId, p: usize, name: &Arc<str>) {
        self.oracle.account(id).own.insert((p, name.clone()));
        if let Some(own) = self.process.app.own(p, name)
            && own.stage == Stage::Enlisting(id)
        {
            own.stage = Stage::Writing(id);
            if own.class == VersionClass::V2 {
                own.producer = self.brokers[p].producer(name).unwrap_or(own.producer);
            }
            own.report = WriteReport {
                stated_delivered: true,
                ..WriteReport::default()
            };
            let early = own.early.take().filter(|tag| tag.transaction == id);
            let early = early.filter(|tag| self.brokers[p].open_tag(name) == Some(tag));
            let account = self.oracle.account(id);
            account.recorded = true;
            if let Some(tag) = early {
                account.early.remove(&tag);
                account.written.insert(tag);
            }
        }
    }

    fn enlisted(&mut self, id: TransactionId, p: usize, slot: SlotId) {
        self.process.enlisting.remove(&(id, p));
        let instance = self.process.driver.instances.get_mut(&(p, slot));
        let instance = instance.expect("a leased slot has an instance");
        // A lease that wrote nothing ended without a call.
        let open = |lease: &&Lease| {
            lease.transaction != id && lease.report.sent + lease.report.offsets_sent > 0
        };
        let busy = instance.lease.as_ref().filter(open);
        demand(one_lease::leased(busy.map(|lease| lease.transaction), id));
        instance.lease = Some(Lease {
            transaction: id,
            report: WriteReport::default(),
        });
        if let Some(open) = self.process.app.open.get_mut(&id) {
            open.slots.push((p, slot));
        }
    }

    fn enlist_refused(&mut self, id: TransactionId, p: usize, own: Option<Arc<str>>) {
        self.waits(id, -1);
        let Some(name) = own else {
            self.process.enlisting.remove(&(id, p));
            return;
        };
        if let Some(own) = self.process.app.own(p, &name)
            && own.stage == Stage::Enlisting(id)
        {
            own.stage = Stage::Fresh;
        }
    }

    fn ended(&mut self, id: TransactionId, outcome: &Outcome) {
        self.tell(|| format!("the caller of {id} hears: {outcome:?}"));
        self.process.app.open.remove(&id);
        for own in &mut self.process.app.owns {
            if own.stage.transaction() == Some(id) {
                own.stage = Stage::Fresh;
            }
        }
        self.oracle.told(id, outcome, &self.brokers);
    }
}
