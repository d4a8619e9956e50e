//! Where reports come from: the living owner of the log, or else the log itself, without its lock.
//! An owner that lives and does not answer is told from none: nobody has to take its work over.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::os::unix::fs::FileTypeExt as _;
use std::time::Duration;

use gtc::admin::{self, AdminAnswer, AdminRequest};
use gtc::log::{LogError, LogErrorKind, holder};
use gtc::survey::{OpenBranch, Silent, survey};
use gtc::views::{TransactionInfo, outcome_name};
use gtc::{Config, ErrorKind, Ledger, TransactionId, read_log_of};

use serde::Serialize;

use crate::failure::Failure;

/// How long the clusters may take to say what is open.
const SURVEY_PATIENCE: Duration = Duration::from_secs(10);
/// The broker's name of what only a coordinator, or a time-out, ends.
const ONGOING: &str = "Ongoing";

/// Where a list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The living owner of the log.
    Owner,
    /// The log itself, as its owner lives and does not answer.
    SilentOwner,
    /// The log itself, which nobody owns.
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
    pub(crate) foreign: Vec<Branch>,
    /// Open branches of this log that are of none of the transactions: what its owner had not decided.
    /// An owner that answers lists the transactions themselves.
    pub(crate) undecided: Vec<Branch>,
    /// Participants that were asked for them and did not tell.
    pub(crate) silent: Vec<Silent>,
    /// Where it comes from.
    pub(crate) from: From,
    /// The clusters were asked, by the owner or by this process.
    pub(crate) asked: bool,
}

/// An open branch, as a cluster shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Branch {
    /// The participant's name.
    pub(crate) participant: String,
    /// Its transactional.id.
    pub(crate) transactional_id: String,
    /// Its state.
    pub(crate) state: String,
    /// The partitions that it holds back, where the cluster told.
    pub(crate) partitions: Vec<String>,
}

impl From {
    /// Whether a process owns the log.
    pub(crate) fn has_owner(self) -> bool {
        matches!(self, Self::Owner | Self::SilentOwner)
    }

    /// Whether what is told is what the owner knows.
    pub(crate) fn is_told_by_owner(self) -> bool {
        self == Self::Owner
    }
}

/// What an owner that was asked made of it.
enum Asked {
    Answered(AdminAnswer),
    /// It holds the log and does not answer.
    Silent,
    /// There is no owner.
    Nobody,
}

impl Asked {
    /// Where it is told from instead of the owner.
    fn otherwise(&self) -> From {
        match self {
            Self::Answered(_) => From::Owner,
            Self::Silent => From::SilentOwner,
            Self::Nobody => From::Log,
        }
    }
}

/// The transactions that are not ended, or ended otherwise than decided. Where no owner lives, the
/// clusters are asked for what is open there and in no log, unless `offline`.
pub(crate) async fn list(config: &Config, offline: bool) -> Result<Listed, Failure> {
    let asked = ask_owner(config, &AdminRequest::List).await?;
    let from = asked.otherwise();
    if let Asked::Answered(AdminAnswer::List {
        transactions,
        foreign,
    }) = asked
    {
        let foreign = foreign.into_iter().map(|branch| Branch {
            participant: branch.participant,
            transactional_id: branch.transactional_id,
            state: branch.state,
            partitions: Vec::new(),
        });
        return Ok(Listed {
            transactions,
            foreign: foreign.collect(),
            undecided: Vec::new(),
            silent: Vec::new(),
            from,
            asked: true,
        });
    }
    let ledger = read_ledger(config)?;
    let found = match offline {
        true => Default::default(),
        false => survey(config, SURVEY_PATIENCE).await,
    };
    let open = ledger.as_ref().map(Ledger::list).unwrap_or_default();
    let transactions: Vec<_> = open.iter().map(TransactionInfo::from).collect();
    Ok(Listed {
        foreign: found.foreign().map(Branch::from).collect(),
        undecided: undecided(&found.branches, &transactions),
        transactions,
        silent: found.unknown,
        from: match (&ledger, from) {
            (None, From::Log) => From::Nothing,
            _ => from,
        },
        asked: !offline,
    })
}

/// What the log made and has no decision about. What a broker is ending by itself is about to be gone.
fn undecided(open: &[OpenBranch], transactions: &[TransactionInfo]) -> Vec<Branch> {
    let listed = transactions
        .iter()
        .flat_map(|transaction| &transaction.branches);
    let listed: BTreeSet<_> = listed
        .filter_map(|branch| Some((branch.transactional_id.as_ref()?, &branch.participant)))
        .collect();
    let own = open.iter().filter(|branch| !branch.foreign);
    own.filter(|branch| branch.state == ONGOING)
        .filter(|branch| !listed.contains(&(&branch.transactional_id, &branch.participant)))
        .map(Branch::from)
        .collect()
}

impl std::convert::From<&OpenBranch> for Branch {
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

/// One transaction, if it is known, and where that is told from.
pub(crate) async fn describe(
    config: &Config,
    id: TransactionId,
) -> Result<(Option<TransactionInfo>, From), Failure> {
    let request = AdminRequest::Describe {
        transaction: id.to_string(),
    };
    let asked = ask_owner(config, &request).await?;
    let from = asked.otherwise();
    if let Asked::Answered(AdminAnswer::Transaction { transaction }) = asked {
        return Ok((transaction, from));
    }
    let ledger = read_ledger(config)?;
    let described = ledger.and_then(|ledger| ledger.describe(id));
    Ok((described.as_ref().map(TransactionInfo::from), from))
}

/// Which transaction is meant.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// By its id.
    Id(TransactionId),
    /// The newest one with this key of the application's.
    Key(Vec<u8>),
}

/// How a transaction ended.
#[derive(Debug)]
pub(crate) struct Told {
    /// Its id, where it is known.
    pub(crate) id: Option<String>,
    /// The name of the outcome.
    pub(crate) outcome: String,
    /// Where it is told from.
    pub(crate) from: From,
}

/// How a transaction ended, as far as it is known.
pub(crate) async fn outcome(config: &Config, which: &Which) -> Result<Told, Failure> {
    let request = match which {
        Which::Id(id) => AdminRequest::Outcome {
            transaction: id.to_string(),
        },
        Which::Key(key) => AdminRequest::OutcomeByKey { key_hex: hex(key) },
    };
    let asked = ask_owner(config, &request).await?;
    let from = asked.otherwise();
    if let Asked::Answered(AdminAnswer::Outcome {
        transaction: id,
        outcome,
    }) = asked
    {
        return Ok(Told { id, outcome, from });
    }
    let ledger = read_ledger(config)?.unwrap_or_default();
    let id = match which {
        Which::Id(id) => Some(*id),
        Which::Key(key) => ledger.find_key(key),
    };
    let outcome = id.map_or("unknown", |id| outcome_name(ledger.outcome(id)));
    Ok(Told {
        id: id.map(|id| id.to_string()),
        outcome: outcome.to_owned(),
        from,
    })
}

/// Asks the owner. One that does not answer (it may be stopped) is no reason to tell nothing.
async fn ask_owner(config: &Config, request: &AdminRequest) -> Result<Asked, Failure> {
    let problem = match admin::ask_owner(config, request).await {
        Ok(Some(answer)) => return Ok(Asked::Answered(answer)),
        Err(error) if error.kind() == ErrorKind::Log => return Err(Failure::from_error(error)),
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    // The socket proves nothing: the owner is who holds the lock.
    let Some(holder) = holder(config.log()).map_err(Failure::from_error)? else {
        if let Some(problem) = problem {
            tracing::warn!("{problem}; nobody owns the log any more: it is read");
        }
        return Ok(Asked::Nobody);
    };
    let problem = problem.unwrap_or_else(|| no_socket(config));
    tracing::warn!(
        "the log is owned by {holder}, which does not answer: {problem}; what is told is read from \
         the log's file, and may be under way"
    );
    Ok(Asked::Silent)
}

fn no_socket(config: &Config) -> String {
    let socket = config.log().join("admin.sock");
    let found = std::fs::symlink_metadata(&socket);
    if found.is_ok_and(|found| !found.file_type().is_socket()) {
        let socket = socket.display();
        return format!(
            "{socket} is not a socket, and in the place of the owner's: remove it, and ask again"
        );
    }
    format!(
        "nobody listens on admin.sock in {}: the owner is just starting, or the socket was removed, and an \
         owner that is not stopped makes it again within seconds: ask again",
        config.log().display()
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
