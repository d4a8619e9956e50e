//! What the application hears, and what it then does.

use std::sync::Arc;

use gtc_core::{Decision, Event, Outcome, Reuse, SlotId, TransactionId, VersionClass, WriteReport};

use super::{Own, Stage};
use crate::model::broker::{Call, Reply, writer_version};
use crate::world::World;
use crate::world::driver::Lease;

impl World {
    /// What the coordinator tells.
    pub fn hear(&mut self, event: Event) {
        self.note(|| format!("event {event:?}"));
        match event {
            Event::Enlisted {
                transaction,
                participant,
                slot,
                ..
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
                ..
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
                version: writer_version(own.class),
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
