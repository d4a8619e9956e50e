//! Whether a process holds a log, asked by one that does not want it.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::directory::OWNER_FILE;
use crate::log::LogError;

/// The process that holds a log, as it named itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogHolder {
    /// Its number, as its own container or machine counts. `None` where it has not named itself.
    pub process: Option<u32>,
    /// The host that it runs on.
    pub host: Option<String>,
}

impl LogHolder {
    fn named(text: &str) -> Self {
        let mut lines = text.lines();
        let process = lines.next().and_then(|process| process.parse().ok());
        let host = lines.next().filter(|host| !host.is_empty());
        Self {
            process,
            host: host.map(str::to_owned),
        }
    }
}

impl fmt::Display for LogHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.process, &self.host) {
            (Some(process), Some(host)) => write!(f, "process {process} on host {host}"),
            (Some(process), None) => write!(f, "process {process}"),
            (None, _) => f.write_str("a process that has not named itself"),
        }
    }
}

/// Who holds the log in `directory` now, whether or not it answers; `None` where nobody does.
///
/// A look takes a shared lock for a moment. Whoever opens the log in that very moment tells it from an owner's,
/// and waits until it is over.
///
/// # Errors
/// `Io` where the directory or its lock cannot be looked at.
pub fn holder(directory: impl AsRef<Path>) -> Result<Option<LogHolder>, LogError> {
    let path = directory.as_ref();
    let handle = match File::open(path) {
        Ok(handle) => handle,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(LogError::io("opening the directory", path, &error)),
    };
    // Shared, so that two who look do not take each other for an owner.
    match flock(&handle, FlockOperation::NonBlockingLockShared) {
        // Given up at once, with the handle.
        Ok(()) => Ok(None),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let text = std::fs::read_to_string(path.join(OWNER_FILE)).unwrap_or_default();
            Ok(Some(LogHolder::named(&text)))
        }
        Err(error) => Err(LogError::io("looking at the lock", path, &error.into())),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::super::directory::acquire;
    use super::*;
    use crate::log::{DecisionLog, FileLog, FileLogOptions};

    #[test]
    fn a_log_is_held_for_as_long_as_its_owner_lives() {
        let name = format!("gtc-{}-holder", std::process::id());
        let directory = std::env::temp_dir().join(name);
        assert_eq!(holder(&directory).unwrap(), None);
        let (log, _) = FileLog::open(FileLogOptions::new(&directory, "held")).unwrap();
        let found = holder(&directory).unwrap().expect("it is held");
        assert_eq!(found.process, Some(std::process::id()));
        let words = format!("process {}", std::process::id());
        assert!(found.to_string().starts_with(&words), "{found}");
        log.close().wait().unwrap();
        drop(log);
        assert_eq!(holder(&directory).unwrap(), None);
        // A look leaves nothing behind that refuses the next owner.
        FileLog::open(FileLogOptions::new(&directory, "held")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn who_only_looks_keeps_nobody_from_opening() {
        let name = format!("gtc-{}-lookers", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let done = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let _ = holder(&directory);
                        // Without a pause somebody looks in almost every moment, which is nothing that happens.
                        std::thread::sleep(Duration::from_micros(100));
                    }
                });
            }
            let refused = (0..500).find_map(|_| acquire(&directory).err());
            done.store(true, Ordering::Relaxed);
            refused
        });
        assert_eq!(refused.map(|error| error.to_string()), None);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn an_owner_that_named_itself_in_part_is_told_as_far_as_it_did() {
        for (text, words) in [
            ("17\neu-1\n1700000000\n", "process 17 on host eu-1"),
            ("17\n\n1700000000\n", "process 17"),
            ("", "a process that has not named itself"),
        ] {
            assert_eq!(LogHolder::named(text).to_string(), words);
        }
    }
}
