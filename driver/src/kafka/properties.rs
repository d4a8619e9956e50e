//! Client properties of one participant, named as librdkafka names them and read by both planes.

pub(crate) mod connection;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;

pub(crate) use connection::{
    AddressFamily, ConnectionSettings, Endpoint, PemSource, SaslMechanism, SaslSettings,
    TlsSettings,
};
use table::Class;

/// How similar a known name has to be before it is offered instead of an unknown one.
const SUGGESTION_THRESHOLD: f64 = 0.85;

/// The validated client properties of one participant.
///
/// A value of this type is proof that both planes understand every property in it. What only one
/// of them would honour is refused by [`Properties::parse`]: a data plane that reaches a cluster
/// in a way the control plane cannot would leave branches that nobody is able to finish.
#[derive(Clone)]
pub struct Properties {
    participant: String,
    values: BTreeMap<String, String>,
    written: BTreeMap<String, String>,
    connection: ConnectionSettings,
}

impl Properties {
    /// Checks the properties of `participant` for both planes.
    ///
    /// # Errors
    /// The first property, in the order of their names, that a plane does not understand or that
    /// gtc sets by itself.
    pub fn parse(
        participant: &str,
        values: BTreeMap<String, String>,
    ) -> Result<Self, PropertyError> {
        Self::parse_written(participant, values, BTreeMap::new())
    }

    /// [`Properties::parse`] where no output repeats the values of the properties in `written`
    /// either, as they came from the environment, where secrets are: at most, how they were
    /// written.
    pub(crate) fn parse_written(
        participant: &str,
        values: BTreeMap<String, String>,
        written: BTreeMap<String, String>,
    ) -> Result<Self, PropertyError> {
        let check = Check {
            participant,
            values: &values,
            written: &written,
        };
        for name in values.keys() {
            check.find_slip(name)?;
            check.classify(name)?;
            check.ask_librdkafka(name)?;
        }
        let connection = ConnectionSettings::read(&check)?;
        Ok(Self {
            participant: participant.to_owned(),
            values,
            written,
            connection,
        })
    }

    /// The participant these properties belong to.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.participant
    }

    /// The value of a property as the user wrote it, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The properties as the data plane takes them, to which gtc adds what it owns.
    ///
    /// Never print it: rdkafka's own `Debug` hides `sasl.password` and shows `ssl.key.pem`.
    #[must_use]
    pub fn client_config(&self) -> ClientConfig {
        self.values
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// What the control plane needs to reach the brokers.
    pub(crate) fn connection(&self) -> &ConnectionSettings {
        &self.connection
    }
}

/// Shows names and values, with every secret hidden.
impl fmt::Debug for Properties {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.values.iter().map(|(name, value)| {
            let shown = match table::is_secret(name) {
                true => "(hidden)",
                false => self.written.get(name).unwrap_or(value),
            };
            (name.as_str(), shown)
        });
        out.debug_struct("Properties")
            .field("participant", &self.participant)
            .field("values", &shown.collect::<BTreeMap<_, _>>())
            .finish()
    }
}

/// Whether librdkafka has a property of this name.
pub(crate) fn is_known(name: &str) -> bool {
    let mut config = ClientConfig::new();
    // Whatever it says of the value, it says it of a name that it knows.
    config.set(name, "1");
    !matches!(
        config.create_native_config(),
        Err(KafkaError::ClientConfig(
            RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN,
            ..
        ))
    )
}

/// Whether a value must never be shown, and is text whatever it looks like.
pub(crate) fn is_secret(name: &str) -> bool {
    table::is_secret(name)
}

/// One pass over the properties of one participant.
pub(crate) struct Check<'a> {
    participant: &'a str,
    values: &'a BTreeMap<String, String>,
    written: &'a BTreeMap<String, String>,
}

impl Check<'_> {
    /// The value must not be repeated.
    fn is_secret(&self, name: &str) -> bool {
        table::is_secret(name) || self.written.contains_key(name)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The value as an error may show it, if it is no secret.
    fn shown<'v>(&'v self, name: &str, value: &'v str) -> &'v str {
        self.written.get(name).map_or(value, String::as_str)
    }

    fn error(&self, property: &str, problem: impl Into<String>, remedy: &str) -> PropertyError {
        PropertyError {
            participant: self.participant.to_owned(),
            property: property.to_owned(),
            problem: problem.into(),
            remedy: remedy.to_owned(),
        }
    }

    /// A slip in a name is told before what its beginning forbids: `sasl.passwrd` is meant to be
    /// `sasl.password`, and no mechanism that only one plane speaks.
    fn find_slip(&self, name: &str) -> Result<(), PropertyError> {
        match table::nearest(name, SUGGESTION_THRESHOLD) {
            Some(_) if !is_known(name) => Err(self.unknown(name)),
            _ => Ok(()),
        }
    }

    fn classify(&self, name: &str) -> Result<(), PropertyError> {
        match table::class(name) {
            Class::Allowed => Ok(()),
            Class::Owned(remedy) => Err(self.error(name, "gtc sets this property itself", remedy)),
            Class::OnePlane(remedy) => Err(self.error(
                name,
                "the data plane would honour it and the control plane cannot",
                remedy,
            )),
        }
    }

    /// librdkafka is asked about each property by itself, so that the error names the right one.
    fn ask_librdkafka(&self, name: &str) -> Result<(), PropertyError> {
        let mut config = ClientConfig::new();
        config.set(name, self.get(name).unwrap_or_default());
        match config.create_native_config() {
            Ok(_) => Ok(()),
            Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..)) => {
                Err(self.unknown(name))
            }
            Err(KafkaError::ClientConfig(_, reason, ..)) if !self.is_secret(name) => {
                Err(self.error(name, reason, "correct the value"))
            }
            // What librdkafka says of a secret may repeat it.
            Err(_) => Err(self.error(name, "librdkafka refuses the value", "correct the value")),
        }
    }

    fn unknown(&self, name: &str) -> PropertyError {
        let remedy = match table::nearest(name, SUGGESTION_THRESHOLD) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "remove it, or see the list of librdkafka's properties".to_owned(),
        };
        self.error(name, "librdkafka knows no such property", &remedy)
    }
}

/// A property that cannot be used, with the way out.
///
/// It never contains the value of a property that may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    participant: String,
    property: String,
    problem: String,
    remedy: String,
}

impl PropertyError {
    /// The participant that the property belongs to.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.participant
    }

    /// The name of the property.
    #[must_use]
    pub fn property(&self) -> &str {
        &self.property
    }

    /// What is wrong with which property, without the participant and the remedy.
    #[must_use]
    pub fn problem(&self) -> String {
        format!("property `{}`: {}", self.property, self.problem)
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for PropertyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "participant `{}`: {}; remedy: {}",
            self.participant,
            self.problem(),
            self.remedy
        )
    }
}

impl std::error::Error for PropertyError {}

#[cfg(test)]
mod tests;
