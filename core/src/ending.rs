//! How one branch is ended: what each answer proves, and what to do next.
//!
//! The tables are those of kafka-facts in docs/protocol.md. `Standing` is what a description proves
//! about a branch's identity; the verdicts say what follows for the decision at hand.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use crate::broken::{Broken, Rules};
use crate::event::HeuristicKind;
use crate::evidence::{BrokerState, EndAnswer, Inquiry, TransactionDescription};
use crate::identity::{BranchIdentity, ProducerIdentity, VersionClass};
use crate::request::Decision;

/// What to do next for a branch that is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The managed producer's own call.
    ByWriter,
    /// EndTxn by the control client.
    Send,
    /// DescribeTransactions, to learn where the branch stands.
    Inquire,
    /// DescribeTransactions after an EndTxn(v1) that was acknowledged (R17).
    Confirm,
}

/// On what ground a branch is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ground {
    /// The decision of a two-phase transaction, or an abort that its coordinator decided.
    Decided,
    /// The only yes vote: the branch's own commit is the decision.
    OnePhase,
    /// Found undecided at a start: presumed abort.
    Presumed,
}

/// What an answer means for a branch that is being ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    /// Do this at once.
    Go(Step),
    /// Do this after a delay.
    Retry(Step, String),
    /// It ended as decided.
    Finished,
    /// It ended otherwise, or that it ended as decided cannot be proved.
    Heuristic(HeuristicKind, String),
    /// One-phase: the broker had aborted it.
    BrokerAborted,
    /// One-phase: nobody can tell how it ended.
    Undecidable(String),
}

/// What is known of a branch that is being ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// Only the transactional.id that it was written under.
    Name(Arc<str>),
    /// What identifies it for good.
    Identity(BranchIdentity),
}

/// A branch that is being ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ending {
    pub(crate) decision: Decision,
    pub(crate) ground: Ground,
    pub(crate) class: VersionClass,
    pub(crate) known: Known,
    /// The slot's producer, where the branch was not described: only what it opened is this branch (R7).
    pub(crate) producer: Option<ProducerIdentity>,
    /// The start time of the transaction before, where the branch's own is not known.
    pub(crate) before_ms: Option<i64>,
    pub(crate) step: Step,
    /// Attempts to end it that were not acknowledged.
    pub(crate) failed: u32,
    /// Attempts of EndTxn by the control client.
    pub(crate) sent: u32,
    /// Its writer's requests are not all provably answered (R3).
    pub(crate) dirty: bool,
    /// An application's own producer wrote it, and could end it without a word.
    pub(crate) own: bool,
    /// It voted no, was not asked for its vote, or a start found it: a request that nobody here sent may still be under
    /// way (R3).
    pub(crate) spoiled: bool,
    /// Somebody else initialised its transactional.id (R7).
    pub(crate) stranger: bool,
    /// The last error, for people.
    pub(crate) detail: Option<String>,
    pub(crate) rules: Rules,
}

/// Where a branch stands by a description of its transactional.id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Open,
    Committed,
    Aborted,
    Other,
}

/// The next identity after `before` when the broker moves the epoch; at its end the producer id rolls over.
fn follows(before: ProducerIdentity, after: ProducerIdentity) -> bool {
    let next =
        before.producer_id == after.producer_id && before.epoch.checked_add(1) == Some(after.epoch);
    let rolled =
        before.epoch >= i16::MAX - 1 && after.epoch == 0 && after.producer_id != before.producer_id;
    next || rolled
}

/// A v1 producer's id belongs to another producer, and not because its broker aborted what was open.
fn taken_over(writer: ProducerIdentity, found: &TransactionDescription) -> bool {
    let aborted = matches!(
        found.state,
        BrokerState::PrepareAbort | BrokerState::CompleteAbort | BrokerState::PrepareEpochFence
    );
    found.producer != writer && !(aborted && found.producer.producer_id == writer.producer_id)
}

fn standing(branch: &BranchIdentity, found: &TransactionDescription, rules: Rules) -> Standing {
    let same = found.producer == branch.producer;
    let rolled = branch.producer.producer_id != found.producer.producer_id;
    let moved =
        follows(branch.producer, found.producer) && !(rolled && rules.lack(Broken::RollOver));
    let dated = branch.start_time_ms >= 0 && !rules.lack(Broken::R9StartTime);
    if dated && found.start_time_ms != branch.start_time_ms {
        return Standing::Other;
    }
    match found.state {
        BrokerState::Ongoing if same => Standing::Open,
        BrokerState::PrepareCommit | BrokerState::CompleteCommit => {
            let committed = match branch.version_class {
                VersionClass::V1 => same,
                VersionClass::V2 => moved,
            };
            if committed {
                Standing::Committed
            } else {
                Standing::Other
            }
        }
        BrokerState::PrepareAbort | BrokerState::CompleteAbort | BrokerState::PrepareEpochFence
            if same || moved =>
        {
            Standing::Aborted
        }
        _ => Standing::Other,
    }
}

fn said(found: &TransactionDescription) -> String {
    format!(
        "broker says {:?}, producer {}/{}, start {}",
        found.state, found.producer.producer_id, found.producer.epoch, found.start_time_ms
    )
}

/// Kafka error codes that the tables name.
mod code {
    pub(super) const INVALID_PRODUCER_EPOCH: i16 = 47;
    pub(super) const INVALID_TXN_STATE: i16 = 48;
    pub(super) const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
    pub(super) const PRODUCER_FENCED: i16 = 90;
}

impl Ending {
    /// Ends a branch of which only the name is known.
    pub(crate) fn unidentified(ground: Ground, class: VersionClass, name: Arc<str>) -> Self {
        Self::new((Decision::Abort, ground), class, Known::Name(name))
    }

    /// Ends a branch whose identity is known.
    pub(crate) fn identified(decision: Decision, ground: Ground, identity: BranchIdentity) -> Self {
        let class = identity.version_class;
        Self::new((decision, ground), class, Known::Identity(identity))
    }

    fn new((decision, ground): (Decision, Ground), class: VersionClass, known: Known) -> Self {
        Self {
            decision,
            ground,
            class,
            known,
            producer: None,
            before_ms: None,
            step: Step::ByWriter,
            failed: 0,
            sent: 0,
            dirty: false,
            own: false,
            spoiled: false,
            stranger: false,
            detail: None,
            rules: Rules::default(),
        }
    }

    /// What it was written under.
    pub(crate) const fn transactional_id(&self) -> &Arc<str> {
        match &self.known {
            Known::Name(name) => name,
            Known::Identity(identity) => &identity.transactional_id,
        }
    }

    /// What identifies it, if that is known.
    pub(crate) const fn identity(&self) -> Option<&BranchIdentity> {
        match &self.known {
            Known::Name(_) => None,
            Known::Identity(identity) => Some(identity),
        }
    }

    /// Tells the branch, whose start time is not known, from the transaction before it.
    pub(crate) const fn after(mut self, before_ms: i64) -> Self {
        self.before_ms = Some(before_ms);
        self
    }

    /// Nothing is this branch but what this producer opened.
    pub(crate) const fn written_by(mut self, producer: Option<ProducerIdentity>) -> Self {
        self.producer = producer;
        self
    }

    pub(crate) const fn of_own(mut self, own: bool) -> Self {
        self.own = own;
        self
    }

    pub(crate) const fn spoiled_if(mut self, spoiled: bool) -> Self {
        self.dirty = spoiled;
        self.spoiled = spoiled;
        self
    }

    pub(crate) const fn after_a_start(mut self) -> Self {
        self.spoiled = true;
        self
    }

    /// An application's own producer must not be used again with this identity (R3).
    pub(crate) fn spends_producer(&self) -> bool {
        // EndTxn(v2) moves the epoch of what was open, and a late one is fenced; of a branch that was never
        // described nobody knows whether anything was.
        let described = self.identity().is_some_and(|b| b.start_time_ms >= 0);
        let moves = self.class == VersionClass::V2 && described;
        let kept = moves || self.rules.lack(Broken::R3Spend);
        !kept && (self.spoiled || self.failed > 0 || self.sent > 1)
    }

    pub(crate) const fn starting_with(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    /// The first step where no live producer can be asked: a v1 branch must be looked at first (R9).
    pub(crate) const fn first_step_without_writer(class: VersionClass) -> Step {
        match class {
            VersionClass::V1 => Step::Inquire,
            VersionClass::V2 => Step::Send,
        }
    }

    /// Judges the answer to `ByWriter` or `Send`.
    pub(crate) fn on_end_answer(&mut self, answer: &EndAnswer) -> Verdict {
        if self.step == Step::ByWriter {
            return self.on_writer_answer(answer);
        }
        self.sent += 1;
        if self.class == VersionClass::V1 {
            self.dirty = true;
        }
        let again = Self::first_step_without_writer(self.class);
        match answer {
            EndAnswer::Code(_) if self.rules.lack(Broken::CodesSucceed) => Verdict::Finished,
            EndAnswer::Acknowledged
                if self.class == VersionClass::V1 && !self.rules.lack(Broken::R17Confirm) =>
            {
                Verdict::Go(Step::Confirm)
            }
            EndAnswer::Acknowledged => Verdict::Finished,
            EndAnswer::Code(
                found @ (code::INVALID_PRODUCER_EPOCH
                | code::INVALID_TXN_STATE
                | code::INVALID_PRODUCER_ID_MAPPING
                | code::PRODUCER_FENCED),
            ) => {
                self.fail(format!("EndTxn answered {found}"));
                Verdict::Go(Step::Inquire)
            }
            EndAnswer::Code(found) => self.retry(again, format!("EndTxn answered {found}")),
            EndAnswer::NoAnswer(why) | EndAnswer::NotSent(why) => self.retry(again, why.clone()),
        }
    }

    fn on_writer_answer(&mut self, answer: &EndAnswer) -> Verdict {
        let why = match answer {
            EndAnswer::Acknowledged => return Verdict::Finished,
            _ if self.rules.lack(Broken::WriterSucceeds) => return Verdict::Finished,
            _ if self.ground == Ground::OnePhase && self.rules.lack(Broken::OnePhaseAborted) => {
                return Verdict::BrokerAborted;
            }
            EndAnswer::Code(found) => format!("the producer's own call failed with {found}"),
            EndAnswer::NoAnswer(why) | EndAnswer::NotSent(why) => why.clone(),
        };
        self.dirty = true;
        self.fail(why);
        Verdict::Go(Step::Inquire)
    }

    /// Judges the answer to `Inquire` or `Confirm`.
    pub(crate) fn on_inquiry(&mut self, inquiry: &Inquiry) -> Verdict {
        match inquiry {
            Inquiry::NoAnswer(why) => self.retry(self.step, why.clone()),
            Inquiry::Refused(found) => {
                self.retry(self.step, format!("DescribeTransactions answered {found}"))
            }
            Inquiry::NotFound => {
                self.on_standing(Standing::Other, "the broker no longer knows the id")
            }
            Inquiry::Described(found) => self.on_description(found),
        }
    }

    /// What its broker said at the vote, where that proves how an own branch ended: a later look may find nothing
    /// of it, once its producer is initialised anew.
    pub(crate) fn proved_by(&mut self, found: &TransactionDescription) -> Option<Verdict> {
        let identity = self.identity().filter(|_| self.own)?;
        let standing = self.standing(identity, found);
        let ended = matches!(standing, Standing::Committed | Standing::Aborted);
        ended.then(|| self.on_standing(standing, &said(found)))
    }

    fn on_description(&mut self, found: &TransactionDescription) -> Verdict {
        let identified = self.identity().map(|identity| identity.producer);
        let writer = identified.or(self.producer);
        self.stranger = writer.is_some_and(|writer| taken_over(writer, found));
        let Some(identity) = self.identity() else {
            return self.on_unidentified(found);
        };
        let standing = self.standing(identity, found);
        if standing == Standing::Other && self.is_explained(found) {
            return Verdict::Finished;
        }
        self.on_standing(standing, &said(found))
    }

    fn standing(&self, identity: &BranchIdentity, found: &TransactionDescription) -> Standing {
        match self.before_ms {
            Some(before_ms) if before_ms == found.start_time_ms => Standing::Other,
            _ => standing(identity, found, self.rules),
        }
    }

    /// What is shown instead of a branch that is to abort is the transaction before it. It was never begun, if
    /// its producer shows the start time that it showed before. After a start nobody knows that time, and
    /// whatever an own producer shows under its own identity may be that transaction.
    fn is_explained(&self, found: &TransactionDescription) -> bool {
        let same = self
            .identity()
            .is_some_and(|b| b.producer == found.producer);
        let untouched =
            |before_ms: i64| before_ms == found.start_time_ms && (same || before_ms >= 0);
        let presumed = same && self.ground == Ground::Presumed;
        self.decision == Decision::Abort && (presumed || self.before_ms.is_some_and(untouched))
    }

    /// An abort before anything was described: what the slot's producer has open is this branch.
    fn on_unidentified(&mut self, found: &TransactionDescription) -> Verdict {
        let strange = self.producer.is_some_and(|own| own != found.producer);
        if strange && !self.rules.lack(Broken::R7Stranger) {
            // A stranger holds the name: what it opened is not ours to end.
            return Verdict::Finished;
        }
        match found.state {
            BrokerState::Ongoing => {
                self.known = Known::Identity(BranchIdentity {
                    transactional_id: self.transactional_id().clone(),
                    producer: found.producer,
                    start_time_ms: found.start_time_ms,
                    timeout_ms: found.timeout_ms,
                    version_class: self.class,
                });
                self.send_or_retry()
            }
            BrokerState::PrepareAbort | BrokerState::PrepareEpochFence => {
                self.retry(Step::Inquire, "the broker is aborting it".to_string())
            }
            _ => Verdict::Finished,
        }
    }

    fn on_standing(&mut self, standing: Standing, detail: &str) -> Verdict {
        match (self.decision, standing) {
            (_, Standing::Open) => self.send_or_retry(),
            (Decision::Commit, Standing::Committed) | (Decision::Abort, Standing::Aborted) => {
                Verdict::Finished
            }
            (Decision::Commit, Standing::Aborted) if self.ground == Ground::OnePhase => {
                Verdict::BrokerAborted
            }
            (Decision::Commit, Standing::Other) if self.ground == Ground::OnePhase => {
                Verdict::Undecidable(detail.to_string())
            }
            (Decision::Commit, Standing::Aborted) => {
                Verdict::Heuristic(HeuristicKind::Aborted, detail.to_string())
            }
            (Decision::Commit, Standing::Other) => {
                Verdict::Heuristic(HeuristicKind::Hazard, detail.to_string())
            }
            (Decision::Abort, Standing::Committed) if self.names_one_transaction() => {
                Verdict::Heuristic(HeuristicKind::Committed, detail.to_string())
            }
            // Its application may have committed it by itself, and begun or initialised something since.
            (Decision::Abort, Standing::Other)
                if self.own && !self.rules.lack(Broken::OwnUnproved) =>
            {
                Verdict::Heuristic(HeuristicKind::Hazard, detail.to_string())
            }
            // Nothing of this branch is open any more, and what is shown may be the transaction before it.
            (Decision::Abort, Standing::Committed | Standing::Other) => Verdict::Finished,
        }
    }

    /// What is shown as committed is this branch, and none before it: its start time says so or, of a v2
    /// producer, its epoch, also where a start knows neither more than who was enlisted.
    fn names_one_transaction(&self) -> bool {
        self.ground != Ground::Presumed || self.class == VersionClass::V2
    }

    /// Sends EndTxn at once the first time; after that with a delay, whatever the answers say.
    fn send_or_retry(&mut self) -> Verdict {
        if self.sent == 0 {
            return Verdict::Go(Step::Send);
        }
        self.retry(Step::Send, "the broker still says Ongoing".to_string())
    }

    fn retry(&mut self, step: Step, why: String) -> Verdict {
        self.fail(why.clone());
        Verdict::Retry(step, why)
    }

    fn fail(&mut self, why: String) {
        self.failed = self.failed.saturating_add(1);
        self.detail = Some(why);
    }
}

#[cfg(test)]
mod tests;
