//! Records: through leased slots, and through own producers.

use std::sync::Arc;

use gtc_core::{ProducerIdentity, SlotId, TransactionId, VersionClass, WriteReport};

use super::TIMEOUT;
use super::own::{Own, Stage};
use crate::model::broker::{Call, Fate, Reply, Tag, code};
use crate::swarm::Fault;
use crate::world::World;
use crate::world::driver::Lease;
use crate::world::network::Reach;
use crate::world::process::Role;

/// A producer that writes a record.
struct Writing {
    producer: ProducerIdentity,
    class: VersionClass,
    tag: Tag,
    number: u64,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Done,
    /// Refused by its cluster.
    Refused,
    /// Not answered, or not at once.
    Lost,
}

impl World {
    pub(super) fn write_some(&mut self) {
        let open = self.process.app.open.iter();
        let open = open.filter(|(_, open)| !open.asked && !open.of_job);
        let open: Vec<TransactionId> = open.map(|(id, _)| *id).collect();
        let choice = self.source.pick(open.len());
        let Some(id) = open.get(choice).copied() else {
            return;
        };
        let slots = self.process.app.open[&id].slots.clone();
        let choice = self.source.pick(slots.len() + 1);
        match slots.get(choice) {
            Some(slot) => self.write(id, *slot),
            None => self.write_own(id),
        }
    }

    /// Writes a record through a leased slot.
    pub fn write(&mut self, id: TransactionId, key: (usize, SlotId)) {
        let number = self.oracle.next_number();
        self.write_number(id, key, number);
    }

    /// Writes this record through a leased slot.
    pub fn write_number(&mut self, id: TransactionId, key: (usize, SlotId), number: u64) {
        let leased = |lease: &Lease| lease.transaction == id;
        let instance = self.process.driver.instances.get(&key);
        let instance = instance.filter(|instance| instance.lease.as_ref().is_some_and(leased));
        let Some(instance) = instance else {
            // It is being aborted, and the application does not know yet: the driver refuses the record.
            self.oracle.account(id).lost_write = true;
            return;
        };
        let writing = Writing {
            producer: instance.producer,
            class: VersionClass::V1,
            tag: self.tag(id, key.0, &instance.name),
            number,
        };
        let delivery = self.deliver(&writing);
        let repeated = delivery == Delivery::Done && self.repeats_add(&writing);
        let Some(instance) = self.process.driver.instances.get_mut(&key) else {
            return;
        };
        instance.suspicious |= delivery != Delivery::Done || repeated;
        if let Some(lease) = &mut instance.lease {
            count(&mut lease.report, delivery);
        }
    }

    /// AddPartitionsToTxn was repeated: the copy may open a transaction once this one is ended.
    fn repeats_add(&mut self, writing: &Writing) -> bool {
        let may = self.faults && self.swarm.has(Fault::Repeated);
        let repeats = may && self.source.once_in(24 * self.swarm.calm);
        if repeats {
            self.late_add(writing);
        }
        repeats
    }

    fn late_add(&mut self, writing: &Writing) {
        let tag = Tag {
            stray: true,
            ..writing.tag.clone()
        };
        let call = Call::Add {
            id: tag.name.clone(),
            producer: writing.producer,
            tag: tag.clone(),
        };
        self.late.push((tag.participant, call));
    }

    fn write_own(&mut self, id: TransactionId) {
        let owns = self.process.app.owns.iter();
        let writing = |own: &Own| own.stage == Stage::Writing(id);
        let writing: Vec<usize> = owns
            .enumerate()
            .filter(|(_, own)| writing(own))
            .map(|(index, _)| index)
            .collect();
        let choice = self.source.pick(writing.len());
        let Some(index) = writing.get(choice).copied() else {
            return;
        };
        self.write_by_own(index, id);
    }

    /// Writes a record through an own producer.
    pub fn write_by_own(&mut self, index: usize, id: TransactionId) {
        let writing = self.writing_by_own(index, id);
        // The application of a zombie fences that of its successor, or is fenced by it.
        self.oracle.account(id).disturbed |= self.process.role == Role::Zombie;
        let delivery = self.deliver(&writing);
        count(&mut self.process.app.owns[index].report, delivery);
    }

    fn writing_by_own(&mut self, index: usize, id: TransactionId) -> Writing {
        let number = self.oracle.next_number();
        let own = &self.process.app.owns[index];
        Writing {
            producer: own.producer,
            class: own.class,
            tag: self.tag(id, own.p, &own.name),
            number,
        }
    }

    /// An own producer gives a record up, which arrives later (R3). Its transaction is asked to commit, for which it votes no, or
    /// to abort; or its time-out passes.
    pub fn give_up_by_own(&mut self, index: usize, id: TransactionId) {
        let writing = self.writing_by_own(index, id);
        self.tell(|| format!("{} gives up a record of {id}", writing.tag.name));
        self.oracle.account(id).lost_write = true;
        self.late_record(&writing, writing.class);
        count(&mut self.process.app.owns[index].report, Delivery::Lost);
        match self.source.pick(3) {
            0 => self.commit(id),
            1 => self.abort(id),
            _ => self.advance(TIMEOUT),
        }
    }

    /// Writes a record of this transaction before the producer is enlisted in it: a mistake, for which it answers.
    pub fn write_early(&mut self, index: usize, id: TransactionId) {
        let own = &self.process.app.owns[index];
        let tag = self.tag(id, own.p, &own.name);
        let before = self.oracle.account(id).clone();
        self.write_by_own(index, id);
        let open = self.brokers[tag.participant].open_tag(&tag.name) == Some(&tag);
        let account = self.oracle.account(id);
        account.lost_write = before.lost_write;
        account.written = before.written;
        account.disturbed = true;
        if open && !tag.stray {
            account.early.insert(tag.clone());
            let own = (tag.participant, &*tag.name);
            self.oracle.overtakes(own, Some(id), &self.logs);
            self.process.app.owns[index].early = Some(tag);
        } else {
            self.process.app.owns[index].early = None;
        }
    }

    /// What a producer writes for a transaction.
    pub fn tag(&self, id: TransactionId, p: usize, name: &Arc<str>) -> Tag {
        let mut tag = Tag {
            transaction: id,
            participant: p,
            name: name.clone(),
            stray: false,
        };
        // It was ended, and its producer, which does not know yet, goes on.
        let ended = self.brokers[p].fates.get(&tag);
        tag.stray = ended.is_some_and(|fate| *fate != Fate::Open);
        tag
    }

    fn deliver(&mut self, writing: &Writing) -> Delivery {
        let (p, id) = (writing.tag.participant, writing.tag.transaction);
        let may_fail = self.faults && self.swarm.has(Fault::Records);
        let fails = self.reach(p, &writing.tag.name) != Reach::Good || self.links[p].impostor;
        if fails || may_fail && self.source.once_in(12 * self.swarm.calm) {
            self.oracle.account(id).lost_write = true;
            self.lose_record(writing);
            return Delivery::Lost;
        }
        if self.join(writing) {
            self.meet_late_record(writing);
            if matches!(self.produce(writing), Reply::Done(_)) {
                self.oracle.delivered(writing.tag.clone(), writing.number);
                return Delivery::Done;
            }
        }
        self.oracle.account(id).lost_write = true;
        Delivery::Refused
    }

    /// A record is not acknowledged; it, or the request that announces it, may arrive late.
    fn lose_record(&mut self, writing: &Writing) {
        let (p, id) = (writing.tag.participant, writing.tag.transaction);
        self.tell(|| format!("a record of {id} to p{p} is not acknowledged"));
        if !self.faults {
            return;
        }
        match (self.source.pick(4), writing.class) {
            (1, VersionClass::V1) => self.late_add(writing),
            (2, class) => self.late_record(writing, class),
            _ => {}
        }
    }

    fn late_record(&mut self, writing: &Writing, class: VersionClass) {
        let tag = writing.tag.clone();
        let open = self.brokers[tag.participant].open_tag(&tag.name) == Some(&tag);
        if class == VersionClass::V1 && !open {
            return;
        }
        let call = Call::Write {
            id: tag.name.clone(),
            producer: writing.producer,
            class,
            tag: tag.clone(),
            number: writing.number,
        };
        self.late.push((tag.participant, call));
    }

    /// Between the announcement of a transaction and its first record, a record arrives that the transaction before has given
    /// up: its sequence number is the one that its broker waits for (R3).
    fn meet_late_record(&mut self, writing: &Writing) {
        let tag = &writing.tag;
        let enlisted =
            |own: &Own| own.name == tag.name && own.stage == Stage::Writing(tag.transaction);
        if !self.process.app.owns.iter().any(enlisted) {
            return;
        }
        let given_up = |(p, call): &(usize, Call)| match call {
            Call::Write {
                tag: of, producer, ..
            } => {
                // Who went on anew without a question answers for what then arrives.
                let account = self.oracle.accounts.get(&of.transaction);
                let blameless = account.is_some_and(|a| !a.disturbed);
                let last = of.name == tag.name && of.transaction != tag.transaction;
                *p == tag.participant && *producer == writing.producer && last && blameless
            }
            _ => false,
        };
        let met = self.late.iter().position(given_up);
        if let Some(index) = met.filter(|_| self.source.once_in(2)) {
            self.arrive(index);
        }
    }

    /// A record that was given up has arrived after all.
    pub fn arrived_late(&mut self, p: usize, tag: &Tag, number: u64) {
        let visible = self.brokers[p].partition.holds(number);
        let known = self.oracle.delivered[p].get(tag);
        if visible && !known.is_some_and(|numbers| numbers.contains(&number)) {
            self.oracle.arrived(tag.clone(), number);
        }
    }

    /// A v1 client first announces the partition.
    fn join(&mut self, writing: &Writing) -> bool {
        let tag = &writing.tag;
        if writing.class == VersionClass::V2 {
            return true;
        }
        let call = Call::Add {
            id: tag.name.clone(),
            producer: writing.producer,
            tag: tag.clone(),
        };
        matches!(
            self.execute_patiently(tag.participant, &call),
            Reply::Done(_)
        )
    }

    fn produce(&mut self, writing: &Writing) -> Reply {
        let tag = &writing.tag;
        let call = Call::Write {
            id: tag.name.clone(),
            producer: writing.producer,
            class: writing.class,
            tag: tag.clone(),
            number: writing.number,
        };
        self.execute_patiently(tag.participant, &call)
    }

    /// A client tries again once the markers of the transaction before are written.
    pub(super) fn execute_patiently(&mut self, p: usize, call: &Call) -> Reply {
        let reply = self.execute(p, call);
        if reply != Reply::Code(code::CONCURRENT_TRANSACTIONS) {
            return reply;
        }
        self.brokers[p].write_markers(u64::MAX);
        self.execute(p, call)
    }
}

fn count(report: &mut WriteReport, delivery: Delivery) {
    report.sent += 1;
    report.delivered += u64::from(delivery == Delivery::Done);
    report.failed += u64::from(delivery != Delivery::Done);
}
