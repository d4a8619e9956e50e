//! A transaction up to its decision: begin, enlist, votes, decide.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::journal::Purpose;
use super::state::{
    Active, Branch, BranchAt, BranchState, BranchWriter, Completing, Participant, Preparing, State,
    Transaction,
};
use super::{Coordinator, Pending, Phase};
use crate::action::{Action, Durability, Writer};
use crate::broken::{Broken, Rules};
use crate::config::Config;
use crate::ending::{Ending, Ground, Step};
use crate::event::{AbortReason, Event, Refusal, Reuse};
use crate::evidence::PrepareReport;
use crate::identity::{ParticipantId, TransactionId, VersionClass};
use crate::record::{DecidedBranch, Record};
use crate::request::{Accepted, CommitReturn, Decision};
use crate::time::{Now, Time};
use crate::timers::Timer;
use crate::vote::{self, Objection, Vote};

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
        if let Some(at) = expires {
            self.timers.set(Timer::Deadline(id), at);
        }
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
        if self.participant_mut(p).pool.waiters.back() == Some(&(id, index)) {
            self.counters.slot_waits += 1;
            let at = now.monotonic + self.config.limits.enlist_timeout;
            self.timers.set(Timer::Enlist(id, index), at);
        }
        Ok(Accepted::Pending)
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
        let count = transaction.branches.len();
        let before = core::mem::replace(
            &mut transaction.state,
            State::Preparing(Preparing { report }),
        );
        if self.rules.lack(Broken::R14Instant) {
            self.promise_from(id, now);
        }
        // It was asked to commit in time: only what its branches promise counts now.
        if matches!(before, State::Active(Active { expires: Some(_) })) {
            self.lift_expiry(id);
        }
        let asked = (0..count).filter(|index| self.prepare((id, *index)));
        if asked.count() == 0 {
            self.decide_if_voted(id, now);
        }
        Ok(Accepted::Pending)
    }

    /// Asks a branch for its vote, if it has one to give.
    pub(super) fn prepare(&mut self, at: BranchAt) -> bool {
        let branch = self.branch_mut(at);
        let Some((participant, writer, transactional_id)) =
            branch.and_then(Branch::begin_preparing)
        else {
            return false;
        };
        let action = Action::Prepare {
            transaction: at.0,
            participant,
            writer,
            transactional_id,
        };
        self.act(action, Pending::Prepare(at));
        true
    }

    pub(super) fn prepared(&mut self, at: BranchAt, report: &PrepareReport, now: Now) {
        let (id, index) = at;
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let aborting = matches!(transaction.state, State::Completing(_));
        let branch = &mut transaction.branches[index];
        let Some(vote) = branch.vote(&self.participants, report, self.rules) else {
            return;
        };
        let objection = match vote {
            Vote::Yes(identity) => {
                branch.state = BranchState::Prepared(identity);
                None
            }
            Vote::ReadOnly => {
                branch.state = BranchState::ReadOnly;
                self.release_read_only(at, now);
                None
            }
            Vote::No(objection) => {
                branch.state = BranchState::Refused(vote::described(report).ok().copied());
                Some(self.voted_no(at, objection))
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

    fn voted_no(&mut self, at: BranchAt, objection: Objection) -> AbortReason {
        let branch = self.branch(at);
        let participant = branch.map_or_else(String::new, |branch| branch.name.to_string());
        if let Some(p) = branch.and_then(|branch| branch.participant)
            && objection.stranger
        {
            self.counters.fences += 1;
            self.stop_participant(p, Refusal::Fenced, objection.detail.clone());
        }
        AbortReason::VotedNo {
            participant,
            detail: objection.detail,
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

    /// Decides, once every branch has voted yes or has nothing to vote on.
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

    /// Without R14: counts the deadline of what was written long ago from now on.
    fn promise_from(&mut self, id: TransactionId, now: Now) {
        if let Some(transaction) = self.transactions.get_mut(&id) {
            let branches = transaction.branches.iter_mut();
            branches.for_each(|branch| branch.enlisted = now.monotonic);
        }
        self.lift_expiry(id);
    }

    /// Why a commit can no longer be promised (R14).
    pub(super) fn too_late(&self, id: TransactionId, now: Now) -> Option<AbortReason> {
        let transaction = self.transactions.get(&id)?;
        let kept = !self.rules.lack(Broken::R14Deadline);
        transaction.too_late(&self.config, now).filter(|_| kept)
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
            branches: branches.into(),
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
        let branches = transaction.branches.iter_mut();
        branches.for_each(|branch| branch.begin_commit(ground));
        let count = transaction.branches.len();
        let at = now.monotonic + self.config.limits.report_timeout;
        self.timers.set(Timer::Deadline(id), at);
        for index in 0..count {
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
    /// Why a commit can no longer be promised (R14).
    fn too_late(&self, config: &Config, now: Now) -> Option<AbortReason> {
        let promised = self.branches.iter();
        let promised = promised.filter_map(|branch| branch.promise(config));
        let (until, name) = promised.min_by_key(|(until, _)| *until)?;
        (until <= now.monotonic).then(|| AbortReason::DeadlinePassed {
            participant: name.to_string(),
        })
    }

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

    fn vote(
        &self,
        participants: &[Participant],
        report: &PrepareReport,
        rules: Rules,
    ) -> Option<Vote> {
        let name = self.transactional_id.as_ref()?;
        match &self.writer {
            BranchWriter::Slot(slot) => {
                let pool = &participants[usize::from(self.participant?.0)].pool;
                let producer = pool.slots.get(slot).and_then(|slot| slot.producer);
                Some(match producer {
                    Some(producer) => vote::managed(report, name, producer, rules),
                    None => Vote::no("its slot was thrown away"),
                })
            }
            BranchWriter::Own(own) => {
                let (baseline, class) = own.baseline.as_ref()?;
                Some(vote::own(report, name, (baseline, *class), rules))
            }
            BranchWriter::Waiting | BranchWriter::Gone { .. } => None,
        }
    }

    /// Until when it can be promised to commit, if it is prepared (R14).
    fn promise(&self, config: &Config) -> Option<(Time, &Arc<str>)> {
        let BranchState::Prepared(identity) = &self.state else {
            return None;
        };
        Some((
            self.promised_until(config, identity.timeout_ms)?,
            &self.name,
        ))
    }

    pub(super) fn promised_until(&self, config: &Config, timeout_ms: i32) -> Option<Time> {
        let participant = &config.participants[usize::from(self.participant?.0)];
        let timeout = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        let span = timeout.saturating_sub(participant.margin_before(timeout_ms));
        Some(self.enlisted + span)
    }

    /// Goes on to be committed, if it is prepared.
    fn begin_commit(&mut self, ground: Ground) {
        match core::mem::replace(&mut self.state, BranchState::Done) {
            BranchState::Prepared(identity) => {
                let step = self.writer.first_step(identity.version_class);
                let ending = Ending::identified(Decision::Commit, ground, identity);
                self.state = BranchState::Ending(ending.starting_with(step).into());
            }
            other => self.state = other,
        }
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
