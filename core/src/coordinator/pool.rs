//! Slots: named, opened, leased in rotation, proved clean, thrown away.
//!
//! A slot of which anything is unproven is never initialised again: its name is retired and a new one is
//! made (R3 allows both; this way no InitProducerId of ours can ever arrive late at a name in use, R6).

use alloc::format;
use alloc::string::String;

use super::journal::Purpose;
use super::state::{BranchAt, BranchState, BranchWriter, Cycle, Slot, SlotState};
use super::{Coordinator, Pending};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::event::{Event, ParticipantStatus, Refusal};
use crate::evidence::SlotCondition;
use crate::identity::{ParticipantId, ProducerIdentity, SlotId, TransactionId};
use crate::record::Record;
use crate::response::SlotFailure;
use crate::time::Now;
use crate::timers::Timer;

/// What is proved of a slot whose branch is ended.
#[derive(Clone, Copy)]
enum Proof {
    /// Nothing that was sent under its epoch is unanswered (R3).
    Clean,
    /// The completion of the transaction that it was last leased to is durable (R9).
    Durable(TransactionId),
}

impl Coordinator {
    /// Makes the next names known, before any of them is initialised.
    pub(super) fn make_names(&mut self, p: ParticipantId, now: Now) {
        let per_record = self.config.limits.names_per_record.max(2);
        let names_max = self.participant_config(p).names_max;
        let incarnation = self.incarnation;
        let participant = self.participant_mut(p);
        let first = participant.pool.named_until;
        let count = per_record.min(names_max.saturating_sub(first));
        if participant.pool.naming || count == 0 {
            return;
        }
        participant.pool.naming = true;
        let name = participant.name.clone();
        let record = Record::Names {
            incarnation,
            participant: name,
            first,
            count,
            unix_ms: now.unix_ms,
        };
        self.append(record, Durability::Forced, Purpose::Names(p, first + count));
    }

    pub(super) fn named(&mut self, p: ParticipantId, until: u32, now: Now) {
        let participant = self.participant_mut(p);
        participant.pool.naming = false;
        participant.pool.named_until = until;
        if participant.cycle == Cycle::Naming {
            self.probe(p);
        }
        self.serve_waiters(p, now);
    }

    pub(super) fn names_refused(&mut self, p: ParticipantId, why: String, now: Now) {
        let participant = self.participant_mut(p);
        participant.pool.naming = false;
        if participant.cycle == Cycle::Naming {
            return self.cycle_failed(p, why, now);
        }
        self.pool_failed(p, why, now);
    }

    /// Leases free slots to those who wait, in order, and opens more where that helps.
    pub(super) fn serve_waiters(&mut self, p: ParticipantId, now: Now) {
        let participant = &self.participants[usize::from(p.0)];
        if participant.pool.waiters.is_empty() || participant.status != ParticipantStatus::Verified
        {
            return;
        }
        loop {
            let pool = &mut self.participant_mut(p).pool;
            let (Some(at), Some(slot)) =
                (pool.waiters.front().copied(), pool.free.front().copied())
            else {
                break;
            };
            pool.waiters.pop_front();
            if !self.rules.lack(Broken::LeasedTwice) {
                self.participant_mut(p).pool.free.pop_front();
            }
            self.lease(p, slot, at, now);
        }
        self.open_slots(p, now);
    }

    fn lease(&mut self, p: ParticipantId, slot_id: SlotId, at: BranchAt, now: Now) {
        let (id, index) = at;
        let Some(slot) = self.participant_mut(p).pool.slots.get_mut(&slot_id) else {
            return;
        };
        slot.state = SlotState::Leased(id);
        let name = slot.name.clone();
        self.timers.cancel(Timer::Enlist(id, index));
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branch = &mut transaction.branches[index];
        branch.writer = BranchWriter::Slot(slot_id);
        branch.transactional_id = Some(name.clone());
        branch.enlisted = now.monotonic;
        branch.state = BranchState::Enlisted;
        if let Some(until) = branch.writable_until(&self.config) {
            self.timers.bring_forward(Timer::Deadline(id), until);
        }
        self.tell(Event::Enlisted {
            transaction: id,
            participant: p,
            slot: Some(slot_id),
            transactional_id: name,
        });
    }

    fn open_slots(&mut self, p: ParticipantId, now: Now) {
        let slots_max = self.participant_config(p).slots_max as usize;
        let names_max = self.participant_config(p).names_max;
        loop {
            let pool = &self.participants[usize::from(p.0)].pool;
            if pool.count(SlotState::Opening) >= pool.waiters.len()
                || self.timers.is_set(Timer::Slots(p))
            {
                return;
            }
            let usable = pool.slots.len() - pool.count(SlotState::Closing);
            // Instances that are slow to close count up to once more the pool's size.
            if usable >= slots_max || pool.slots.len() >= 2 * slots_max {
                return;
            }
            if pool.next_number >= names_max {
                if usable > 0 {
                    // Those that are left become free again.
                    return;
                }
                let why = format!(
                    "it has used its {names_max} slot names of this start; restart the coordinator, \
                     or raise names_max"
                );
                return self.refuse_waiters(p, &Refusal::Unavailable(why));
            }
            let named = pool.next_number < pool.named_until;
            if !named && !self.rules.lack(Broken::R6Names) {
                return self.make_names(p, now);
            }
            self.open_slot(p);
        }
    }

    fn open_slot(&mut self, p: ParticipantId) {
        let slot = SlotId(self.next_slot);
        self.next_slot += 1;
        let number = self.participant_mut(p).pool.next_number;
        let transactional_id = self.slot_name(p, number);
        let pool = &mut self.participant_mut(p).pool;
        pool.next_number += 1;
        let name = transactional_id.clone();
        pool.slots.insert(
            slot,
            Slot {
                name,
                producer: None,
                state: SlotState::Opening,
            },
        );
        let timeout_ms = self.participant_config(p).timeout_ms;
        self.act(
            Action::OpenSlot {
                participant: p,
                slot,
                transactional_id,
                timeout_ms,
            },
            Pending::OpenSlot(p, slot),
        );
    }

    pub(super) fn slot_opened(
        &mut self,
        (p, slot_id): (ParticipantId, SlotId),
        producer: ProducerIdentity,
        condition: SlotCondition,
        now: Now,
    ) {
        let pool = &mut self.participant_mut(p).pool;
        if let Some(slot) = pool.slots.get_mut(&slot_id) {
            slot.producer = Some(producer);
        }
        match condition {
            SlotCondition::Clean => {
                pool.failures = 0;
                self.free_slot(p, slot_id, now);
            }
            SlotCondition::Unproven(_) if self.rules.lack(Broken::R6Unanswered) => {
                self.free_slot(p, slot_id, now);
            }
            SlotCondition::Unproven(why) => {
                self.retire(p, slot_id);
                self.pool_failed(p, why, now);
            }
        }
    }

    pub(super) fn slot_failed(
        &mut self,
        p: ParticipantId,
        slot: SlotId,
        failure: SlotFailure,
        now: Now,
    ) {
        let pool = &mut self.participant_mut(p).pool;
        pool.slots.remove(&slot);
        self.counters.slots_retired += 1;
        if failure.timeout_above_ceiling {
            self.refuse_waiters(p, &Refusal::Config(failure.detail.clone()));
        }
        self.pool_failed(p, failure.detail, now);
    }

    fn pool_failed(&mut self, p: ParticipantId, why: String, now: Now) {
        let pool = &mut self.participant_mut(p).pool;
        pool.failures = pool.failures.saturating_add(1);
        pool.last_error = Some(why);
        let failures = pool.failures;
        let delay = self.jitter.delay(self.config.backoff, failures);
        self.timers.set(Timer::Slots(p), now.monotonic + delay);
    }

    fn free_slot(&mut self, p: ParticipantId, slot_id: SlotId, now: Now) {
        let idle = self.config.limits.slot_idle;
        let pool = &mut self.participant_mut(p).pool;
        let Some(slot) = pool.slots.get_mut(&slot_id) else {
            return;
        };
        slot.state = SlotState::Free {
            since: now.monotonic,
        };
        pool.free.push_back(slot_id);
        if !self.timers.is_set(Timer::Idle(p)) {
            self.timers.set(Timer::Idle(p), now.monotonic + idle);
        }
        self.serve_waiters(p, now);
    }

    /// Throws a slot away for good.
    pub(super) fn retire(&mut self, p: ParticipantId, slot_id: SlotId) {
        let pool = &mut self.participant_mut(p).pool;
        let Some(slot) = pool.slots.get_mut(&slot_id) else {
            return;
        };
        if slot.state == SlotState::Closing {
            return;
        }
        slot.state = SlotState::Closing;
        pool.free.retain(|free| *free != slot_id);
        self.counters.slots_retired += 1;
        self.act(
            Action::CloseSlot {
                participant: p,
                slot: slot_id,
            },
            Pending::CloseSlot(p, slot_id),
        );
    }

    /// The slot's branch is ended. It is free when proved clean (R3) and, where a commit record names it,
    /// when the completion is durable (R9).
    pub(super) fn release_slot(
        &mut self,
        (p, slot_id): (ParticipantId, SlotId),
        transaction: TransactionId,
        dirty: bool,
        durable: bool,
    ) {
        if dirty && !self.rules.lack(Broken::R3Dirty) {
            return self.retire(p, slot_id);
        }
        let durable = durable || self.rules.lack(Broken::R9Durable);
        let pool = &mut self.participant_mut(p).pool;
        if let Some(slot) = pool.slots.get_mut(&slot_id) {
            slot.state = SlotState::Settling {
                transaction,
                verified: false,
                durable,
            };
            let action = Action::VerifySlot {
                participant: p,
                slot: slot_id,
            };
            self.act(action, Pending::VerifySlot(p, slot_id));
        }
    }

    /// Nothing was sent under the slot's epoch by this transaction: there is nothing to prove.
    pub(super) fn release_unused_slot(&mut self, p: ParticipantId, slot: SlotId, now: Now) {
        self.free_slot(p, slot, now);
    }

    pub(super) fn slot_verified(
        &mut self,
        p: ParticipantId,
        slot_id: SlotId,
        condition: &SlotCondition,
        now: Now,
    ) {
        if let SlotCondition::Unproven(why) = condition
            && !self.rules.lack(Broken::R3Verify)
        {
            self.participant_mut(p).pool.last_error = Some(why.clone());
            return self.retire_and_serve(p, slot_id, now);
        }
        self.prove((p, slot_id), Proof::Clean, now);
    }

    /// The completion of the transaction that the slot was last leased to is durable.
    pub(super) fn slot_durable(
        &mut self,
        (p, slot_id): (ParticipantId, SlotId),
        id: TransactionId,
        now: Now,
    ) {
        self.prove((p, slot_id), Proof::Durable(id), now);
    }

    /// Notes what is proved of a slot, and frees it when that is all.
    fn prove(&mut self, (p, slot_id): (ParticipantId, SlotId), proof: Proof, now: Now) {
        let slot = self.participant_mut(p).pool.slots.get_mut(&slot_id);
        let Some(SlotState::Settling {
            transaction,
            verified,
            durable,
        }) = slot.map(|slot| &mut slot.state)
        else {
            return;
        };
        match proof {
            Proof::Clean => *verified = true,
            Proof::Durable(id) if id == *transaction => *durable = true,
            Proof::Durable(_) => {}
        }
        if *verified && *durable {
            self.free_slot(p, slot_id, now);
        }
    }

    fn retire_and_serve(&mut self, p: ParticipantId, slot_id: SlotId, now: Now) {
        self.retire(p, slot_id);
        self.serve_waiters(p, now);
    }

    pub(super) fn slot_closed(&mut self, p: ParticipantId, slot_id: SlotId, now: Now) {
        self.participant_mut(p).pool.slots.remove(&slot_id);
        self.serve_waiters(p, now);
    }

    pub(super) fn close_idle_slots(&mut self, p: ParticipantId, now: Now) {
        let idle = self.config.limits.slot_idle;
        let pool = &self.participant_mut(p).pool;
        let mut next = None;
        let mut expired = alloc::vec::Vec::new();
        for (id, slot) in pool.slots.iter() {
            if let SlotState::Free { since } = slot.state {
                let at = since + idle;
                if at <= now.monotonic {
                    expired.push(*id);
                } else {
                    next = Some(next.map_or(at, |next| core::cmp::min(next, at)));
                }
            }
        }
        for slot in expired {
            self.retire(p, slot);
        }
        if let Some(at) = next {
            self.timers.set(Timer::Idle(p), at);
        }
    }

    pub(super) fn refuse_waiters(&mut self, p: ParticipantId, refusal: &Refusal) {
        let waiters = core::mem::take(&mut self.participant_mut(p).pool.waiters);
        for at in waiters {
            self.refuse_enlistment(at, refusal.clone());
        }
    }

    pub(super) fn refuse_enlistment(&mut self, (id, index): BranchAt, refusal: Refusal) {
        self.timers.cancel(Timer::Enlist(id, index));
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branch = &mut transaction.branches[index];
        branch.state = BranchState::Left;
        let own = branch
            .transactional_id
            .clone()
            .filter(|_| branch.writer.is_own());
        if let Some(participant) = branch.participant {
            self.tell(Event::EnlistRefused {
                transaction: id,
                participant,
                own,
                refusal,
            });
        }
    }

    pub(super) fn enlist_timed_out(&mut self, at: BranchAt, now: Now) {
        let (id, index) = at;
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let Some(p) = transaction.branches[index].participant else {
            return;
        };
        let participant = &self.participants[usize::from(p.0)];
        let waited = self.config.limits.enlist_timeout.as_millis();
        let refusal = match (&participant.status, &participant.pool.last_error) {
            (ParticipantStatus::Stopped(_), _) => participant.stopped_refusal(),
            (ParticipantStatus::Unavailable(why), _) => Refusal::Unavailable(why.clone()),
            (ParticipantStatus::Starting, _) => {
                Refusal::Unavailable(format!("no answer within {waited} ms"))
            }
            _ if matches!(
                transaction.branches[index].state,
                BranchState::Inspecting { .. }
            ) =>
            {
                Refusal::Unavailable(format!("it was not described within {waited} ms"))
            }
            _ if matches!(transaction.branches[index].writer, BranchWriter::Own(_)) => {
                let name = transaction.branches[index].transactional_id.as_ref();
                let busy = name.and_then(|name| self.own_busy_in(p, name));
                let of = busy.map_or_else(String::new, |id| format!(", of transaction {id},"));
                Refusal::Unavailable(format!(
                    "its earlier branch{of} is not ended for {waited} ms"
                ))
            }
            (_, Some(why)) => {
                Refusal::SlotTimeout(format!("within {waited} ms; last error: {why}"))
            }
            (_, None) => Refusal::SlotTimeout(format!("all are in use for {waited} ms")),
        };
        self.participant_mut(p)
            .pool
            .waiters
            .retain(|waiter| *waiter != at);
        self.own_waiters.retain(|waiter| *waiter != at);
        self.refuse_enlistment(at, refusal);
        self.serve_own_waiters(now);
    }
}
