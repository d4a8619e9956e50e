//! Records: through leased slots, and through own producers.

use std::sync::Arc;

use gtc_core::{ProducerIdentity, SlotId, TransactionId, WriteReport};

use super::{Own, Stage};
use crate::model::broker::{Call, Fate, Reply, Tag};
use crate::world::World;
use crate::world::driver::Lease;

impl World {
    pub(super) fn write_some(&mut self) {
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

    pub(super) fn write_own(&mut self, id: TransactionId) {
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
    pub(super) fn deliver(
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
}

fn count(report: &mut WriteReport, delivered: bool) {
    report.sent += 1;
    report.delivered += u64::from(delivered);
    report.failed += u64::from(!delivered);
}
