//! Where reports come from: the living owner of the log, or else the log itself, without its lock.

use std::error::Error as _;
use std::time::Duration;

use gtc::admin::{self, AdminAnswer, AdminRequest};
use gtc::log::{LogError, LogErrorKind};
use gtc::survey::{OpenBranch, Silent, survey};
use gtc::views::{TransactionInfo, outcome_name};
use gtc::{Config, ErrorKind, Ledger, TransactionId, read_log_of};

use serde::Serialize;

use crate::failure::Failure;

/// How long the clusters may take to say what is open.
const SURVEY_PATIENCE: Duration = Duration::from_secs(10);

/// Where a list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The living owner of the log.
    Owner,
    /// The log itself.
    Log,
    /// There is no log yet.
    Nothing,
}

/// What a list shows.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Transactions that are not ended, or ended otherwise than decided.
    pub(crate) transactions: Vec<TransactionInfo>,
    /// Open branches of another log.
    pub(crate) foreign: Vec<Foreign>,
    /// Participants that were asked for them and did not tell.
    pub(crate) silent: Vec<Silent>,
    /// Where it comes from.
    pub(crate) from: From,
    /// The clusters were asked, by the owner or by this process.
    pub(crate) asked: bool,
}

/// An open branch of another log.
#[derive(Debug, Serialize)]
pub(crate) struct Foreign {
    /// The participant's name.
    pub(crate) participant: String,
    /// Its transactional.id.
    pub(crate) transactional_id: String,
    /// Its state.
    pub(crate) state: String,
    /// The partitions that it holds back, where the cluster told.
    pub(crate) partitions: Vec<String>,
}

impl Listed {
    /// Whether a living owner works on it.
    pub(crate) fn has_owner(&self) -> bool {
        self.from == From::Owner
    }
}

/// The transactions that are not ended, or ended otherwise than decided. Where no owner lives, the
/// clusters are asked for what other logs left open, unless `offline`.
pub(crate) async fn list(config: &Config, offline: bool) -> Result<Listed, Failure> {
    if let Some(AdminAnswer::List {
        transactions,
        foreign,
    }) = ask_owner(config, &AdminRequest::List).await?
    {
        let foreign = foreign.into_iter().map(|branch| Foreign {
            participant: branch.participant,
            transactional_id: branch.transactional_id,
            state: branch.state,
            partitions: Vec::new(),
        });
        return Ok(Listed {
            transactions,
            foreign: foreign.collect(),
            silent: Vec::new(),
            from: From::Owner,
            asked: true,
        });
    }
    let ledger = read_ledger(config)?;
    let found = match offline {
        true => Default::default(),
        false => survey(config, SURVEY_PATIENCE).await,
    };
    let open = ledger.as_ref().map(Ledger::list).unwrap_or_default();
    Ok(Listed {
        transactions: open.iter().map(TransactionInfo::from).collect(),
        foreign: found.foreign().map(Foreign::from).collect(),
        silent: found.unknown,
        from: if ledger.is_some() {
            From::Log
        } else {
            From::Nothing
        },
        asked: !offline,
    })
}

impl std::convert::From<&OpenBranch> for Foreign {
    fn from(branch: &OpenBranch) -> Self {
        Self {
            participant: branch.participant.clone(),
            transactional_id: branch.transactional_id.clone(),
            state: branch.state.clone(),
            partitions: branch.partitions.clone(),
        }
    }
}

/// What the log says; `None` where the coordinator was never started.
pub(crate) fn read_ledger(config: &Config) -> Result<Option<Ledger>, Failure> {
    match read_log_of(config) {
        Ok(ledger) => Ok(Some(ledger)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Failure::from_error(error)),
    }
}

fn is_absent(error: &gtc::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|cause: &LogError| cause.kind() == LogErrorKind::Absent)
}

/// What is said where there is no log.
pub(crate) fn not_started(config: &Config) -> String {
    format!(
        "not started yet: there is no log in {}",
        config.log().display()
    )
}

/// One transaction, if it is known.
pub(crate) async fn describe(
    config: &Config,
    id: TransactionId,
) -> Result<Option<TransactionInfo>, Failure> {
    let request = AdminRequest::Describe {
        transaction: id.to_string(),
    };
    if let Some(AdminAnswer::Transaction { transaction }) = ask_owner(config, &request).await? {
        return Ok(transaction);
    }
    let ledger = read_ledger(config)?;
    let described = ledger.and_then(|ledger| ledger.describe(id));
    Ok(described.as_ref().map(TransactionInfo::from))
}

/// Which transaction is meant.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// By its id.
    Id(TransactionId),
    /// The newest one with this key of the application's.
    Key(Vec<u8>),
}

/// The id, where it is known, and the name of the outcome.
pub(crate) async fn outcome(
    config: &Config,
    which: &Which,
) -> Result<(Option<String>, String), Failure> {
    let request = match which {
        Which::Id(id) => AdminRequest::Outcome {
            transaction: id.to_string(),
        },
        Which::Key(key) => AdminRequest::OutcomeByKey { key_hex: hex(key) },
    };
    if let Some(AdminAnswer::Outcome {
        transaction,
        outcome,
    }) = ask_owner(config, &request).await?
    {
        return Ok((transaction, outcome));
    }
    let ledger = read_ledger(config)?.unwrap_or_default();
    let id = match which {
        Which::Id(id) => Some(*id),
        Which::Key(key) => ledger.find_key(key),
    };
    let outcome = id.map_or("unknown", |id| outcome_name(ledger.outcome(id)));
    Ok((id.map(|id| id.to_string()), outcome.to_owned()))
}

/// Asks the owner. One that does not answer (it may be stopped) is no reason to tell nothing.
async fn ask_owner(
    config: &Config,
    request: &AdminRequest,
) -> Result<Option<AdminAnswer>, Failure> {
    match admin::ask_owner(config, request).await {
        Ok(answer) => Ok(answer),
        Err(error) if error.kind() == ErrorKind::Log => Err(Failure::from_error(error)),
        Err(error) => {
            tracing::warn!(%error, "reading the log instead; it may be a moment old");
            Ok(None)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
