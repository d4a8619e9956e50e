//! The one error of a chaos run: a sentence for the person who started it.

use std::fmt;

/// Why a run could not be carried out; anomalies that a check finds are no errors but results.
#[derive(Debug)]
pub struct Error(String);

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<gtc_clusters::Error> for Error {
    fn from(error: gtc_clusters::Error) -> Self {
        Self(error.to_string())
    }
}

/// Says what was being done when something failed.
pub trait Context<T> {
    /// Puts `doing` before the message of the error.
    ///
    /// # Errors
    /// The same failure, with the context before it.
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error(format!("{doing}: {error}")))
    }
}
