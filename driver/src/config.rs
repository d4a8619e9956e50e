//! Configuration: from a TOML file, or from values.
//!
//! ```toml
//! [coordinator]
//! id = "orders"
//! log = "/var/lib/gtc/orders"
//!
//! [coordinator.limits]
//! enlist_timeout_ms = 10000
//!
//! [participants.eu]
//! kind = "kafka"
//! slots = 8
//! bootstrap.servers = "eu-1:9092,eu-2:9092"
//! security.protocol = "sasl_ssl"
//! sasl.mechanism = "SCRAM-SHA-512"
//! sasl.username = "gtc"
//! sasl.password = "${EU_PASSWORD}"
//! ```

mod environment;
mod file;
mod keys;
mod limits;
mod participant;
mod secret;
mod validate;
mod values;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use keys::{ConfigKey, KeyType, keys};
pub use limits::Limits;
pub use participant::ParticipantConfig;
pub use secret::Secret;

use crate::error::{Error, ErrorKind};
pub(crate) use file::read;

/// The largest file that is read as a configuration: what never ends is none.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The configuration of one coordinator.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) id: String,
    pub(crate) log: PathBuf,
    pub(crate) adopt: bool,
    pub(crate) limits: Limits,
    pub(crate) participants: Vec<ParticipantConfig>,
}

impl Config {
    /// A coordinator with this id, whose log lives in the directory `log`. The id is for life: it
    /// is part of the log and of every name that the coordinator makes on the clusters.
    #[must_use]
    pub fn new(id: impl Into<String>, log: impl Into<PathBuf>) -> Self {
        Self {
            id: id.into(),
            log: log.into(),
            adopt: false,
            limits: Limits::default(),
            participants: Vec::new(),
        }
    }

    /// Adds a participant.
    #[must_use]
    pub fn participant(mut self, participant: ParticipantConfig) -> Self {
        self.participants.push(participant);
        self
    }

    /// Replaces the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Waits at most this long for what does not answer when it opens, and when it closes, where the limits allow
    /// more.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let Limits {
            connect_timeout_ms,
            close_timeout_ms,
            ..
        } = &mut self.limits;
        for limit in [connect_timeout_ms, close_timeout_ms] {
            *limit = patience_ms.min(*limit);
        }
        self
    }

    /// Takes over a log that was moved to this directory or machine. Only right where no copy of
    /// it was, or ever will be, started elsewhere (R13).
    #[must_use]
    pub fn adopt(mut self, adopt: bool) -> Self {
        self.adopt = adopt;
        self
    }

    /// Reads a TOML file of at most 1 MiB. `${NAME}` in a value stands for an environment variable, `$${` for a
    /// plain `${`; a relative `log` is relative to the file's directory.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] with file and line.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = read_text(path).map_err(|error| {
            Error::new(
                ErrorKind::Config,
                "read configuration",
                format!("{}: {error}", path.display()),
            )
            .with_remedy("name a readable TOML file")
            .with_source(error)
        })?;
        let lookup = |name: &str| std::env::var(name).ok();
        let mut config = read(Some(&path.display().to_string()), &text, &lookup)?;
        if let Some(directory) = path.parent() {
            config.log = directory.join(&config.log);
        }
        Ok(config)
    }

    /// Reads TOML text, as [`Config::from_file`] does; `log` stays as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] with the line.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        read(Some("configuration"), text, &|name| {
            std::env::var(name).ok()
        })
    }

    /// Reads dotted keys and their values, such as `participants.eu.slots` and `8`. The keys are
    /// those of the file. The values stand for themselves: no environment variable is looked up.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] with the key.
    pub fn from_values<K: AsRef<str>, V: AsRef<str>>(values: &[(K, V)]) -> Result<Self, Error> {
        let text = values::to_toml(values);
        read(None, &text, &|_| None)
    }

    /// The coordinator's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The directory of the decision log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How many branches a transaction may have.
    #[must_use]
    pub fn branches_max(&self) -> u64 {
        self.limits.branches_max
    }

    /// The participants.
    #[must_use]
    pub fn participants(&self) -> &[ParticipantConfig] {
        &self.participants
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let problem =
            format!("it has more than {FILE_BYTES_MAX} bytes, which no configuration has");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The known name that `name` was probably meant to be.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const SIMILAR: f64 = 0.8;
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

/// The error of a name that no participant has.
pub(crate) fn unknown_participant<'a>(
    operation: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Error {
    let remedy = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use one of {}", known.collect::<Vec<_>>().join(", ")),
    };
    let problem = "the configuration has no such participant";
    Error::new(ErrorKind::Config, operation, problem)
        .with_participant(name)
        .with_remedy(remedy)
}

#[cfg(test)]
mod tests;
