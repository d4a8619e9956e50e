//! A transaction up to its decision: begin, enlist, votes, decide.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::journal::Purpose;
use super::state::{
    Active, Branch, BranchAt, BranchState, BranchWriter, Completing, Preparing, State, Transaction,
};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability, Writer};
use crate::broken::Broken;
use crate::ending::{Ending, Ground, Step};
use crate::event::{AbortReason, Event, Refusal, Reuse};
use crate::evidence::PrepareReport;
use crate::identity::{ParticipantId, TransactionId, VersionClass};
use crate::record::{DecidedBranch, Record};
use crate::request::{Accepted, CommitReturn, Decision};
use crate::time::{Now, Time};
use crate::timers::Timer;
use crate::vote::{self, Vote};

impl Coordinator {
    pub(super) fn begin(
        &mut self,
        key: Option<Vec<u8>>,
        timeout: Option<Duration>,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        match self.phase {
            Phase::Starting => return Err(Refusal::Unavailable("it is starting".to_string())),
            Phase::Closing { .. } => return Err(Refusal::Closed),
            Phase::Running | Phase::Stopped(_) => {}
        }
        let limits = &self.config.limits;
        if self.transactions.len() >= limits.transactions_max {
            return Err(Refusal::Limit(
                "transactions_max",
                limits.transactions_max as u64,
            ));
        }
        if key
            .as_ref()
            .is_some_and(|key| key.len() > limits.key_bytes_max)
        {
            return Err(Refusal::Limit("key_bytes_max", limits.key_bytes_max as u64));
        }
        let id = TransactionId {
            incarnation: self.incarnation,
            sequence: self.next_sequence,
        };
        self.next_sequence += 1;
        let expires = timeout.map(|timeout| now.monotonic + timeout);
        let transaction = Transaction {
            key: key.map(Arc::from),
            unix_ms: now.unix_ms,
            branches: Vec::new(),
            state: State::Active(Active { expires }),
        };
        self.transactions.insert(id, transaction);
        self.set_deadline(id);
        self.counters.begun += 1;
        Ok(Accepted::Begun(id))
    }

    /// The transaction, if it still takes branches.
    pub(super) fn active(&mut self, id: TransactionId) -> Result<&mut Transaction, Refusal> {
        let transaction = self
            .transactions
            .get_mut(&id)
            .ok_or(Refusal::UnknownTransaction(id))?;
        match transaction.state {
            State::Active(_) => Ok(transaction),
            _ => Err(Refusal::InvalidState(alloc::format!(
                "{id} is {}; only an active transaction takes this",
                transaction.state.name()
            ))),
        }
    }

    pub(super) fn enlist(
        &mut self,
        id: TransactionId,
        p: ParticipantId,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let participant = self.participant(p)?;
        let name = participant.name.clone();
        if let Some(refusal) = &participant.stopped {
            return Err(refusal.clone());
        }
        let branches_max = self.config.limits.branches_max;
        let transaction = self.active(id)?;
        if let Some(slot) = transaction.managed_slot(p) {
            if let Some((slot, transactional_id)) = slot {
                let event = Event::Enlisted {
                    transaction: id,
                    participant: p,
                    slot: Some(slot),
                    transactional_id,
                };
                self.tell(event);
            }
            return Ok(Accepted::Pending);
        }
        if transaction.branches.len() >= branches_max {
            return Err(Refusal::Limit("branches_max", branches_max as u64));
        }
        let index = transaction.branches.len();
        transaction.branches.push(Branch {
            participant: Some(p),
            name,
            transactional_id: None,
            writer: BranchWriter::Waiting,
            enlisted: now.monotonic,
            state: BranchState::Leasing,
            acknowledged: false,
            spent: None,
        });
        self.participant_mut(p).pool.waiters.push_back((id, index));
        self.serve_waiters(p, now);
        if self.is_leasing((id, index)) {
            self.counters.slot_waits += 1;
            let at = now.monotonic + self.config.limits.enlist_timeout;
            self.timers.set(Timer::Enlist(id, index), at);
        }
        Ok(Accepted::Pending)
    }

    fn is_leasing(&self, (id, index): BranchAt) -> bool {
        let branches = self
            .transactions
            .get(&id)
            .map(|transaction| &transaction.branches);
        branches.is_some_and(|branches| matches!(branches[index].state, BranchState::Leasing))
    }

    pub(super) fn commit(
        &mut self,
        id: TransactionId,
        report: CommitReturn,
        now: Now,
    ) -> Result<Accepted, Refusal> {
        let transaction = self.active(id)?;
        let unready = |branch: &Branch| {
            matches!(
                branch.state,
                BranchState::Leasing | BranchState::Inspecting { .. }
            )
        };
        if transaction.branches.iter().any(unready) {
            let why = alloc::format!("{id} still waits for a participant to be enlisted");
            return Err(Refusal::InvalidState(why));
        }
        transaction.state = State::Preparing(Preparing { report });
        let ready: Vec<(usize, ParticipantId, Writer, Arc<str>)> = transaction
            .branches
            .iter_mut()
            .enumerate()
            .filter_map(|(index, branch)| {
                branch.begin_preparing().map(|(p, w, n)| (index, p, w, n))
            })
            .collect();
        self.set_deadline(id);
        for (index, participant, writer, transactional_id) in ready {
            let action = Action::Prepare {
                transaction: id,
                participant,
                writer,
                transactional_id,
            };
            self.act(action, Pending::Prepare((id, index)));
        }
        self.decide_if_voted(id, now);
        Ok(Accepted::Pending)
    }

    pub(super) fn prepared(&mut self, at: BranchAt, report: &PrepareReport, now: Now) {
        let (id, index) = at;
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let branch = &transaction.branches[index];
        let aborting = matches!(transaction.state, State::Completing(_));
        let Some(vote) = self.vote(branch, report) else {
            return;
        };
        let participant = branch.participant;
        if let (Vote::No(objection), Some(p)) = (&vote, participant)
            && objection.stranger
        {
            self.counters.fences += 1;
            self.stop_participant(p, Refusal::Fenced, objection.detail.clone());
        }
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let branch = &mut transaction.branches[index];
        let objection = match vote {
            Vote::Yes(identity) => {
                if self.rules.lack(Broken::R14Instant) {
                    branch.enlisted = now.monotonic;
                }
                branch.state = BranchState::Prepared(identity);
                None
            }
            Vote::ReadOnly => {
                branch.state = BranchState::ReadOnly;
                self.release_read_only(at, now);
                None
            }
            Vote::No(objection) => {
                branch.state = BranchState::Refused;
                let participant = branch.name.to_string();
                Some(AbortReason::VotedNo {
                    participant,
                    detail: objection.detail,
                })
            }
        };
        match objection {
            _ if aborting => {
                self.abort_branch(at, now);
                // A read-only branch has nothing to abort, and may be the last that was waited for.
                self.finish_if_complete(id, now);
            }
            Some(reason) => self.begin_abort(id, reason, now),
            None => self.decide_if_voted(id, now),
        }
    }

    fn vote(&self, branch: &Branch, report: &PrepareReport) -> Option<Vote> {
        let name = branch.transactional_id.as_ref()?;
        match &branch.writer {
            BranchWriter::Slot(slot) => {
                let pool = &self.participants[usize::from(branch.participant?.0)].pool;
                let producer = pool.slots.get(slot).and_then(|slot| slot.producer);
                Some(match producer {
                    Some(producer) => vote::managed(report, name, producer, self.rules),
                    None => Vote::no("its slot was thrown away"),
                })
            }
            BranchWriter::Own(own) => {
                let baseline = own.baseline.as_ref()?;
                Some(vote::own(report, name, (baseline, own.class), self.rules))
            }
            BranchWriter::Waiting | BranchWriter::Gone { .. } => None,
        }
    }

    fn release_read_only(&mut self, (id, index): BranchAt, now: Now) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let branch = &transaction.branches[index];
        match (branch.participant, &branch.writer) {
            (Some(p), BranchWriter::Slot(slot)) => self.release_unused_slot(p, *slot, now),
            (Some(_), BranchWriter::Own(_)) => {
                self.own_released((id, index), Reuse::Reuse, now);
            }
            _ => {}
        }
    }

    fn decide_if_voted(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let State::Preparing(preparing) = transaction.state else {
            return;
        };
        let voted = |branch: &Branch| {
            matches!(
                branch.state,
                BranchState::Prepared(_) | BranchState::ReadOnly | BranchState::Left
            )
        };
        let any = transaction.branches.iter().any(voted) && self.rules.lack(Broken::VoteOfAll);
        if !any && !transaction.branches.iter().all(voted) {
            return;
        }
        match self.too_late(id, now) {
            Some(reason) => self.begin_abort(id, reason, now),
            None => self.decide(id, preparing, now),
        }
    }

    /// Why a commit can no longer be promised (R14).
    pub(super) fn too_late(&self, id: TransactionId, now: Now) -> Option<AbortReason> {
        let branches = &self.transactions.get(&id)?.branches;
        let promised = branches.iter().filter_map(|branch| self.promise(branch));
        let promised = promised.filter(|_| !self.rules.lack(Broken::R14Deadline));
        let (until, name) = promised.min_by_key(|(until, _)| *until)?;
        let participant = name.to_string();
        (until <= now.monotonic).then_some(AbortReason::DeadlinePassed { participant })
    }

    /// Until when a prepared branch can be promised to commit (R14).
    fn promise<'a>(&self, branch: &'a Branch) -> Option<(Time, &'a Arc<str>)> {
        let BranchState::Prepared(identity) = &branch.state else {
            return None;
        };
        let timeout_ms = u64::try_from(identity.timeout_ms).unwrap_or(0);
        Some((self.promised_until(branch, timeout_ms)?, &branch.name))
    }

    pub(super) fn promised_until(&self, branch: &Branch, timeout_ms: u64) -> Option<Time> {
        let margin = self.participant_config(branch.participant?).margin;
        let span = Duration::from_millis(timeout_ms).saturating_sub(margin);
        Some(branch.enlisted + span)
    }

    fn decide(&mut self, id: TransactionId, preparing: Preparing, now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let mut branches: Vec<DecidedBranch> = transaction
            .branches
            .iter()
            .filter_map(Branch::as_decided)
            .collect();
        if self.rules.lack(Broken::DecidedBranches) {
            branches.truncate(1);
        }
        // An own producer's enlistment is in the log, also where it wrote nothing: without a record of the
        // decision, a start would take the whole transaction for an undecided one, and call it aborted.
        let own = transaction.branches.iter().any(|b| b.writer.is_own());
        let own = own && !self.rules.lack(Broken::OnePhaseOwn);
        let alone = branches.len() == 1 || self.rules.lack(Broken::OnePhaseTwo);
        let keyed = transaction.key.is_some() && !self.rules.lack(Broken::OnePhaseKey);
        let one_phase = alone && !own && !keyed;
        if (branches.is_empty() && !own) || one_phase {
            let ground = Ground::OnePhase;
            return self.begin_commit(id, ground, now);
        }
        transaction.state = State::Deciding(preparing);
        transaction.unix_ms = now.unix_ms;
        let key = transaction.key.clone();
        let record = Record::Decided {
            transaction: id,
            key,
            unix_ms: now.unix_ms,
            branches,
        };
        self.append(record, Durability::Forced, Purpose::Decision(id));
        if self.rules.lack(Broken::CommitEarly) {
            self.begin_commit(id, Ground::Decided, now);
        }
    }

    /// The commit record is durable.
    pub(super) fn decided(&mut self, id: TransactionId, now: Now) {
        let Some(transaction) = self.transactions.get(&id) else {
            return;
        };
        let State::Deciding(preparing) = transaction.state else {
            return;
        };
        let own = transaction
            .branches
            .iter()
            .any(|b| matches!(b.writer, BranchWriter::Own(_)));
        self.begin_commit(id, Ground::Decided, now);
        if preparing.report == CommitReturn::Decided && (!own || self.rules.lack(Broken::R4Tell)) {
            self.tell(Event::Decided(id));
        }
    }

    fn begin_commit(&mut self, id: TransactionId, ground: Ground, now: Now) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        transaction.state = State::Completing(Completing {
            decision: Decision::Commit,
            ground,
            reason: AbortReason::Presumed,
            told: false,
        });
        let mut ready = Vec::new();
        for (index, branch) in transaction.branches.iter_mut().enumerate() {
            let BranchState::Prepared(identity) = &branch.state else {
                continue;
            };
            let step = branch.writer.first_step(identity.version_class);
            let ending = Ending::identified(Decision::Commit, ground, identity.clone());
            branch.state = BranchState::Ending(ending.starting_with(step).into());
            ready.push(index);
        }
        let at = now.monotonic + self.config.limits.report_timeout;
        self.timers.set(Timer::Deadline(id), at);
        for index in ready {
            self.run_step((id, index), now);
        }
        self.finish_if_complete(id, now);
    }
}

impl State {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Active(_) => "active",
            Self::Preparing(_) => "preparing",
            Self::Deciding(_) => "deciding",
            Self::Completing(completing) => match completing.decision {
                Decision::Commit => "committing",
                Decision::Abort => "aborting",
            },
            Self::Recording(_) => "ended",
        }
    }
}

impl Transaction {
    /// Whether the participant has a managed branch here, and its slot once leased.
    fn managed_slot(&self, p: ParticipantId) -> Option<Option<(crate::SlotId, Arc<str>)>> {
        self.branches
            .iter()
            .filter(|branch| branch.participant == Some(p))
            .find_map(|branch| match (&branch.writer, &branch.state) {
                (_, BranchState::Left) => None,
                (BranchWriter::Waiting, _) => Some(None),
                (BranchWriter::Slot(slot), _) => {
                    Some(branch.transactional_id.clone().map(|name| (*slot, name)))
                }
                _ => None,
            })
    }
}

impl Branch {
    fn begin_preparing(&mut self) -> Option<(ParticipantId, Writer, Arc<str>)> {
        if !matches!(self.state, BranchState::Enlisted) {
            return None;
        }
        let name = self.transactional_id.clone()?;
        let writer = match &self.writer {
            BranchWriter::Slot(slot) => Writer::Slot(*slot),
            BranchWriter::Own(_) => Writer::Own(name.clone()),
            BranchWriter::Waiting | BranchWriter::Gone { .. } => return None,
        };
        self.state = BranchState::Preparing;
        Some((self.participant?, writer, name))
    }

    fn as_decided(&self) -> Option<DecidedBranch> {
        let BranchState::Prepared(identity) = &self.state else {
            return None;
        };
        Some(DecidedBranch {
            participant: self.name.clone(),
            identity: identity.clone(),
            own: matches!(self.writer, BranchWriter::Own(_)),
        })
    }
}

impl BranchWriter {
    /// How a prepared branch is ended first.
    const fn first_step(&self, class: VersionClass) -> Step {
        match self {
            Self::Slot(_) => Step::ByWriter,
            // It was described a moment ago, by the vote.
            Self::Own(_) => Step::Send,
            Self::Waiting | Self::Gone { .. } => Ending::first_step_without_writer(class),
        }
    }
}
