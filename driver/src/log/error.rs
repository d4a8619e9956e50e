//! What can go wrong with a decision log, sorted by what the caller can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What kind of failure a [`LogError`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// Another process owns the log.
    Locked,
    /// The directory holds the log of another coordinator, or something that is no log.
    Foreign,
    /// There is no log: the coordinator was never started here.
    Absent,
    /// The log was made on another machine or in another directory: it may be a stale copy.
    Moved,
    /// The log is damaged in a way that a crash cannot explain.
    Corrupt,
    /// There is no room; nothing was written, and the log goes on when there is room again.
    Full,
    /// One entry is larger than the log accepts; nothing was written.
    TooLarge,
    /// A system call failed. What was being written may or may not be durable.
    Io,
    /// An earlier write failed, so nothing is accepted any more; this one was not written.
    Poisoned,
    /// The format version, the file system or an option is not supported.
    Unsupported,
    /// The log was closed; this one was not written.
    Closed,
}

/// An error of a decision log: its kind, where it happened, and what to do.
#[derive(Clone, Debug)]
pub struct LogError {
    kind: LogErrorKind,
    path: Option<PathBuf>,
    offset: Option<u64>,
    message: String,
    remedy: Option<&'static str>,
}

impl LogError {
    pub(crate) fn new(kind: LogErrorKind, message: impl Into<String>) -> Self {
        LogError {
            kind,
            path: None,
            offset: None,
            message: message.into(),
            remedy: None,
        }
    }

    /// Says what to do about it, where the kind alone does not tell.
    pub(crate) fn with_remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = Some(remedy);
        self
    }

    pub(crate) fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(path.as_ref().to_path_buf());
        self
    }

    pub(crate) fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// A failed system call; a full disk or quota is told apart, as it is no damage.
    pub(crate) fn io(operation: &str, path: impl AsRef<Path>, error: &io::Error) -> Self {
        let full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        let kind = if full {
            LogErrorKind::Full
        } else {
            LogErrorKind::Io
        };
        LogError::new(kind, format!("{operation} failed: {error}")).at(path)
    }

    /// The same failure, from a place where even "no space" leaves the outcome open.
    pub(crate) fn outcome_unknown(mut self) -> Self {
        self.kind = LogErrorKind::Io;
        self
    }

    /// The files of a living log are no longer where a start would look for them. Nothing was written since that was
    /// seen.
    pub(crate) fn taken_away(what: &str) -> Self {
        let message =
            format!("{what} while this process owned it, so that nothing is accepted any more");
        LogError::new(LogErrorKind::Poisoned, message).with_remedy(
            "put it back where it was (it must be the same one, and no copy) and start again; where it is gone, \
             go on as docs/operations.md says of a lost log",
        )
    }

    /// The answer to everything that was submitted behind the failure `self`.
    pub(crate) fn poisons(&self) -> Self {
        if self.kind == LogErrorKind::Poisoned {
            return self.clone();
        }
        let message = format!(
            "not written, because an earlier write failed ({})",
            self.message
        );
        LogError {
            kind: LogErrorKind::Poisoned,
            message,
            remedy: None,
            ..self.clone()
        }
    }

    /// Where it happened and what, without the remedy.
    pub fn problem(&self) -> String {
        let mut text = "decision log".to_owned();
        if let Some(path) = &self.path {
            text += &format!(" {}", path.display());
        }
        if let Some(offset) = self.offset {
            text += &format!(" at byte {offset}");
        }
        format!("{text}: {}", self.message)
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        self.remedy.unwrap_or(match self.kind {
            LogErrorKind::Locked => "stop that process, or use its coordinator",
            LogErrorKind::Foreign => "name the directory of this coordinator's own log",
            LogErrorKind::Absent => "check the path; the first start makes the log",
            LogErrorKind::Moved => {
                "start from the log where it was last in use; where it was moved for good and no \
                 copy is left, open it once with adopt"
            }
            LogErrorKind::Corrupt => {
                "save the directory, then let an operator settle open transactions by hand and start \
                 with a new log: see docs/operations.md on a damaged log"
            }
            LogErrorKind::Full => "make room on the disk; the log then goes on by itself",
            LogErrorKind::TooLarge => "take fewer branches into a transaction",
            LogErrorKind::Poisoned => "check the disk, then open the log again and recover",
            LogErrorKind::Closed => "open it again",
            LogErrorKind::Io | LogErrorKind::Unsupported => "see what the system says of the file",
        })
    }

    /// The kind, to decide by.
    pub fn kind(&self) -> LogErrorKind {
        self.kind
    }

    /// The file or directory concerned.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The byte within the file at which the trouble starts.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Whether what was submitted is proven not to be in the log, now or after a restart.
    ///
    /// Otherwise it may be found there: an answer that depends on it is in doubt.
    pub fn is_unwritten(&self) -> bool {
        use LogErrorKind::{Closed, Full, Poisoned, TooLarge};
        matches!(self.kind, Full | TooLarge | Poisoned | Closed)
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; remedy: {}", self.problem(), self.remedy())
    }
}

impl std::error::Error for LogError {}
