//! The one error of this crate.

use std::fmt;

/// What could not be done, why, and what to do about it.
///
/// `Debug` prints the same text as `Display`: these errors mostly end in a test's `unwrap`, and the
/// tail of a broker's log must stay readable there.
pub struct Error {
    text: String,
}

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Joins the operation, the cause and the remedy to one message.
    pub(crate) fn new(
        operation: impl fmt::Display,
        cause: impl fmt::Display,
        remedy: &str,
    ) -> Self {
        Self {
            text: format!("{operation}: {cause}\nremedy: {remedy}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// Adds operation and remedy to an error of the standard library.
pub(crate) trait Context<T> {
    fn context(self, operation: impl fmt::Display, remedy: &str) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, operation: impl fmt::Display, remedy: &str) -> Result<T> {
        self.map_err(|cause| Error::new(operation, cause, remedy))
    }
}
