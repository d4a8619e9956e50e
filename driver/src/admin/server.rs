//! The owner's side of the socket.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use gtc_core::{Request, TransactionId};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, timeout};

use super::seat::Seat;
use super::{AdminAnswer, AdminRequest, SOCKET};
use crate::coordinator::Shared;
use crate::error::{Error, ErrorKind};
use crate::views::{TransactionInfo, outcome_name};

/// A request that is longer is refused.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// How long a request may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether the socket is still there.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How many connections there are at once.
pub(super) const CONNECTIONS_MAX: usize = 64;

/// Answers operators until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Server {
    task: AbortHandle,
    seat: Arc<Seat>,
}

impl Server {
    /// Listens beside the log. The caller owns the log, so that a socket which is there already
    /// was left by an owner that died.
    pub(crate) fn start(directory: &Path, shared: Weak<Shared>) -> Result<Self, Error> {
        let (seat, listener) = Seat::take(directory).map_err(|error| {
            let problem = format!("the socket {}: {error}", directory.join(SOCKET).display());
            let remedy = match error.kind() {
                io::ErrorKind::AlreadyExists => "remove it, or move it elsewhere, and start again",
                _ => "let the log's directory be on a file system with Unix sockets",
            };
            Error::new(ErrorKind::Log, "open", problem)
                .with_remedy(remedy)
                .with_source(error)
        })?;
        let seat = Arc::new(seat);
        let task = tokio::spawn(accept(listener, seat.clone(), shared)).abort_handle();
        Ok(Self { task, seat })
    }

    pub(crate) fn stop(&self) {
        self.task.abort();
        self.seat.leave();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(mut listener: UnixListener, seat: Arc<Seat>, shared: Weak<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = looks.tick() => {
                if let Some(renewed) = seat.renew() {
                    listener = renewed;
                }
                continue;
            }
        };
        match accepted {
            Ok((stream, _)) => match room.clone().try_acquire_owned() {
                Ok(permit) => {
                    let shared = shared.clone();
                    tokio::spawn(async move {
                        serve(stream, shared).await;
                        drop(permit);
                    });
                }
                Err(_) => turn_away(stream).await,
            },
            Err(error) => {
                tracing::warn!(target: "gtc", %error, "the admin socket accepts nothing");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Says why, where the connection takes it at once.
async fn turn_away(mut stream: UnixStream) {
    let problem = format!("{CONNECTIONS_MAX} operators are connected already");
    let error = Error::new(ErrorKind::Unavailable, "answer operator", problem)
        .with_remedy("ask again in some seconds: who asks nothing is disconnected by then");
    if let Ok(mut text) = serde_json::to_string(&AdminAnswer::from(&error)) {
        text.push('\n');
        let written = stream.write_all(text.as_bytes());
        let _ = timeout(Duration::from_millis(100), written).await;
    }
}

/// Answers line by line. Who asks nothing for a while is left.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite>(stream: S, shared: Weak<Shared>) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader.take(LINE_BYTES_MAX));
    loop {
        let mut line = String::new();
        match timeout(PATIENCE, reader.read_line(&mut line)).await {
            Ok(Ok(0) | Err(_)) | Err(_) => return,
            Ok(Ok(_)) => {}
        }
        reader.get_mut().set_limit(LINE_BYTES_MAX);
        let Some(shared) = shared.upgrade() else {
            return;
        };
        // What is cut off is no request, and what follows it is none either.
        let is_whole = line.ends_with('\n');
        let answer = if is_whole {
            answer(&shared, &line).await
        } else {
            cut_off()
        };
        drop(shared);
        let Ok(mut text) = serde_json::to_string(&answer) else {
            return;
        };
        text.push('\n');
        let written = timeout(PATIENCE, writer.write_all(text.as_bytes())).await;
        if !matches!(written, Ok(Ok(()))) || !is_whole {
            return;
        }
    }
}

fn cut_off() -> AdminAnswer {
    let problem = format!("a request is one line of at most {LINE_BYTES_MAX} bytes");
    AdminAnswer::from(&Error::new(
        ErrorKind::Unsupported,
        "answer operator",
        problem,
    ))
}

async fn answer(shared: &Arc<Shared>, line: &str) -> AdminAnswer {
    let request = serde_json::from_str(line).map_err(|error| {
        let problem = format!("the request is not understood: {error}");
        Error::new(ErrorKind::Unsupported, "answer operator", problem)
            .with_remedy("use the gtc of the owner's version")
    });
    let performed = match request {
        Ok(request) => perform(shared, request).await,
        Err(error) => Err(error),
    };
    performed.unwrap_or_else(|error| AdminAnswer::from(&error))
}

async fn perform(shared: &Arc<Shared>, request: AdminRequest) -> Result<AdminAnswer, Error> {
    let engine = shared.engine();
    Ok(match request {
        AdminRequest::List => engine.read(|core| AdminAnswer::List {
            transactions: core.list().iter().map(TransactionInfo::from).collect(),
            foreign: core.foreign().iter().map(Into::into).collect(),
        }),
        AdminRequest::Describe { transaction } => {
            let id = id(&transaction)?;
            let view = engine.read(|core| core.describe(id));
            AdminAnswer::Transaction {
                transaction: view.as_ref().map(TransactionInfo::from),
            }
        }
        AdminRequest::Outcome { transaction } => {
            let id = id(&transaction)?;
            outcome(shared, Some(id))
        }
        AdminRequest::OutcomeByKey { key_hex } => {
            let key = bytes(&key_hex)?;
            outcome(shared, engine.read(|core| core.find_key(&key)))
        }
        AdminRequest::Resolve {
            transaction,
            decision,
        } => {
            let request = Request::Resolve {
                transaction: id(&transaction)?,
                decision: decision.into(),
            };
            shared.operate("resolve", request)?;
            AdminAnswer::Accepted
        }
        AdminRequest::ResolveForeign {
            participant,
            transactional_id,
            decision,
        } => {
            let branch = (participant.as_str(), transactional_id.as_str());
            shared.resolve_foreign(branch, decision.into()).await?;
            AdminAnswer::Accepted
        }
        AdminRequest::Forget { transaction } => {
            let request = Request::Forget {
                transaction: id(&transaction)?,
            };
            shared.operate("forget", request)?;
            AdminAnswer::Accepted
        }
        AdminRequest::Status => AdminAnswer::Status {
            status: shared.status(),
        },
    })
}

fn outcome(shared: &Arc<Shared>, id: Option<TransactionId>) -> AdminAnswer {
    let known = id.map(|id| shared.engine().read(|core| core.outcome(id)));
    AdminAnswer::Outcome {
        transaction: id.map(|id| id.to_string()),
        outcome: known.map_or("unknown", outcome_name).to_owned(),
    }
}

fn id(text: &str) -> Result<TransactionId, Error> {
    text.parse()
        .map_err(|problem: &str| Error::new(ErrorKind::Config, "answer operator", problem))
}

fn bytes(hex: &str) -> Result<Vec<u8>, Error> {
    let digits = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    digits.collect::<Option<_>>().ok_or_else(|| {
        let problem = "a key is an even number of hexadecimal digits";
        Error::new(ErrorKind::Config, "answer operator", problem)
    })
}
