//! What can go wrong on the control plane.

use std::fmt;

use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;

use crate::kafka::properties::Endpoint;

/// What the caller can do about a [`ControlError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlErrorKind {
    /// No broker could be reached, or the connection broke. A retry helps once it is back.
    Unavailable,
    /// No answer within the time-out.
    Timeout,
    /// The cluster does not accept who this client is, or this client not who the cluster is.
    Authentication,
    /// The cluster knows this client and does not allow the operation.
    Authorization,
    /// The other side does not speak the Kafka protocol as it should.
    Protocol,
    /// The cluster is too old for the operation, or has switched it off.
    Unsupported,
    /// The broker answered with this Kafka error code.
    Broker(i16),
    /// The properties of the participant cannot be used.
    Config,
}

/// A failed operation of the control client.
#[derive(Clone, Debug)]
pub struct ControlError {
    participant: String,
    operation: &'static str,
    failure: Failure,
}

impl ControlError {
    pub(super) fn new(participant: &str, operation: &'static str, failure: Failure) -> Self {
        Self {
            participant: participant.to_owned(),
            operation,
            failure,
        }
    }

    /// The participant that was talked to.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.participant
    }

    /// What was tried.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ControlErrorKind {
        self.failure.kind
    }

    /// The Kafka error code that the broker answered with, if it did.
    #[must_use]
    pub fn code(&self) -> Option<i16> {
        self.failure.code
    }

    /// What was tried and what happened, without the participant and the remedy.
    #[must_use]
    pub fn problem(&self) -> String {
        format!("{}: {}", self.operation, self.failure)
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        self.failure.remedy()
    }

    /// Problem and remedy in one line, for where the participant is named beside it.
    pub(crate) fn brief(&self) -> String {
        format!("{} ({})", self.problem(), self.remedy())
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.failure.is_transient()
    }
}

#[cfg(test)]
impl ControlError {
    /// How many kinds of it there are.
    pub(crate) const SAMPLES: usize = 8;

    /// One error of each kind, for the tests of what errors say.
    pub(crate) fn sample(index: usize) -> Self {
        let failures = [
            Failure::unavailable("127.0.0.1:9: connection refused"),
            Failure::timeout("127.0.0.1:9: no answer in time"),
            Failure::protocol("garbage"),
            Failure::authentication("the password is wrong"),
            Failure::config("no certificate in the file"),
            Failure::code(53),
            Failure::code(35),
            Failure::code(48).with_words("the broker's own words"),
        ];
        let failures: [Failure; Self::SAMPLES] = failures;
        Self::new("eu", "describe a transaction", failures[index].clone())
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (problem, remedy) = (self.problem(), self.remedy());
        write!(
            out,
            "participant `{}`: {problem}; remedy: {remedy}",
            self.participant
        )
    }
}

impl std::error::Error for ControlError {}

/// A failure before the participant and the operation are known.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    kind: ControlErrorKind,
    code: Option<i16>,
    message: String,
}

impl Failure {
    pub(super) fn new(kind: ControlErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: None,
            message: message.into(),
        }
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ControlErrorKind::Unavailable, message)
    }

    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self::new(ControlErrorKind::Timeout, message)
    }

    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self::new(ControlErrorKind::Protocol, message)
    }

    pub(super) fn authentication(message: impl Into<String>) -> Self {
        Self::new(ControlErrorKind::Authentication, message)
    }

    pub(super) fn config(message: impl Into<String>) -> Self {
        Self::new(ControlErrorKind::Config, message)
    }

    /// A Kafka error code other than 0.
    pub(super) fn code(code: i16) -> Self {
        let kind = match code.err() {
            Some(
                ResponseError::ClusterAuthorizationFailed
                | ResponseError::TopicAuthorizationFailed
                | ResponseError::GroupAuthorizationFailed
                | ResponseError::TransactionalIdAuthorizationFailed,
            ) => ControlErrorKind::Authorization,
            Some(
                ResponseError::SaslAuthenticationFailed
                | ResponseError::UnsupportedSaslMechanism
                | ResponseError::IllegalSaslState,
            ) => ControlErrorKind::Authentication,
            Some(ResponseError::UnsupportedVersion) => ControlErrorKind::Unsupported,
            _ => ControlErrorKind::Broker(code),
        };
        let message = format!("the broker answered {}", code_name(code));
        Self {
            kind,
            code: Some(code),
            message,
        }
    }

    /// Adds the words of the broker, or what is known beside the code.
    pub(super) fn with_words(mut self, words: &str) -> Self {
        if !words.is_empty() {
            self.message = format!("{}: {words}", self.message);
        }
        self
    }

    /// Adds the address that was talked to.
    pub(super) fn at(mut self, endpoint: &Endpoint) -> Self {
        self.message = format!("{endpoint}: {}", self.message);
        self
    }

    /// Whether another attempt of a harmless request may fare better.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ControlErrorKind::Unavailable | ControlErrorKind::Timeout
        ) || self.code.is_some_and(is_transient_code)
    }

    fn remedy(&self) -> &'static str {
        match self.kind {
            ControlErrorKind::Unavailable | ControlErrorKind::Timeout => {
                "check that the brokers run, and that bootstrap.servers and security.protocol \
                 fit their listener"
            }
            ControlErrorKind::Authentication => {
                "check sasl.mechanism, sasl.username, sasl.password, ssl.ca.location and the \
                 client certificate against the cluster"
            }
            ControlErrorKind::Authorization => {
                "grant the principal the ACL of this operation on the cluster"
            }
            ControlErrorKind::Protocol => {
                "check that the address is a Kafka listener of that security.protocol"
            }
            ControlErrorKind::Unsupported => {
                "use a newer cluster: Apache Kafka 3.0 at least, 4.0 for version class v2"
            }
            ControlErrorKind::Broker(_) => "see the broker's log for its reason",
            ControlErrorKind::Config => "correct the properties of the participant",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

/// The name of a Kafka error code, as Kafka's documentation spells it, with its number.
pub(super) fn code_name(code: i16) -> String {
    match code.err() {
        None => "NONE (0)".to_owned(),
        Some(ResponseError::Unknown(_)) => format!("an unknown error code ({code})"),
        Some(error) => format!("{} ({code})", screaming_snake(&format!("{error:?}"))),
    }
}

fn screaming_snake(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 8);
    for (index, letter) in camel.chars().enumerate() {
        if index > 0 && letter.is_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// The broker asked is not, or not yet, the one that can answer: find it again and repeat.
pub(super) fn is_coordinator_moving(code: i16) -> bool {
    matches!(
        code.err(),
        Some(
            ResponseError::CoordinatorLoadInProgress
                | ResponseError::CoordinatorNotAvailable
                | ResponseError::NotCoordinator
        )
    )
}

fn is_transient_code(code: i16) -> bool {
    is_coordinator_moving(code) || code.err().is_some_and(|error| error.is_retriable())
}

/// What became of one request. Exactly one request was sent, or none.
#[derive(Clone, Debug)]
pub(super) enum Delivery<T> {
    /// The broker answered.
    Answered(T),
    /// It was sent, at least in part, and no answer came.
    NoAnswer(Failure),
    /// Not a byte of it was sent.
    NotSent(Failure),
}

impl<T> Delivery<T> {
    pub(super) fn into_result(self) -> Result<T, Failure> {
        match self {
            Self::Answered(answer) => Ok(answer),
            Self::NoAnswer(failure) | Self::NotSent(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_kafkas_names() {
        assert_eq!(code_name(48), "INVALID_TXN_STATE (48)");
        assert_eq!(code_name(105), "TRANSACTIONAL_ID_NOT_FOUND (105)");
        assert_eq!(code_name(0), "NONE (0)");
        assert!(code_name(9999).contains("9999"));
    }

    #[test]
    fn message_names_participant_operation_and_remedy() {
        let error = ControlError::new("eu", "describe a transaction", Failure::code(53));
        let text = error.to_string();
        assert_eq!(error.kind(), ControlErrorKind::Authorization);
        assert_eq!(error.code(), Some(53));
        assert!(
            text.contains("`eu`") && text.contains("describe a transaction"),
            "{text}"
        );
        assert!(
            text.contains("TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53)"),
            "{text}"
        );
        assert!(text.contains("grant"), "{text}");
    }

    #[test]
    fn only_harmless_failures_are_repeated() {
        for code in [14, 15, 16, 3, 5] {
            assert!(Failure::code(code).is_transient(), "{code}");
        }
        for code in [53, 48, 90, 105, 35] {
            assert!(!Failure::code(code).is_transient(), "{code}");
        }
        assert!(!Failure::protocol("garbage").is_transient());
    }
}
