//! The coordinator, as its application holds it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gtc_core::{
    Accepted, Decision, ForeignBranch, KnownOutcome, Ledger, ParticipantId, ParticipantStatus,
    Refusal, Request, TransactionId, TransactionView,
};

use crate::admin;
use crate::arguments;
use crate::config::{Config, unknown_participant};
use crate::consumer::ConsumerOptions;
use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::TransactionalConsumer;
use crate::kafka::participant::KafkaParticipant;
use crate::log;
use crate::open;
use crate::participant::Participant;
use crate::runtime::{Engine, Standing};
use crate::transaction::{Transaction, TransactionOptions};
use crate::verdict;
use crate::views::{self, ParticipantInfo, Status};

/// Commits global transactions over its participants. Clones share one coordinator; dropping the
/// last one, with its transactions, aborts what is undecided without waiting for it. Prefer
/// [`close`](Coordinator::close).
#[derive(Clone, Debug)]
pub struct Coordinator {
    shared: Arc<Shared>,
}

/// What the handles of one coordinator share.
pub(crate) struct Shared {
    pub(crate) id: String,
    pub(crate) engine: Arc<Engine>,
    pub(crate) kafka: BTreeMap<Arc<str>, Arc<KafkaParticipant>>,
    pub(crate) log: Arc<dyn log::DecisionLog>,
    pub(crate) admin: OnceLock<admin::Server>,
}

impl Coordinator {
    /// Opens the log, raises the incarnation, connects to the participants, and starts the
    /// recovery of what an earlier start left open; new work may begin beside it. Runs on the
    /// tokio runtime that it is called in.
    ///
    /// It waits for participants to answer at most `connect_timeout_ms`; one that does not is
    /// tried again in the background.
    ///
    /// # Errors
    /// Config, log (also where another process owns the log), or fenced.
    pub async fn open(config: Config) -> Result<Self, Error> {
        open::open(config).await.map(Self::from_shared)
    }

    pub(crate) fn from_shared(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Unavailable where a limit is reached, closed, or why the coordinator stopped.
    pub fn begin(&self) -> Result<Transaction, Error> {
        self.begin_with(TransactionOptions::new())
    }

    /// Begins a transaction with a key or a time-out of its own.
    ///
    /// # Errors
    /// As [`begin`](Coordinator::begin).
    pub fn begin_with(&self, options: TransactionOptions) -> Result<Transaction, Error> {
        let request = Request::Begin {
            key: options.key,
            timeout: options.timeout,
        };
        let begun = self.shared.engine.begin(request);
        let begun = begun.map_err(|refusal| verdict::refused("begin", refusal))?;
        Ok(Transaction::new(self.shared.clone(), begun))
    }

    /// A consumer of one participant, whose offsets can be sent into a transaction.
    ///
    /// # Errors
    /// Config for an unknown participant or properties that do not work.
    pub async fn consumer(
        &self,
        participant: &str,
        options: ConsumerOptions,
    ) -> Result<TransactionalConsumer, Error> {
        self.shared.participant("make consumer", participant)?;
        match self.shared.kafka.get(participant) {
            Some(kafka) => kafka.consumer(options).await,
            None => {
                let problem = "the participant is no Kafka cluster";
                Err(Error::new(ErrorKind::Unsupported, "make consumer", problem)
                    .with_participant(participant))
            }
        }
    }

    /// Waits until no promised branch of this own producer is left. A restarted application calls
    /// it before it initialises the producer again, which would abort a promised branch (R5).
    ///
    /// # Errors
    /// Config for an unknown participant, or why the coordinator ended before.
    pub async fn settle(&self, participant: &str, transactional_id: &str) -> Result<(), Error> {
        const OPERATION: &str = "settle";
        let (id, _) = self.shared.participant(OPERATION, participant)?;
        arguments::transactional_id(transactional_id)
            .map_err(|flaw| flaw.error(OPERATION).with_participant(participant))?;
        let settled = self
            .shared
            .engine
            .settle(id, &Arc::from(transactional_id))
            .map_err(|refusal| {
                verdict::refused(OPERATION, refusal).with_participant(participant)
            })?;
        settled.await.map_err(|_| self.ended(OPERATION))
    }

    /// What is known of a transaction's outcome, for the retention of `outcomes_max`. Unknown is
    /// not aborted: a transaction that committed in one phase leaves no record.
    #[must_use]
    pub fn outcome(&self, id: TransactionId) -> KnownOutcome {
        self.shared.engine.read(|core| core.outcome(id))
    }

    /// The newest transaction with this key of the application's, and its outcome.
    #[must_use]
    pub fn outcome_by_key(&self, key: &[u8]) -> Option<(TransactionId, KnownOutcome)> {
        self.shared.engine.read(|core| {
            let id = core.find_key(key)?;
            Some((id, core.outcome(id)))
        })
    }

    /// Transactions that are not ended, or ended otherwise than decided.
    #[must_use]
    pub fn list(&self) -> Vec<TransactionView> {
        self.shared.engine.read(gtc_core::Coordinator::list)
    }

    /// One transaction, also an ended one within the retention.
    #[must_use]
    pub fn describe(&self, id: TransactionId) -> Option<TransactionView> {
        self.shared.engine.read(|core| core.describe(id))
    }

    /// Open branches that another log left under this coordinator's id: in doubt until an
    /// operator resolves them (R12).
    #[must_use]
    pub fn foreign(&self) -> Vec<ForeignBranch> {
        self.shared.engine.read(gtc_core::Coordinator::foreign)
    }

    /// An operator ends what cannot end by itself. Commit: its branches are tried again now.
    /// Abort: the open branches are given up, as a heuristic outcome.
    ///
    /// # Errors
    /// Invalid-state for a transaction that has ended or whose decision is another.
    pub fn resolve(&self, id: TransactionId, decision: Decision) -> Result<Accepted, Error> {
        let request = Request::Resolve {
            transaction: id,
            decision,
        };
        self.shared.operate("resolve", request)
    }

    /// An operator ends an open branch of another log, see [`foreign`](Coordinator::foreign).
    ///
    /// # Errors
    /// Config for an unknown participant, invalid-state for a branch that is not listed,
    /// unavailable where the attempt failed.
    pub async fn resolve_foreign(
        &self,
        participant: &str,
        transactional_id: &str,
        decision: Decision,
    ) -> Result<(), Error> {
        let branch = (participant, transactional_id);
        self.shared.resolve_foreign(branch, decision).await
    }

    /// An operator has dealt with a mixed outcome: it is listed no more.
    ///
    /// # Errors
    /// Invalid-state for a transaction without such an outcome.
    pub fn forget(&self, id: TransactionId) -> Result<Accepted, Error> {
        self.shared
            .operate("forget", Request::Forget { transaction: id })
    }

    /// Waits until everything that the log left open is ended.
    ///
    /// # Errors
    /// Why the coordinator stopped before.
    pub async fn recovered(&self) -> Result<(), Error> {
        const OPERATION: &str = "recover";
        self.shared
            .until(OPERATION, |standing| standing.recovered)
            .await
    }

    /// Waits until a participant takes branches, at most `enlist_timeout_ms`, as an enlistment does.
    ///
    /// # Errors
    /// Config for an unknown participant, unavailable with what keeps it from being verified, why it
    /// is stopped until a restart, or why the coordinator stopped.
    pub async fn verified(&self, participant: &str) -> Result<(), Error> {
        self.shared.verified(participant).await
    }

    /// The coordinator as a whole.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Counts since the start.
    #[must_use]
    pub fn counters(&self) -> gtc_core::Counters {
        self.shared.engine.read(|core| *core.counters())
    }

    /// Accepts nothing new, aborts what is undecided, waits for what is under way, and gives the
    /// log up. What a participant does not acknowledge within `close_timeout_ms` stays in the log
    /// and is finished by the next start.
    ///
    /// # Errors
    /// Timeout with the number of transactions that stay open; log if its last write failed.
    pub async fn close(&self) -> Result<(), Error> {
        crate::close::close(&self.shared).await
    }

    fn ended(&self, operation: &'static str) -> Error {
        self.shared.ended(operation)
    }
}

impl Shared {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The participant of this name.
    pub(crate) fn participant(
        &self,
        operation: &'static str,
        name: &str,
    ) -> Result<(ParticipantId, &dyn Participant), Error> {
        let participants = self.engine.participants();
        for (index, (known, driver)) in (0_u16..).zip(participants) {
            if **known == *name {
                return Ok((ParticipantId(index), &**driver));
            }
        }
        let known = participants.iter().map(|(known, _)| &**known);
        Err(unknown_participant(operation, name, known))
    }

    pub(crate) fn name(&self, participant: ParticipantId) -> Arc<str> {
        let named = self.engine.participants().get(usize::from(participant.0));
        named.map_or_else(|| Arc::from("?"), |(name, _)| name.clone())
    }

    pub(crate) fn operate(
        &self,
        operation: &'static str,
        request: Request,
    ) -> Result<Accepted, Error> {
        let accepted = self.engine.request(request);
        accepted.map_err(|refusal| verdict::refused(operation, refusal))
    }

    pub(crate) async fn resolve_foreign(
        &self,
        (name, transactional_id): (&str, &str),
        decision: Decision,
    ) -> Result<(), Error> {
        const OPERATION: &str = "resolve foreign branch";
        let (participant, _) = self.participant(OPERATION, name)?;
        arguments::transactional_id(transactional_id)
            .map_err(|flaw| flaw.error(OPERATION).with_participant(name))?;
        let branch = (participant, Arc::from(transactional_id));
        let resolved = self
            .engine
            .resolve_foreign(branch, decision)
            .map_err(|refusal| verdict::refused(OPERATION, refusal).with_participant(name))?;
        match resolved.await {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(Error::new(ErrorKind::Unavailable, OPERATION, why)
                .with_participant(name)
                .with_remedy("try again; look at the branch with `list`")),
            Err(_) => Err(self.ended(OPERATION)),
        }
    }

    async fn verified(&self, name: &str) -> Result<(), Error> {
        const OPERATION: &str = "verify";
        let (id, _) = self.participant(OPERATION, name)?;
        let index = usize::from(id.0);
        let status = |standing: &Standing| standing.participants.get(index).cloned();
        let settled = |standing: &Standing| {
            let status = status(standing);
            matches!(
                status,
                Some(ParticipantStatus::Verified | ParticipantStatus::Stopped(_))
            )
        };
        let patience = Duration::from_millis(self.engine.limits().enlist_timeout_ms);
        let waited = tokio::time::timeout(patience, self.until(OPERATION, settled)).await;
        if let Ok(Err(error)) = waited {
            return Err(error);
        }
        let status = status(&self.engine.standing().borrow());
        let refusal = match status {
            Some(ParticipantStatus::Verified) => return Ok(()),
            Some(ParticipantStatus::Stopped(_)) => {
                self.engine.read(|core| core.stopped_participant(id))
            }
            Some(ParticipantStatus::Unavailable(why)) => Some(Refusal::Unavailable(why)),
            _ => None,
        };
        let late = || Refusal::Unavailable(format!("no answer within {} ms", patience.as_millis()));
        let error = verdict::refused(OPERATION, refusal.unwrap_or_else(late));
        Err(error.with_participant(name))
    }

    /// Waits until the coordinator stands so, or has stopped.
    pub(crate) async fn until(
        &self,
        operation: &'static str,
        reached: impl Fn(&Standing) -> bool,
    ) -> Result<(), Error> {
        let mut standing = self.engine.standing();
        let settled = standing
            .wait_for(|standing| reached(standing) || standing.stopped.is_some())
            .await;
        match settled {
            Ok(standing) if reached(&standing) => Ok(()),
            _ => Err(self.ended(operation)),
        }
    }

    pub(crate) fn ended(&self, operation: &'static str) -> Error {
        match &self.engine.standing().borrow().stopped {
            Some(reason) => verdict::stopped(operation, reason),
            None => Error::new(ErrorKind::Closed, operation, "the coordinator is closed"),
        }
    }

    pub(crate) fn status(&self) -> Status {
        let standing = self.engine.standing().borrow().clone();
        let participants = self.engine.participants();
        self.engine.read(|core| Status {
            coordinator: self.id.clone(),
            incarnation: core.incarnation().0,
            process: std::process::id(),
            recovered: standing.recovered,
            stopped: standing
                .stopped
                .as_ref()
                .map(ToString::to_string)
                .or_else(|| {
                    // Nothing may have to be written for a long while.
                    self.log.failure().map(|failure| failure.to_string())
                }),
            participants: (0_u16..)
                .zip(participants)
                .map(|(index, (name, _))| participant_info(core, ParticipantId(index), name))
                .collect(),
            open: core.list().len(),
            foreign: core.foreign().iter().map(Into::into).collect(),
        })
    }
}

fn participant_info(
    core: &gtc_core::Coordinator,
    participant: ParticipantId,
    name: &str,
) -> ParticipantInfo {
    let slots = core.slots(participant);
    let status = core.participant_status(participant);
    let (state, detail) = status.map_or(("unknown", None), views::standing);
    ParticipantInfo {
        name: name.to_owned(),
        state: state.to_owned(),
        detail,
        slots_open: slots.open as u64,
        slots_free: slots.free as u64,
        waiting: slots.waiting as u64,
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // After `close` this is refused, which changes nothing.
        let _ = self.engine.request(Request::Close);
    }
}

/// Reads the records of a log without its lock, also while its owner writes it: what `list`,
/// `describe` and `outcome` of the ledger say may be a moment old.
///
/// # Errors
/// Log if there is none, or it is damaged.
pub fn read_log(directory: impl AsRef<Path>) -> Result<Ledger, Error> {
    let replay = read_records(directory.as_ref())?;
    open::replay(READ_LOG, &replay).map(|(ledger, _)| ledger)
}

/// As [`read_log`], for the coordinator of a configuration.
///
/// # Errors
/// As [`read_log`], and Log where it belongs to another coordinator.
pub fn read_log_of(config: &Config) -> Result<Ledger, Error> {
    let replay = read_records(config.log())?;
    log::check_owner(&replay.identity.coordinator, config.id(), config.log())
        .map_err(|error| open::log_error(READ_LOG, error))?;
    open::replay(READ_LOG, &replay).map(|(ledger, _)| ledger)
}

const READ_LOG: &str = "read log";

fn read_records(directory: &Path) -> Result<log::Replay, Error> {
    log::read_only(directory).map_err(|error| open::log_error(READ_LOG, error))
}
