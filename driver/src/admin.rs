//! Operators reach a living coordinator through a Unix socket beside its log.
//!
//! One JSON object a line each way. The socket is `admin.sock` in the log's directory, for the
//! owner of that directory alone. A request has to arrive within 5 seconds, and at most 64
//! connections are there at once. A socket that was removed is made again within a second. Where nobody
//! answers, the log itself tells, and its lock whether an owner lives all the same.

mod seat;
mod server;

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gtc_core::Decision;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::log;
use crate::open::log_error;
use crate::views::{ForeignInfo, Status, TransactionInfo};
pub(crate) use server::Server;
#[cfg(feature = "fuzzing")]
pub(crate) use server::serve;

const ASK: &str = "ask owner";
const SOCKET: &str = "admin.sock";
/// How long an owner may take to answer; one that is stopped never does.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest path that a socket's address holds, on Linux.
const ADDRESS_BYTES_MAX: usize = 100;

/// What an operator asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AdminRequest {
    /// The transactions that are not ended, or ended otherwise than decided.
    List,
    /// One transaction.
    Describe {
        /// Its id.
        transaction: String,
    },
    /// How a transaction ended.
    Outcome {
        /// Its id.
        transaction: String,
    },
    /// How the newest transaction with this key of the application's ended.
    OutcomeByKey {
        /// The key, in hexadecimal digits.
        key_hex: String,
    },
    /// End what cannot end by itself.
    Resolve {
        /// The transaction's id.
        transaction: String,
        /// How.
        decision: DecisionName,
    },
    /// End an open branch of another log.
    ResolveForeign {
        /// The participant's name.
        participant: String,
        /// The branch's transactional.id.
        transactional_id: String,
        /// How.
        decision: DecisionName,
    },
    /// Stop listing a mixed outcome.
    Forget {
        /// The transaction's id.
        transaction: String,
    },
    /// The coordinator as a whole.
    Status,
}

/// A decision by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionName {
    /// Commit.
    Commit,
    /// Abort.
    Abort,
}

impl From<DecisionName> for Decision {
    fn from(name: DecisionName) -> Self {
        match name {
            DecisionName::Commit => Self::Commit,
            DecisionName::Abort => Self::Abort,
        }
    }
}

/// What the coordinator answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AdminAnswer {
    /// To `list`.
    List {
        /// The transactions.
        transactions: Vec<TransactionInfo>,
        /// Open branches of another log.
        foreign: Vec<ForeignInfo>,
    },
    /// To `describe`.
    Transaction {
        /// The transaction, if it is known.
        transaction: Option<TransactionInfo>,
    },
    /// To `outcome` and `outcome-by-key`.
    Outcome {
        /// The id, if it is known.
        transaction: Option<String>,
        /// The outcome's name.
        outcome: String,
    },
    /// To `status`.
    Status {
        /// The coordinator as a whole.
        status: Status,
    },
    /// The request is accepted; its effect shows in `describe`.
    Accepted,
    /// It is refused.
    Refused {
        /// The kind of the error.
        kind: String,
        /// The step that failed.
        operation: String,
        /// The participant concerned, if it is one.
        participant: Option<String>,
        /// The transaction concerned, if it is one.
        transaction: Option<String>,
        /// What went wrong, without the names around it.
        problem: String,
        /// What to do about it.
        remedy: Option<String>,
    },
}

/// Asks the living owner of the log in `directory`. `None` where there is no owner.
///
/// # Errors
/// Unavailable if the owner does not answer; the owner's own error otherwise.
pub async fn ask(
    directory: impl AsRef<Path>,
    request: &AdminRequest,
) -> Result<Option<AdminAnswer>, Error> {
    let directory = directory.as_ref();
    let stream = match connect(directory).await {
        Ok(stream) => stream,
        Err(error) if is_no_owner(&error) => return Ok(None),
        Err(error) => return Err(unreachable(directory, error)),
    };
    let exchanged = tokio::time::timeout(ANSWER_TIMEOUT, exchange(stream, request)).await;
    let line = match exchanged {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => return Err(unreachable(directory, error)),
        Err(_) => {
            let error = io::Error::new(io::ErrorKind::TimedOut, "no answer in 10 s");
            return Err(unreachable(directory, error));
        }
    };
    let answer = serde_json::from_str(&line).map_err(|error| {
        let problem = format!("the owner's answer is not understood: {error}");
        Error::new(ErrorKind::Unsupported, ASK, problem)
            .with_remedy("use the gtc of the owner's version")
    })?;
    match answer {
        answer @ AdminAnswer::Refused { .. } => Err(refused(answer)),
        answer => Ok(Some(answer)),
    }
}

/// As [`ask`], the living owner of the log of a configuration.
///
/// # Errors
/// As [`ask`], and Log where the log belongs to another coordinator.
pub async fn ask_owner(
    config: &Config,
    request: &AdminRequest,
) -> Result<Option<AdminAnswer>, Error> {
    let Some(answer) = ask(config.log(), &AdminRequest::Status).await? else {
        return Ok(None);
    };
    if let AdminAnswer::Status { status } = answer {
        log::check_owner(&status.coordinator, config.id(), config.log())
            .map_err(|error| log_error(ASK, error))?;
    }
    ask(config.log(), request).await
}

async fn exchange(mut stream: UnixStream, request: &AdminRequest) -> io::Result<String> {
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    // Who is turned away may find the connection closed, with the reason in it.
    let sent = stream.write_all(line.as_bytes()).await;
    let mut answer = String::new();
    let read = BufReader::new(stream).read_line(&mut answer).await;
    if answer.ends_with('\n') {
        return Ok(answer);
    }
    sent?;
    read?;
    Err(io::ErrorKind::UnexpectedEof.into())
}

fn is_no_owner(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused
    )
}

fn unreachable(directory: &Path, error: io::Error) -> Error {
    let problem = format!(
        "the owner of the log in {} does not answer: {error}",
        directory.display()
    );
    Error::new(ErrorKind::Unavailable, ASK, problem)
        .with_remedy("see whether that process is stopped or overloaded")
        .with_source(error)
}

impl From<&Error> for AdminAnswer {
    fn from(error: &Error) -> Self {
        Self::Refused {
            kind: error.kind().as_str().to_owned(),
            operation: error.operation().to_owned(),
            participant: error.participant().map(str::to_owned),
            transaction: error.transaction().map(|id| id.to_string()),
            problem: error.problem().to_owned(),
            remedy: Some(error.remedy().to_owned()),
        }
    }
}

/// The owner's error, as if it had happened here.
pub(crate) fn refused(answer: AdminAnswer) -> Error {
    let AdminAnswer::Refused {
        kind,
        operation,
        participant,
        transaction,
        problem,
        remedy,
    } = answer
    else {
        return Error::new(ErrorKind::Internal, ASK, "it refused nothing");
    };
    let known = ErrorKind::TABLE.iter().find(|(_, name, ..)| *name == kind);
    let kind = known.map_or(ErrorKind::Internal, |(kind, ..)| *kind);
    let mut error = Error::new(kind, operation, problem);
    if let Some(name) = participant {
        error = error.with_participant(name);
    }
    if let Some(id) = transaction.and_then(|id| id.parse().ok()) {
        error = error.with_transaction(id);
    }
    match remedy {
        Some(remedy) => error.with_remedy(remedy),
        None => error,
    }
}

/// The address of the socket. A long path goes through the open directory, as an address holds
/// little more than a hundred bytes.
struct Address {
    path: PathBuf,
    _directory: Option<std::fs::File>,
}

impl Address {
    fn of(directory: &Path) -> io::Result<Self> {
        let path = directory.join(SOCKET);
        if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
            return Ok(Self {
                path,
                _directory: None,
            });
        }
        Self::within(&std::fs::File::open(directory)?)
    }

    /// In an open directory, wherever it is now.
    fn within(directory: &std::fs::File) -> io::Result<Self> {
        let opened = directory.try_clone()?;
        let path = format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd());
        Ok(Self {
            path: path.into(),
            _directory: Some(opened),
        })
    }
}

async fn connect(directory: &Path) -> io::Result<UnixStream> {
    let address = Address::of(directory)?;
    UnixStream::connect(&address.path).await
}

#[cfg(test)]
mod tests;
