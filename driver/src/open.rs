//! Opening a coordinator: log, participants, core, engine, in this order.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gtc_core::{ConnectReport, LogId, ParticipantStatus, Record};
use tokio::time::{Instant, timeout_at};

use crate::admin;
use crate::adoption;
use crate::close::close;
use crate::config::{Config, ParticipantConfig};
use crate::coordinator::Shared;
use crate::error::{Error, ErrorKind, Retry};
use crate::kafka::participant::KafkaParticipant;
use crate::log::{DecisionLog, FileLog, FileLogOptions, LogError, LogErrorKind, Replay};
use crate::metrics;
use crate::participant::Participant;
use crate::runtime::{Engine, Named, Parts, Standing, clock};

const OPERATION: &str = "open";

/// A participant that is about to be used.
pub(crate) struct Member {
    pub(crate) config: ParticipantConfig,
    pub(crate) driver: Arc<dyn Participant>,
    pub(crate) kafka: Option<Arc<KafkaParticipant>>,
}

/// Opens the coordinator of a configuration, with the log in its directory.
pub(crate) async fn open(config: Config) -> Result<Arc<Shared>, Error> {
    config.validate()?;
    let members = config.participants.iter().map(|participant| {
        let kafka = Arc::new(KafkaParticipant::open(participant)?);
        Ok(Member {
            config: participant.clone(),
            driver: kafka.clone(),
            kafka: Some(kafka),
        })
    });
    let members = members.collect::<Result<Vec<_>, Error>>()?;
    if config.adopt {
        adoption::refuse_stale(&config, &members).await?;
    }
    let (log, replay) = open_log(&config).await?;
    let directory = config.log.clone();
    let shared = start(config, (Arc::new(log), replay), members).await?;
    let server = admin::Server::start(&directory, Arc::downgrade(&shared))?;
    // It is set here alone.
    let _ = shared.admin.set(server);
    Ok(shared)
}

/// Starts the engine over a log and participants of any make.
pub(crate) async fn start(
    config: Config,
    (log, replay): (Arc<dyn DecisionLog>, Replay),
    members: Vec<Member>,
) -> Result<Arc<Shared>, Error> {
    metrics::describe();
    let deadline = Instant::now() + Duration::from_millis(config.limits.connect_timeout_ms);
    let (ledger, records) = self::replay(OPERATION, &replay)?;
    let reports = probe(&members, deadline).await;
    let core_config = core_config(&config, replay.identity.log_id, (&members, &reports))?;
    let core = gtc_core::Coordinator::new(core_config, ledger, clock::now());
    let mut core = core.map_err(|error| {
        // Its text says what is needed.
        Error::new(ErrorKind::Config, OPERATION, error.to_string()).with_source(error)
    })?;
    core.replayed(&records);
    let kafka = members
        .iter()
        .filter_map(|member| Some((Arc::from(member.config.name()), member.kafka.clone()?)));
    let kafka = kafka.collect();
    let named = members
        .into_iter()
        .map(|member| -> Named { (Arc::from(member.config.name), member.driver) });
    let parts = Parts {
        core,
        log: log.clone(),
        participants: named.collect(),
        limits: config.limits,
    };
    let shared = Arc::new(Shared {
        id: config.id,
        engine: Engine::start(parts, &records),
        kafka,
        log,
        admin: OnceLock::new(),
    });
    match await_start(&shared, &reports, deadline).await {
        Ok(()) => Ok(shared),
        Err(error) => {
            // The log has to be free again when the caller hears of it; its own error tells more.
            let _ = close(&shared).await;
            Err(error)
        }
    }
}

async fn open_log(config: &Config) -> Result<(FileLog, Replay), Error> {
    let mut options = FileLogOptions::new(&config.log, &config.id);
    options.adopt = config.adopt;
    let opened = tokio::task::spawn_blocking(move || FileLog::open(options)).await;
    match opened {
        Ok(opened) => opened.map_err(|error| log_error(OPERATION, error)),
        Err(error) => Err(
            Error::new(ErrorKind::Internal, OPERATION, "opening the log panicked")
                .with_source(error),
        ),
    }
}

/// The error of a log.
pub(crate) fn log_error(operation: &'static str, error: LogError) -> Error {
    let retry = match error.kind() {
        LogErrorKind::Locked | LogErrorKind::Full => Retry::Later,
        _ => Retry::Never,
    };
    Error::new(ErrorKind::Log, operation, error.problem())
        .with_retry(retry)
        .with_remedy(error.remedy())
        .with_source(error)
}

/// What the entries of a log say.
pub(crate) fn replay(
    operation: &'static str,
    replay: &Replay,
) -> Result<(gtc_core::Ledger, Vec<Record>), Error> {
    let mut ledger = gtc_core::Ledger::new();
    let mut records = Vec::with_capacity(replay.entries.len());
    for (index, entry) in replay.entries.iter().enumerate() {
        let applied = Record::decode(entry).and_then(|record| {
            records.push(record.clone());
            ledger.apply(record)
        });
        applied.map_err(|error| {
            Error::new(
                ErrorKind::Log,
                operation,
                format!("record {index}: {error}"),
            )
            .with_remedy("start the gtc that wrote this log")
            .with_source(error)
        })?;
    }
    Ok((ledger, records))
}

/// Asks every participant who it is, all at once, until `deadline`.
async fn probe(members: &[Member], deadline: Instant) -> Vec<Option<ConnectReport>> {
    let asked: Vec<_> = members
        .iter()
        .map(|member| {
            let driver = member.driver.clone();
            tokio::spawn(async move { timeout_at(deadline, driver.connect()).await })
        })
        .collect();
    let mut reports = Vec::with_capacity(asked.len());
    for (member, answer) in members.iter().zip(asked) {
        let participant = member.config.name.as_str();
        reports.push(match answer.await {
            Ok(Ok(Ok(report))) => Some(report),
            Ok(Ok(Err(why))) => {
                tracing::warn!(target: "gtc", participant, why, "does not answer at open");
                None
            }
            _ => {
                tracing::warn!(target: "gtc", participant, "does not answer in time at open");
                None
            }
        });
    }
    reports
}

fn core_config(
    config: &Config,
    log_id: u64,
    (members, reports): (&[Member], &[Option<ConnectReport>]),
) -> Result<gtc_core::Config, Error> {
    let participants = members.iter().zip(reports).map(|(member, report)| {
        let ceiling = report.as_ref().and_then(|report| report.timeout_ceiling_ms);
        member.config.fitted(OPERATION, ceiling)
    });
    Ok(gtc_core::Config {
        coordinator: config.id.clone(),
        log_id: LogId(log_id),
        participants: participants.collect::<Result<_, Error>>()?,
        limits: config.limits.core(),
        backoff: config.limits.backoff(),
        seed: seed()?,
    })
}

fn seed() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            OPERATION,
            format!("no randomness: {error}"),
        )
    })
}

/// Waits for the forced start record, then for the participants that answered the probe: a stale
/// log shows only in what they list (R13).
async fn await_start(
    shared: &Shared,
    reports: &[Option<ConnectReport>],
    deadline: Instant,
) -> Result<(), Error> {
    shared.until(OPERATION, |standing| standing.started).await?;
    let known = |standing: &Standing| {
        standing
            .participants
            .iter()
            .zip(reports)
            .all(|(status, report)| report.is_none() || *status != ParticipantStatus::Starting)
    };
    match timeout_at(deadline, shared.until(OPERATION, known)).await {
        Ok(result) => result,
        // Slow participants go on in the background.
        Err(_) => Ok(()),
    }
}
