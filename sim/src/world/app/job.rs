//! A consume-transform-produce job: it reads a source by its group's offset, writes one result to another
//! cluster, and sends the offset within the same transaction.

use gtc_core::{SlotId, TransactionId, VersionClass};

use crate::model::broker::{Call, Reply, Tag};
use crate::world::World;
use crate::world::network::Reach;

/// The job of one process.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The cluster that it reads from, where its group is.
    pub source: usize,
    /// The cluster that it writes to.
    pub destination: usize,
    /// The generation that it has joined; 0 is none.
    generation: i32,
    /// What it has open.
    transaction: Option<TransactionId>,
}

impl Job {
    /// A job between two clusters.
    pub fn new(source: usize, destination: usize) -> Self {
        Self {
            source,
            destination,
            ..Self::default()
        }
    }

    /// The same job in a new process.
    pub fn restarted(&self) -> Self {
        Self::new(self.source, self.destination)
    }
}

impl World {
    /// The job goes on.
    pub fn job_step(&mut self) {
        let open = self.process.app.job.transaction;
        match open.and_then(|id| {
            self.process
                .app
                .open
                .get(&id)
                .map(|open| (id, open.clone()))
        }) {
            None => self.job_begins(),
            Some((_, open)) if open.asked || open.waiting > 0 => {}
            Some((id, open)) if open.slots.len() < 2 => self.abort(id),
            Some((id, open)) => self.job_works(id, &open.slots),
        }
    }

    fn job_begins(&mut self) {
        let job = &self.process.app.job;
        let (source, destination) = (job.source, job.destination);
        if job.generation == 0 || self.source.once_in(3) {
            self.process.app.job.generation = self.brokers[source].group.rebalance();
        }
        let Some(id) = self.begin() else { return };
        self.process.app.job.transaction = Some(id);
        if let Some(open) = self.process.app.open.get_mut(&id) {
            open.of_job = true;
        }
        self.enlist(id, source);
        self.enlist(id, destination);
    }

    fn job_works(&mut self, id: TransactionId, slots: &[(usize, SlotId)]) {
        let (source, destination) = (
            self.process.app.job.source,
            self.process.app.job.destination,
        );
        // OffsetFetch waits while another transaction holds offsets pending.
        let position = self.brokers[source].group.fetch_stable();
        let reachable = self.is_whole(source);
        let (Some(position), true) = (position, reachable) else {
            return self.abort(id);
        };
        let number = position + 1;
        for slot in slots {
            if slot.0 == destination {
                self.write_number(id, *slot, number);
            } else {
                self.send_offset(id, *slot, number);
            }
        }
        self.commit(id);
    }

    /// Sends the job's offset through a leased slot.
    fn send_offset(&mut self, id: TransactionId, key: (usize, SlotId), offset: u64) {
        let Some(instance) = self.process.driver.instances.get(&key) else {
            self.oracle.account(id).lost_write = true;
            return;
        };
        let leased = instance.lease.as_ref();
        if leased.is_none_or(|lease| lease.transaction != id) {
            self.oracle.account(id).lost_write = true;
            return;
        }
        let (name, producer) = (instance.name.clone(), instance.producer);
        let tag = Tag {
            transaction: id,
            participant: key.0,
            name: name.clone(),
            stray: false,
        };
        let call = Call::Offsets {
            id: name.clone(),
            producer,
            class: VersionClass::V1,
            tag: tag.clone(),
            generation: self.process.app.job.generation,
            offset,
        };
        let passes = self.reach(key.0, &name) == Reach::Good;
        let sent = passes && matches!(self.execute_patiently(key.0, &call), Reply::Done(_));
        let account = self.oracle.account(id);
        if sent {
            account.written.insert(tag);
        } else {
            account.lost_write = true;
        }
        if let Some(instance) = self.process.driver.instances.get_mut(&key) {
            instance.suspicious |= !sent;
            if let Some(lease) = &mut instance.lease {
                lease.report.offsets_sent += 1;
                lease.report.offsets_failed += u64::from(!sent);
            }
        }
    }
}
