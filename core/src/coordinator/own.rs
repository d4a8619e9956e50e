//! Branches of producers that the application owns (R3, R4, R5).

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::journal::Purpose;
use super::state::{
    Branch, BranchAt, BranchState, BranchWriter, OwnWriter, Participant, Settling, State,
    ToldOfOwn, Transaction,
};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::ending::Ending;
use crate::event::{AbortReason, Event, ParticipantStatus, Refusal, Reuse};
use crate::evidence::{BrokerState, Inquiry, TransactionDescription};
use crate::identity::{
    BranchIdentity, ParticipantId, ProducerIdentity, SlotName, TransactionId, VersionClass,
};
use crate::record::Record;
use crate::request::Accepted;
use crate::time::Now;
use crate::timers::Timer;

/// How many discarded own producers a sweep asks about.
const ASKED_IN_A_SWEEP: usize = 64;

impl Coordinator {
    pub(super) fn enlist_own(
        &mut self,
        (id, p): (TransactionId, ParticipantId),
        (transactional_id, told): (Arc<str>, ToldOfOwn),
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let participant = self.participant(p)?;
        let name = participant.name.clone();
        if let Some(refusal) = &participant.stopped {
            return Err(refusal.clone());
        }
        if participant.listed {
            participant.own_class(told.class)?;
        }
        let pool = SlotName::coordinator_prefix(&self.config.coordinator);
        if transactional_id.starts_with(&pool) {
            return Err(Refusal::Config(format!(
                "{transactional_id} begins with {pool}, which is reserved for the slots of this coordinator"
            )));
        }
        let branches_max = self.config.limits.branches_max;
        let transaction = self.active(id)?;
        if let Some(enlisted) = transaction.own_enlisted(p, &transactional_id) {
            if enlisted {
                self.tell(Event::Enlisted {
                    transaction: id,
                    participant: p,
                    slot: None,
                    transactional_id,
                });
            }
            return Ok(Accepted::Pending);
        }
        let index = transaction.branches.len();
        if index >= branches_max {
            return Err(Refusal::Limit("branches_max", branches_max as u64));
        }
        let discarded_max = self.config.limits.discarded_max;
        if self.ledger.discarded.len() >= discarded_max {
            // It might have to be discarded as well, and that could not be remembered.
            return Err(Refusal::Limit("discarded_max", discarded_max as u64));
        }
        let transaction = self.active(id)?;
        transaction.branches.push(Branch {
            participant: Some(p),
            name,
            transactional_id: Some(transactional_id),
            writer: BranchWriter::Own(OwnWriter {
                told,
                baseline: None,
            }),
            enlisted: now.monotonic,
            state: BranchState::Leasing,
            acknowledged: false,
            spent: None,
        });
        let at = now.monotonic + self.config.limits.enlist_timeout;
        self.timers.set(Timer::Enlist(id, index), at);
        self.own_waiters.push_back((id, index));
        self.serve_own_waiters(now);
        Ok(Accepted::Pending)
    }

    /// The transaction of a branch of this own producer, other than the ones that only wait, that is not ended yet, or
    /// not so durably that a start would leave the producer alone (R9).
    pub(super) fn own_busy_in(
        &self,
        p: ParticipantId,
        transactional_id: &Arc<str>,
    ) -> Option<TransactionId> {
        let participant = self.participants.get(usize::from(p.0))?;
        let key = (participant.name.clone(), transactional_id.clone());
        let busy = self.transactions.iter().find(|(id, transaction)| {
            let mut branches = transaction.branches.iter();
            branches.any(|branch| {
                branch.participant == Some(p)
                    && branch.transactional_id.as_ref() == Some(transactional_id)
                    && !matches!(branch.state, BranchState::Leasing | BranchState::Left)
                    && !(branch.state.is_settled()
                        && (self.ledger.has_ended(**id, &key) || self.rules.lack(Broken::R9Own)))
            })
        });
        busy.map(|(id, _)| *id)
    }

    /// Why a producer that takes part in this transaction cannot be waited for: only its application can end that, and
    /// a producer has one transaction at a time.
    fn taken(&self, id: TransactionId, transactional_id: &Arc<str>) -> Option<Refusal> {
        let state = &self.transactions.get(&id)?.state;
        matches!(state, State::Active(_)).then(|| {
            Refusal::InvalidState(format!(
                "{transactional_id} takes part in transaction {id}, which is still open: commit or abort \
                 that one first, and give each producer a transactional.id of its own"
            ))
        })
    }

    /// Inspects the producers whose earlier branches are ended (R4).
    pub(super) fn serve_own_waiters(&mut self, _now: Now) {
        if self.own_waiters.is_empty() && self.settling.is_empty() {
            return;
        }
        let waiters = core::mem::take(&mut self.own_waiters);
        for at in waiters {
            let Some((p, transactional_id)) = self.own_at(at) else {
                continue;
            };
            let participant = &self.participants[usize::from(p.0)];
            if let Some(refusal) = participant.stopped.clone() {
                self.refuse_enlistment(at, refusal);
                continue;
            }
            let verified = participant.status == ParticipantStatus::Verified;
            let busy = self.own_busy_in(p, &transactional_id);
            let busy = busy.filter(|_| !self.rules.lack(Broken::R4Wait));
            if let Some(refusal) = busy.and_then(|id| self.taken(id, &transactional_id)) {
                self.refuse_enlistment(at, refusal);
                continue;
            }
            if !verified || busy.is_some() {
                self.own_waiters.push_back(at);
                continue;
            }
            self.set_branch(at, BranchState::Inspecting { attempts: 0 });
            self.inspect(at, p, transactional_id);
        }
        self.prove_settled();
    }

    fn inspect(&mut self, at: BranchAt, p: ParticipantId, transactional_id: Arc<str>) {
        let action = Action::Inquire {
            participant: p,
            transactional_id,
        };
        self.act(action, Pending::InspectOwn(at));
    }

    fn own_at(&self, (id, index): BranchAt) -> Option<(ParticipantId, Arc<str>)> {
        let branch = self.transactions.get(&id)?.branches.get(index)?;
        Some((branch.participant?, branch.transactional_id.clone()?))
    }

    pub(super) fn own_inspected(&mut self, at: BranchAt, inquiry: Inquiry, now: Now) {
        let (id, index) = at;
        let Some((p, name)) = self.own_at(at) else {
            return;
        };
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let BranchState::Inspecting { attempts } = transaction.branches[index].state else {
            return;
        };
        let refusal = match inquiry {
            Inquiry::Described(found) => match self.own_fitness(at, (p, &name), &found) {
                Fitness::Fit => match self.own_class(at, p) {
                    Ok(class) => return self.own_enlisted(at, (found, class), now),
                    Err(refusal) => Some(refusal),
                },
                Fitness::Ending => None,
                Fitness::Unfit(refusal) => Some(refusal),
            },
            Inquiry::NotFound => Some(Refusal::InvalidState(format!(
                "the cluster does not know {name}: initialise the producer before it is enlisted"
            ))),
            Inquiry::Refused(code) => Some(Refusal::Unavailable(format!(
                "describing {name} was answered with Kafka error {code}"
            ))),
            Inquiry::NoAnswer(_) => None,
        };
        match refusal {
            Some(refusal) => {
                self.refuse_enlistment(at, refusal);
                self.serve_own_waiters(now);
            }
            None => {
                let attempts = attempts.saturating_add(1);
                self.set_branch(at, BranchState::Inspecting { attempts });
                let delay = self.jitter.delay(self.config.backoff, attempts);
                self.timers
                    .set(Timer::Branch(id, index), now.monotonic + delay);
            }
        }
    }

    /// Asks again about an own producer that was still ending, or did not answer.
    pub(super) fn inspect_again(&mut self, at: BranchAt) {
        if let Some((p, transactional_id)) = self.own_at(at) {
            self.inspect(at, p, transactional_id);
        }
    }

    fn own_fitness(
        &self,
        at: BranchAt,
        (p, name): (ParticipantId, &Arc<str>),
        found: &TransactionDescription,
    ) -> Fitness {
        let key = (
            self.participants[usize::from(p.0)].name.clone(),
            name.clone(),
        );
        let discarded = self.ledger.discarded.get(&key) == Some(&found.producer);
        if discarded && !self.rules.lack(Broken::R3Enlist) {
            return Fitness::Unfit(Refusal::InvalidState(format!(
                "{name} was to be discarded: an EndTxn of its last transaction may still be under \
                 way; close the producer and initialise a new one"
            )));
        }
        let is_ending = found.state.is_open() && found.state != BrokerState::Ongoing;
        if !is_ending && let Some(refusal) = self.other_identity(at, name, found) {
            return Fitness::Unfit(refusal);
        }
        match found.state {
            BrokerState::Empty | BrokerState::CompleteCommit | BrokerState::CompleteAbort => {
                Fitness::Fit
            }
            BrokerState::Ongoing if self.rules.lack(Broken::R14Ongoing) => Fitness::Fit,
            BrokerState::Ongoing => Fitness::Unfit(Refusal::InvalidState(format!(
                "{name} already has an open transaction: enlist it before its first write"
            ))),
            BrokerState::PrepareCommit
            | BrokerState::PrepareAbort
            | BrokerState::PrepareEpochFence => Fitness::Ending,
            BrokerState::Dead => Fitness::Unfit(Refusal::InvalidState(format!(
                "{name} has expired: initialise the producer before it is enlisted"
            ))),
        }
    }

    /// Whether the cluster has another producer under this id than the application's, where that was told. An id that
    /// is just ending gets its next identity with the end.
    fn other_identity(
        &self,
        (id, index): BranchAt,
        name: &Arc<str>,
        found: &TransactionDescription,
    ) -> Option<Refusal> {
        let branch = self.transactions.get(&id)?.branches.get(index)?;
        let BranchWriter::Own(own) = &branch.writer else {
            return None;
        };
        let (told, has) = (own.told.producer?, found.producer);
        (told != has).then(|| {
            Refusal::InvalidState(format!(
                "under {name} the cluster has producer {}/{}, and the application's is {}/{}: either \
                 that is another producer's transactional.id, or another instance has initialised it \
                 since; enlist each producer under its own id, and make a fenced one anew",
                has.producer_id, has.epoch, told.producer_id, told.epoch
            ))
        })
    }

    /// The class of the producer of a branch, now that the cluster's is known.
    fn own_class(&self, (id, index): BranchAt, p: ParticipantId) -> Result<VersionClass, Refusal> {
        let transaction = self.transactions.get(&id);
        let told = transaction.and_then(|t| match &t.branches[index].writer {
            BranchWriter::Own(own) => own.told.class,
            _ => None,
        });
        self.participants[usize::from(p.0)].own_class(told)
    }

    fn own_enlisted(
        &mut self,
        at: BranchAt,
        (found, version_class): (TransactionDescription, VersionClass),
        now: Now,
    ) {
        let (id, index) = at;
        self.timers.cancel(Timer::Enlist(id, index));
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branch = &mut transaction.branches[index];
        let BranchWriter::Own(own) = &mut branch.writer else {
            return;
        };
        own.baseline = Some((found, version_class));
        branch.enlisted = now.monotonic;
        branch.state = BranchState::Enlisted;
        let (Some(p), Some(transactional_id)) =
            (branch.participant, branch.transactional_id.clone())
        else {
            return;
        };
        let record = Record::OwnEnlisted {
            transaction: id,
            participant: branch.name.clone(),
            transactional_id: transactional_id.clone(),
            producer: found.producer,
            version_class,
        };
        if let Some(until) = branch.writable_until(&self.config) {
            self.timers.bring_forward(Timer::Deadline(id), until);
        }
        if !self.rules.lack(Broken::R5Record) {
            self.append(record, Durability::Lazy, Purpose::Enlistment(id));
        }
        self.tell(Event::Enlisted {
            transaction: id,
            participant: p,
            slot: None,
            transactional_id,
        });
    }

    /// An own branch is ended: tell its application, before it hears the outcome (R4).
    pub(super) fn own_released(&mut self, at: BranchAt, reuse: Reuse, now: Now) {
        if let Some((participant, transactional_id)) = self.own_at(at) {
            self.tell(Event::OwnReleased {
                transaction: at.0,
                participant,
                transactional_id,
                reuse,
            });
            self.serve_own_waiters(now);
        }
    }

    /// The log had no room for an own producer's enlistment: a start could not end what it writes.
    pub(super) fn enlistment_refused(&mut self, id: TransactionId, why: String, now: Now) {
        let undecided = self
            .transactions
            .get(&id)
            .is_some_and(|t| matches!(t.state, State::Active(_) | State::Preparing(_)));
        if undecided {
            self.begin_abort(id, AbortReason::LogFull(why), now);
        }
    }

    /// Asks about some of the own producers that are to be discarded, in turn: what the cluster no longer has
    /// under that identity need not be remembered. It keeps an unused id for seven days.
    pub(super) fn ask_about_discarded(&mut self, p: ParticipantId) {
        if self.ledger.discarded.len() < self.config.limits.discarded_max.div_ceil(2) {
            return;
        }
        let participant = self.participant_mut(p);
        let (name, last) = (participant.name.clone(), participant.asked_about.clone());
        let of_it = self.ledger.discarded.keys().filter(|(of, _)| *of == name);
        let ids = of_it.map(|(_, id)| id.clone());
        let after = ids.filter(|id| last.as_ref().is_none_or(|last| id > last));
        let next: Vec<Arc<str>> = after.take(ASKED_IN_A_SWEEP).collect();
        // At the end it begins anew with the next sweep.
        self.participant_mut(p).asked_about = next.last().cloned();
        for transactional_id in next {
            let action = Action::Inquire {
                participant: p,
                transactional_id: transactional_id.clone(),
            };
            self.act(action, Pending::InquireDiscarded(p, transactional_id));
        }
    }

    pub(super) fn discarded_inquired(
        &mut self,
        p: ParticipantId,
        transactional_id: Arc<str>,
        inquiry: &Inquiry,
    ) {
        let participant = self.participant_mut(p).name.clone();
        let key = (participant.clone(), transactional_id.clone());
        let Some(producer) = self.ledger.discarded.get(&key).copied() else {
            return;
        };
        // An id never gets an earlier identity again: whoever comes with it is fenced by the broker.
        let is_gone = match inquiry {
            Inquiry::NotFound => true,
            Inquiry::Described(found) => found.producer != producer,
            Inquiry::Refused(_) | Inquiry::NoAnswer(_) => false,
        };
        if is_gone {
            let record = Record::DiscardGone {
                participant,
                transactional_id,
                producer,
            };
            self.append(record, Durability::Lazy, Purpose::Nothing);
        }
    }

    pub(super) fn settle(
        &mut self,
        p: ParticipantId,
        transactional_id: Arc<str>,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        self.participant(p)?;
        if self.phase == Phase::Starting {
            return Err(Refusal::Unavailable("it is starting".into()));
        }
        let settling_max = self.config.limits.transactions_max;
        if self.settling.len() >= settling_max {
            return Err(Refusal::Limit("transactions_max", settling_max as u64));
        }
        // An undecided branch of a producer that restarts can never be voted for.
        let undecided: Vec<TransactionId> = self
            .transactions
            .iter()
            .filter(|(_, t)| matches!(t.state, State::Active(_) | State::Preparing(_)))
            .filter(|(_, t)| t.branches.iter().any(|b| b.is_own(p, &transactional_id)))
            .map(|(id, _)| *id)
            .collect();
        for id in undecided {
            let reason = String::from("its own producer restarts");
            self.begin_abort(id, AbortReason::Requested(reason), now);
        }
        self.settling.push(Settling {
            participant: p,
            transactional_id,
            proving: false,
        });
        self.prove_settled();
        Ok(Accepted::Pending)
    }

    /// Asks the log whether it is still this coordinator's, once no branch is left of an own producer: who has lost it
    /// knows nothing of what its successor promises (R5, R10). An append of nothing is what says so.
    pub(super) fn prove_settled(&mut self) {
        while let Some(index) = self.settling.iter().position(|s| self.is_provable(s)) {
            let settling = &mut self.settling[index];
            settling.proving = true;
            let (p, transactional_id) = (settling.participant, settling.transactional_id.clone());
            if self.rules.lack(Broken::R5Owner) {
                self.settled_as_owner(p, transactional_id);
                continue;
            }
            let purpose = Purpose::Settled(p, transactional_id);
            self.append_all(Arc::new([]), Durability::Forced, purpose);
        }
    }

    fn is_provable(&self, settling: &Settling) -> bool {
        let busy = self.own_busy_in(settling.participant, &settling.transactional_id);
        !settling.proving && (busy.is_none() || self.rules.lack(Broken::R5Settle))
    }

    fn proving(&self, p: ParticipantId, transactional_id: &Arc<str>) -> Option<usize> {
        self.settling.iter().position(|settling| {
            settling.proving
                && settling.participant == p
                && settling.transactional_id == *transactional_id
        })
    }

    /// The log is still its owner's: tells who waits that no branch of this own producer is left (R5).
    pub(super) fn settled_as_owner(&mut self, p: ParticipantId, transactional_id: Arc<str>) {
        let Some(index) = self.proving(p, &transactional_id) else {
            return;
        };
        self.settling[index].proving = false;
        // Another transaction may have taken it in meanwhile.
        if self.is_provable(&self.settling[index]) {
            self.settling.remove(index);
            self.tell(Event::Settled {
                participant: p,
                transactional_id,
            });
        }
    }

    /// The log had no room even for nothing, and did not say whose it is.
    pub(super) fn settling_unproved(
        &mut self,
        p: ParticipantId,
        transactional_id: &Arc<str>,
        now: Now,
    ) {
        if let Some(index) = self.proving(p, transactional_id) {
            self.settling[index].proving = false;
            let delay = self.jitter.delay(self.config.backoff, 8);
            self.timers.set(Timer::Settling, now.monotonic + delay);
        }
    }
}

enum Fitness {
    Fit,
    /// The broker is still ending its last transaction.
    Ending,
    Unfit(Refusal),
}

impl Participant {
    /// The class of an own producer, as its application told or the newest that the cluster has.
    fn own_class(&self, told: Option<VersionClass>) -> Result<VersionClass, Refusal> {
        let finalised = self.transaction_version;
        match told {
            Some(VersionClass::V2) if finalised < 2 => Err(Refusal::Config(format!(
                "{} has transaction.version {finalised}: every producer is of class v1 there",
                self.name
            ))),
            Some(class) => Ok(class),
            None if finalised < 2 => Ok(VersionClass::V1),
            None => Ok(VersionClass::V2),
        }
    }
}

impl Transaction {
    /// Whether this own producer has a branch here, and has it been told so.
    fn own_enlisted(&self, p: ParticipantId, transactional_id: &Arc<str>) -> Option<bool> {
        let mut own = self
            .branches
            .iter()
            .filter(|b| b.is_own(p, transactional_id));
        own.next()
            .map(|branch| matches!(branch.state, BranchState::Enlisted))
    }
}

impl Branch {
    fn is_own(&self, p: ParticipantId, transactional_id: &Arc<str>) -> bool {
        self.participant == Some(p)
            && matches!(self.writer, BranchWriter::Own(_))
            && self.transactional_id.as_ref() == Some(transactional_id)
            && !self.state.is_settled()
    }

    /// The identity of an own branch that was not prepared: its producer, at an unknown start
    /// time, and the start time of the transaction before it.
    pub(super) fn unprepared_identity(&self) -> Option<(BranchIdentity, i64)> {
        let BranchWriter::Own(own) = &self.writer else {
            return None;
        };
        let (baseline, version_class) = own.baseline.as_ref()?;
        let identity = BranchIdentity {
            transactional_id: self.transactional_id.clone()?,
            producer: baseline.producer,
            start_time_ms: -1,
            timeout_ms: baseline.timeout_ms,
            version_class: *version_class,
        };
        Some((identity, baseline.start_time_ms))
    }

    /// The identity under which a late EndTxn of this own branch could still arrive.
    pub(super) fn spent_producer(&self, ending: &Ending) -> Option<ProducerIdentity> {
        let identity = ending.identity()?;
        self.writer.is_own().then_some(identity.producer)
    }

    /// The record that forbids the spent identity.
    pub(super) fn discarded(&self) -> Option<Record> {
        let producer = self.spent?;
        Some(Record::Discarded {
            participant: self.name.clone(),
            transactional_id: self.transactional_id.clone()?,
            producer,
        })
    }
}

impl BranchState {
    /// Nothing of the branch can be changed any more, neither by the coordinator nor by a late request.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::Done | Self::ReadOnly | Self::Heuristic(..) | Self::Left
        )
    }
}
