//! Where reports come from: the living owner of the log, or else the log itself, without its lock.

use gtc::admin::{AdminAnswer, AdminRequest, ask};
use gtc::views::{ForeignInfo, TransactionInfo, outcome_name};
use gtc::{Config, TransactionId, read_log};

use crate::failure::Failure;

/// What a list shows.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Transactions that are not ended, or ended otherwise than decided.
    pub(crate) transactions: Vec<TransactionInfo>,
    /// Open branches of another log.
    pub(crate) foreign: Vec<ForeignInfo>,
    /// Whether a living owner works on them.
    pub(crate) has_owner: bool,
}

/// The transactions that are not ended, or ended otherwise than decided.
pub(crate) async fn list(config: &Config) -> Result<Listed, Failure> {
    if let Some(AdminAnswer::List {
        transactions,
        foreign,
    }) = ask_owner(config, &AdminRequest::List).await
    {
        return Ok(Listed {
            transactions,
            foreign,
            has_owner: true,
        });
    }
    let ledger = read_log(config.log()).map_err(Failure::from_error)?;
    let transactions = ledger.list().iter().map(TransactionInfo::from).collect();
    Ok(Listed {
        transactions,
        foreign: Vec::new(),
        has_owner: false,
    })
}

/// One transaction, if it is known.
pub(crate) async fn describe(
    config: &Config,
    id: TransactionId,
) -> Result<Option<TransactionInfo>, Failure> {
    let request = AdminRequest::Describe {
        transaction: id.to_string(),
    };
    if let Some(AdminAnswer::Transaction { transaction }) = ask_owner(config, &request).await {
        return Ok(transaction);
    }
    let ledger = read_log(config.log()).map_err(Failure::from_error)?;
    Ok(ledger.describe(id).as_ref().map(TransactionInfo::from))
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
    }) = ask_owner(config, &request).await
    {
        return Ok((transaction, outcome));
    }
    let ledger = read_log(config.log()).map_err(Failure::from_error)?;
    let id = match which {
        Which::Id(id) => Some(*id),
        Which::Key(key) => ledger.find_key(key),
    };
    let outcome = id.map_or("unknown", |id| outcome_name(ledger.outcome(id)));
    Ok((id.map(|id| id.to_string()), outcome.to_owned()))
}

/// Asks the owner. One that does not answer (it may be stopped) is no reason to tell nothing.
async fn ask_owner(config: &Config, request: &AdminRequest) -> Option<AdminAnswer> {
    match ask(config.log(), request).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!(%error, "reading the log instead; it may be a moment old");
            None
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
