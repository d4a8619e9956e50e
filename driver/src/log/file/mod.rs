//! The decision log on a local disk.
//!
//! # What an open does before anything counts
//! After a failed sync the page cache may hold records that the disk does not, and later syncs
//! of the same file report success (rule R1). Which opens follow a failed sync cannot be known:
//! the process may have been killed before it could leave a mark. But a frame is written only
//! when its predecessor is synced, so that only the last one is in doubt: each open writes that
//! one again, syncs all segments and their directory, and goes on behind it.
//!
//! Where a crash left something to clear away (a cut tail, half a checkpoint, a log that was
//! never handed out), or the log was moved, all entries that count are written into new segments
//! as well, these and their directory are synced, and the old ones are removed, as by a
//! checkpoint. This is bounded by what was logged since the last checkpoint, and
//! needs no room on a full disk as long as it fits into the segment allocated ahead, which
//! appends leave alone. So whoever hears `Full` can still write a checkpoint, unless there was no
//! room left to allocate ahead when the log was opened.
//!
//! # What a crash can leave, and what is damage
//! A frame is written only when its predecessor is synced, so that a crash can cut at most the
//! last one; the format tells a cut from a flipped bit by the gap that a cut leaves. A cut tail
//! is dropped. Everything else refuses the start, names file and byte, and writes nothing: also a
//! file that is shorter than its header says, as its length is synced before that is written. One
//! thing cannot be told: acknowledged frames at the very end that became zeros, or vanished with
//! their whole file.

mod broken;
mod directory;
mod engine;
mod format;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod held;
mod reader;
mod storage;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use self::broken::{Broken, lack};
use self::directory::DirectoryLock;
use self::engine::{ENTRY_BYTES_MAX, Engine, Setup};
use self::format::{COORDINATOR_BYTES_MAX, Place};
pub use self::held::{LogHolder, holder};
use self::reader::read_log;
use self::storage::{Directory, Storage};
use self::writer::{Shared, Writer};
use super::{DecisionLog, LogError, LogErrorKind, LogIdentity, LogWrite, Receipt, Replay};

const SEGMENT_BYTES_MIN: u64 = 4 << 10;
const SEGMENT_BYTES_MAX: u64 = 1 << 30;
const SEGMENT_BYTES_DEFAULT: u64 = 32 << 20;
const READ_ATTEMPTS: u32 = 10;
const READ_PAUSE: Duration = Duration::from_millis(20);

/// How to open a [`FileLog`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileLogOptions {
    /// The log's own directory. It is made if it does not exist; its parent must.
    pub directory: PathBuf,
    /// The id of the coordinator, at most 200 bytes.
    pub coordinator: String,
    /// The size of a segment file, 4 KiB to 1 GiB; default 32 MiB.
    pub segment_bytes: u64,
    /// Accepts a log that was made on another machine or in another directory. Only right if
    /// the operator knows that it was moved, and is no copy of an older state (rule R13).
    pub adopt: bool,
}

impl FileLogOptions {
    /// The defaults for a coordinator's log.
    pub fn new(directory: impl Into<PathBuf>, coordinator: impl Into<String>) -> FileLogOptions {
        FileLogOptions {
            directory: directory.into(),
            coordinator: coordinator.into(),
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            adopt: false,
        }
    }

    fn check(&self) -> Result<(), LogError> {
        let unsupported = |message: String| {
            Err(LogError::new(LogErrorKind::Unsupported, message).at(&self.directory))
        };
        if !(1..=COORDINATOR_BYTES_MAX).contains(&self.coordinator.len()) {
            let length = self.coordinator.len();
            return unsupported(format!(
                "a coordinator id has 1 to {COORDINATOR_BYTES_MAX} bytes, not {length}"
            ));
        }
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            let bytes = self.segment_bytes;
            return unsupported(format!(
                "segment_bytes is {SEGMENT_BYTES_MIN} to {SEGMENT_BYTES_MAX}, not {bytes}"
            ));
        }
        Ok(())
    }
}

/// A decision log in a directory of segment files, owned until it is closed or dropped.
pub struct FileLog {
    identity: LogIdentity,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl FileLog {
    /// How many batches were written since the log was opened: each took one sync, which served all
    /// that had gathered.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.shared.batches()
    }

    /// Locks, reads, verifies and forces the log, in this order; what it returns is durable.
    ///
    /// Blocks for as long as that takes. A directory without a log gets a new one.
    ///
    /// # Errors
    /// `Locked`, `Foreign`, `Moved`, `Corrupt`, `Full`, `Unsupported` or `Io`; up to the last
    /// two nothing in the log was changed.
    pub fn open(options: FileLogOptions) -> Result<(FileLog, Replay), LogError> {
        options.check()?;
        let (lock, place) = directory::acquire(&options.directory)?;
        let storage = Directory::open(&options.directory)
            .map_err(|error| LogError::io("opening", &options.directory, &error))?;
        let (engine, replay) = open_engine(Arc::new(storage), &options, place)?;
        let log = FileLog::start(replay.identity.clone(), engine, Some(lock))?;
        Ok((log, replay))
    }

    fn start(
        identity: LogIdentity,
        engine: Engine,
        lock: Option<DirectoryLock>,
    ) -> Result<FileLog, LogError> {
        let shared = Arc::new(Shared::default());
        let writer = Writer::new(Arc::clone(&shared), engine, lock);
        let thread = std::thread::Builder::new()
            .name("gtc-log".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| {
                let message = format!("starting the log's thread failed: {error}");
                LogError::new(LogErrorKind::Io, message)
            })?;
        Ok(FileLog {
            identity,
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }
}

impl DecisionLog for FileLog {
    fn submit(&self, write: LogWrite) -> Receipt {
        match check_size(&write) {
            Ok(()) => self.shared.submit(write),
            Err(error) => Receipt::resolved(Err(error)),
        }
    }

    fn identity(&self) -> &LogIdentity {
        &self.identity
    }

    fn grown_bytes(&self) -> u64 {
        self.shared.grown_bytes()
    }

    fn failure(&self) -> Option<LogError> {
        self.shared.refusal()
    }

    fn close(&self) -> Receipt {
        self.shared.close()
    }
}

impl Drop for FileLog {
    /// Writes what was submitted and gives up the lock; blocks for about one sync.
    fn drop(&mut self) {
        drop(self.shared.close());
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A panic of the thread was reported to everyone who waited for it.
        let _ = thread.map(JoinHandle::join);
    }
}

impl std::fmt::Debug for FileLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileLog")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// Reads a log without its lock, also while an owner writes or checkpoints it.
///
/// The last entries may not be durable yet: a list to look at, not one to act on.
///
/// # Errors
/// `Absent` if there is no log; `Corrupt`, `Unsupported` or `Io` as for [`FileLog::open`].
pub fn read_only(directory: &Path) -> Result<Replay, LogError> {
    let storage = Directory::open(directory).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => absent(directory),
        _ => LogError::io("opening the directory", directory, &error),
    })?;
    directory::refuse_file(directory, storage.handle())?;
    let mut attempt = 1;
    // A segment may vanish between listing and reading, and a frame may be half written.
    let found = loop {
        match read_log(&storage) {
            Err(error)
                if attempt < READ_ATTEMPTS
                    && matches!(error.kind(), LogErrorKind::Corrupt | LogErrorKind::Io) =>
            {
                attempt += 1;
                std::thread::sleep(READ_PAUSE);
            }
            outcome => break outcome?,
        }
    };
    let Some(header) = found.header else {
        return Err(absent(directory));
    };
    Ok(Replay {
        identity: header.identity,
        entries: found.entries,
        cut_tail: found.cut_tail,
    })
}

fn absent(directory: &Path) -> LogError {
    let message = "there is no log: its coordinator was not started yet";
    LogError::new(LogErrorKind::Absent, message).at(directory)
}

/// Reads, checks and forces a log.
fn open_engine(
    storage: Arc<dyn Storage>,
    options: &FileLogOptions,
    place: Place,
) -> Result<(Engine, Replay), LogError> {
    let found = read_log(storage.as_ref())?;
    let lacks = |rule| lack(storage.as_ref(), rule);
    let identity = match &found.header {
        Some(_) if lacks(Broken::Identity) => new_identity(options)?,
        Some(header) => {
            if !lacks(Broken::Owner) {
                let found = &header.identity.coordinator;
                check_owner(found, &options.coordinator, &options.directory)?;
            }
            if !lacks(Broken::Place) {
                check_place(&header.place, &place, options)?;
            }
            header.identity.clone()
        }
        None => new_identity(options)?,
    };
    let setup = Setup {
        identity: identity.clone(),
        place,
        segment_bytes: options.segment_bytes,
    };
    let engine = Engine::start(storage, setup, &found)?;
    Ok((
        engine,
        Replay {
            identity,
            entries: found.entries,
            cut_tail: found.cut_tail,
        },
    ))
}

/// Refuses a log in `directory` that belongs to `found` and not to `coordinator`.
pub(crate) fn check_owner(
    found: &str,
    coordinator: &str,
    directory: &Path,
) -> Result<(), LogError> {
    if found == coordinator {
        return Ok(());
    }
    let message = format!("belongs to coordinator {found:?}, not to {coordinator:?}");
    Err(LogError::new(LogErrorKind::Foreign, message)
        .with_remedy("correct the coordinator id, or give this coordinator a log of its own")
        .at(directory))
}

fn check_place(made: &Place, now: &Place, options: &FileLogOptions) -> Result<(), LogError> {
    if made == now || options.adopt {
        return Ok(());
    }
    let what = if made.machine == now.machine {
        "in another directory"
    } else {
        "on another machine"
    };
    let message = format!(
        "was made {what}: if it is a copy or was restored, it may lack decisions, and using it \
         can break transactions"
    );
    Err(LogError::new(LogErrorKind::Moved, message)
        .with_remedy(
            "use the original; if this one was moved and no other copy is in use, adopt it \
             (`gtc recover --adopt`, or `adopt = true` for one start)",
        )
        .at(&options.directory))
}

fn new_identity(options: &FileLogOptions) -> Result<LogIdentity, LogError> {
    let log_id = getrandom::u64().map_err(|error| {
        let message = format!("the system gave no random number for the log id: {error}");
        LogError::new(LogErrorKind::Io, message).at(&options.directory)
    })?;
    Ok(LogIdentity {
        coordinator: options.coordinator.clone(),
        log_id,
    })
}

fn check_size(write: &LogWrite) -> Result<(), LogError> {
    let largest = match write {
        LogWrite::Append { entries, .. } => format::body_bytes(entries),
        LogWrite::Checkpoint { snapshot } => snapshot.iter().map(Vec::len).max().unwrap_or(0),
    };
    if largest <= ENTRY_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "{largest} bytes are more than the {ENTRY_BYTES_MAX} that an append or an entry of a \
         snapshot may have; nothing was written"
    );
    Err(LogError::new(LogErrorKind::TooLarge, message))
}
