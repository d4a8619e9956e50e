//! Why a command ended otherwise than well, and the exit code for it.

use std::fmt;
use std::process::ExitCode;

/// The exit codes, as `gtc --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and nothing needs a hand.
    Done = 0,
    /// An error, or a precondition that is not met.
    Error = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// In doubt, or ended otherwise than decided.
    NeedsHand = 3,
    /// `outcome`: aborted.
    Aborted = 4,
    /// The log does not know the transaction.
    Unknown = 5,
    /// Records were lost at the source.
    Loss = 6,
    /// It had ended otherwise than asked for; nothing was changed.
    Otherwise = 7,
    /// `replicate --until-end`: asked to end before everything was mirrored.
    Interrupted = 8,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with the exit code that it leads to; the text names operation, cause and remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code.
    pub(crate) exit: Exit,
    /// The text.
    pub(crate) text: String,
}

impl Failure {
    /// A failure of the command itself.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self {
            exit: Exit::Error,
            text: text.into(),
        }
    }

    /// A failure that the user mends in the command line or the configuration.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            text: text.into(),
        }
    }

    /// An error of the library about the configuration.
    pub(crate) fn config(error: impl fmt::Display) -> Self {
        Self::usage(error.to_string())
    }

    /// An error of the coordinator: its kind decides the code.
    pub(crate) fn from_library(error: gtc::Error) -> Self {
        let exit = match error.kind() {
            gtc::ErrorKind::Config => Exit::Usage,
            gtc::ErrorKind::Heuristic | gtc::ErrorKind::InDoubt => Exit::NeedsHand,
            _ => Exit::Error,
        };
        Self {
            exit,
            text: error.to_string(),
        }
    }

    /// Any other error of the library, whose text names operation and remedy already.
    pub(crate) fn from_error(error: impl fmt::Display) -> Self {
        Self::error(error.to_string())
    }

    /// A failure with a code of its own.
    pub(crate) fn with(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
