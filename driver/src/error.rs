//! The one error type of the library, sorted by what the caller can do about it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use gtc_core::TransactionId;

/// Whether asking again helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same call fails again.
    Never,
    /// The same call, or the whole transaction, may succeed later.
    Later,
    /// First learn the outcome, or have an operator settle it.
    AfterResolve,
}

impl Retry {
    /// The name in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Later => "later",
            Self::AfterResolve => "after-resolve",
        }
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is done about a mixed outcome before it is forgotten. How a branch ended that was given up, or is a
/// hazard, is not known.
macro_rules! mixed_remedy {
    () => {
        "look into the topics (read_committed) of each branch that is abandoned or a hazard, which may have \
         committed, before anything is written again; repair the data by hand"
    };
}

/// Makes the enum and its table of one list, so that they cannot drift apart.
macro_rules! kinds {
    ($($variant:ident = $code:literal, $name:literal, $retry:ident, $doc:literal, $remedy:expr;)*) => {
        /// What kind of thing went wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = $doc] $variant,)*
        }

        impl ErrorKind {
            /// Every kind with its name, its usual retry and its meaning.
            pub const TABLE: &'static [(Self, &'static str, Retry, &'static str)] =
                &[$((Self::$variant, $name, Retry::$retry, $doc),)*];

            /// The name in every language.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The number in every language, from 1. A number is never given to another kind.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* }
            }

            /// The retry that an error of this kind has unless it says otherwise.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)* }
            }

            /// What to do about an error of this kind, unless it knows better.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }
        }
    };
}

kinds! {
    Aborted = 1, "aborted", Later,
        "The transaction aborted on every participant; nothing of it is visible.",
        "run the transaction again";
    Closed = 2, "closed", Never,
        "The coordinator is closing or closed.",
        "open the coordinator again";
    Config = 3, "config", Never,
        "The configuration, or a value in the call, cannot work.",
        "correct the configuration, or the value in the call";
    Fenced = 4, "fenced", Never,
        "Another owner took over a name or the log; this coordinator stopped using it.",
        "find out who else uses this name, and leave the work to one of the two";
    Heuristic = 5, "heuristic", AfterResolve,
        "A branch ended otherwise than decided, or may have: the participants disagree, or nobody can tell.",
        concat!(mixed_remedy!(), ", then forget the transaction");
    InDoubt = 6, "in-doubt", AfterResolve,
        "The transaction may have committed; the log or the clusters will tell.",
        "ask for the outcome of the transaction before running it again";
    Internal = 7, "internal", Never,
        "A defect of gtc.",
        "report this as a defect of gtc";
    InvalidState = 8, "invalid-state", Never,
        "The call does not fit the state of the transaction.",
        "this is a mistake in the order of calls: correct it";
    Log = 9, "log", Never,
        "The decision log cannot be opened, read or written.",
        "look at the directory of the log and its disk, then open the coordinator again";
    Timeout = 10, "timeout", Later,
        "Something did not happen in the time allowed for it.",
        "try again later, or allow more time";
    Unavailable = 11, "unavailable", Later,
        "A participant or the coordinator cannot be reached or take work now.",
        "try again later";
    Unsupported = 12, "unsupported", Never,
        "What was asked for is not supported.",
        "do it in a way that the documentation names";
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is done by hand about a transaction that ended mixed, before it is forgotten.
pub const MIXED_REMEDY: &str = mixed_remedy!();

/// An error: decide by [`Error::kind`] and [`Error::retry`]; the text is for people and no API.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    retry: Retry,
    operation: Cow<'static, str>,
    participant: Option<String>,
    transaction: Option<TransactionId>,
    problem: String,
    remedy: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `operation`, with the usual retry of its kind.
    pub(crate) fn new(
        kind: ErrorKind,
        operation: impl Into<Cow<'static, str>>,
        problem: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            retry: kind.retry(),
            operation: operation.into(),
            participant: None,
            transaction: None,
            problem: problem.into(),
            remedy: None,
            source: None,
        }))
    }

    pub(crate) fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    pub(crate) fn with_participant(mut self, name: impl Into<String>) -> Self {
        self.0.participant = Some(name.into());
        self
    }

    pub(crate) fn with_transaction(mut self, id: TransactionId) -> Self {
        self.0.transaction = Some(id);
        self
    }

    pub(crate) fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// The same error, of something in `place`.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.0.problem = format!("{place}: {}", self.0.problem);
        self
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether asking again helps.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The call or step that failed.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// The participant concerned, if it is one.
    #[must_use]
    pub fn participant(&self) -> Option<&str> {
        self.0.participant.as_deref()
    }

    /// The global transaction concerned, if it is one: keep it where the kind is in-doubt.
    #[must_use]
    pub fn transaction(&self) -> Option<TransactionId> {
        self.0.transaction
    }

    /// What went wrong, without the names around it.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        let own = self.0.remedy.as_deref();
        own.unwrap_or_else(|| self.0.kind.remedy())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        write!(f, "{}: {}", inner.kind, inner.operation)?;
        if let Some(id) = inner.transaction {
            write!(f, " of transaction {id}")?;
        }
        if let Some(name) = &inner.participant {
            write!(f, " on participant `{name}`")?;
        }
        write!(f, ": {}; remedy: {}", inner.problem, self.remedy())
    }
}

/// As [`Display`](fmt::Display), with the retry, so that `unwrap` and `main` print a readable line.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (retry: {})", self.0.retry)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_every_language() {
        let names: Vec<_> = ErrorKind::TABLE.iter().map(|(_, name, ..)| *name).collect();
        let expected = [
            "aborted",
            "closed",
            "config",
            "fenced",
            "heuristic",
            "in-doubt",
            "internal",
            "invalid-state",
            "log",
            "timeout",
            "unavailable",
            "unsupported",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn numbers_are_for_life() {
        let codes: Vec<_> = ErrorKind::TABLE
            .iter()
            .map(|(kind, ..)| kind.code())
            .collect();
        assert_eq!(codes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn every_error_has_a_remedy_and_its_own_goes_first() {
        for (kind, name, ..) in ErrorKind::TABLE {
            let error = Error::new(*kind, "send", "it failed");
            assert!(!error.remedy().is_empty(), "{name}");
            let told = format!("{name}: send: it failed; remedy: {}", kind.remedy());
            assert_eq!(error.to_string(), told);
            assert_eq!(error.with_remedy("pray").remedy(), "pray");
        }
    }

    #[test]
    fn message_names_participant_operation_and_remedy() {
        let source = std::io::Error::other("refused");
        let error = Error::new(ErrorKind::Unavailable, "send", "no broker answers")
            .with_participant("eu")
            .with_remedy("start the cluster")
            .with_source(source);
        assert_eq!(
            error.to_string(),
            "unavailable: send on participant `eu`: no broker answers; remedy: start the cluster"
        );
        assert_eq!(error.retry(), Retry::Later);
        assert_eq!(
            error.source().map(ToString::to_string).as_deref(),
            Some("refused")
        );
    }
}
