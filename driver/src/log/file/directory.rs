//! The directory of a log: made private, locked for life, and bound to its machine.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock, fstatfs};

use super::format::{MACHINE_BYTES_MAX, Place};
use super::reader::segment_number;
use crate::log::{LogError, LogErrorKind};

/// Where an owner names itself: its process, its host and since when, a line each.
pub(super) const OWNER_FILE: &str = "owner";

/// How often a lock is tried that only lookers hold, and the pause between: each look takes microseconds.
const LOOKS_MAX: u32 = 50;
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// What no file of the log allows to anybody but its owner.
const NOT_PRIVATE: u32 = 0o077;
/// The part of it that changes the log.
const WRITTEN_BY_OTHERS: u32 = 0o022;

/// File systems whose locks or syncs depend on another machine or process, by magic number.
const REMOTE: [(u32, &str); 15] = [
    (0x0102_1997, "9p"),
    (0x0116_1970, "gfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x517b, "smb"),
    (0x5346_414f, "afs"),
    (0x564c, "ncp"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
    (0x7375_7245, "coda"),
    (0x7461_636f, "ocfs2"),
    (0x786f_4256, "vboxsf"),
    (0x00c3_6400, "ceph"),
    (0x6b41_4653, "afs"),
    (0xfe53_4d42, "smb2"),
    (0xff53_4d42, "cifs"),
];

/// The lock on a directory; the owner's life is its life.
pub(crate) struct DirectoryLock {
    path: PathBuf,
    handle: File,
}

impl DirectoryLock {
    /// Refuses a directory that is no longer the one at its path: another owner can start there, and what is
    /// written to this one is found by nobody.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        let identity = |found: Metadata| (found.dev(), found.ino());
        let taken_away = |what| Err(LogError::taken_away(what).at(&self.path));
        let held = self.handle.metadata().map(identity);
        let found = std::fs::metadata(&self.path).map(identity);
        match (found, held) {
            (Ok(found), Ok(held)) if found != held => {
                taken_away("its directory was replaced by another")
            }
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                taken_away("its directory was removed or moved")
            }
            // A process that gave up its rights may not look any more, which proves nothing.
            _ => Ok(()),
        }
    }
}

/// Makes the directory if need be, locks it, and says who owns it and where it is.
pub(crate) fn acquire(path: &Path) -> Result<(DirectoryLock, Place), LogError> {
    let failed = |operation: &str| {
        let operation = operation.to_owned();
        move |error: io::Error| LogError::io(&operation, path, &error)
    };
    make(path).map_err(failed("making the directory (its parent must exist)"))?;
    let handle = File::open(path).map_err(failed("opening the directory"))?;
    refuse_file(path, &handle)?;
    refuse_remote(path, &handle)?;
    lock(path, &handle)?;
    refuse_strangers(path)?;
    let found = handle
        .metadata()
        .map_err(failed("reading the directory's mode"))?;
    let private = Permissions::from_mode(0o700);
    handle
        .set_permissions(private)
        .map_err(failed("making the directory private"))?;
    if make_files_private(path)? {
        warn_of_writers(path, &found);
    }
    if let Err(error) = name_owner(path) {
        // On a full disk the lock holds all the same; only its error names nobody.
        let path = path.display().to_string();
        tracing::warn!(path, %error, "the owner of the decision log could not be noted");
    }
    let metadata = handle
        .metadata()
        .map_err(failed("reading the directory's inode"))?;
    // The process may change its working directory.
    let path = std::path::absolute(path).map_err(failed("making the path absolute"))?;
    Ok((DirectoryLock { path, handle }, place(&metadata)))
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        outcome => outcome?,
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Refuses what is no directory.
pub(crate) fn refuse_file(path: &Path, handle: &File) -> Result<(), LogError> {
    let failed = |error| LogError::io("asking what it is", path, &error);
    if handle.metadata().map_err(failed)?.is_dir() {
        return Ok(());
    }
    let message = "is a file, and a log is a directory";
    Err(LogError::new(LogErrorKind::Foreign, message).at(path))
}

fn refuse_remote(path: &Path, handle: &File) -> Result<(), LogError> {
    let status = fstatfs(handle)
        .map_err(|error| LogError::io("asking for the file system", path, &error.into()))?;
    // The width and sign of the field differ by platform; magic numbers have 32 bits.
    let Some(name) = remote_name(status.f_type as u32) else {
        return Ok(());
    };
    let message = format!("lies on {name}, where neither a lock nor a sync can be relied on");
    Err(LogError::new(LogErrorKind::Unsupported, message)
        .with_remedy("put it on a local file system such as ext4 or xfs")
        .at(path))
}

fn remote_name(magic: u32) -> Option<&'static str> {
    REMOTE
        .iter()
        .find(|(remote, _)| *remote == magic)
        .map(|(_, name)| *name)
}

/// Takes the directory for this process. Who only looks whether it is held, see [`holder`](super::holder), holds
/// it for a moment as well: that is waited for, and an owner is not.
fn lock(path: &Path, handle: &File) -> Result<(), LogError> {
    for _ in 0..LOOKS_MAX {
        if try_lock(path, handle, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(());
        }
        if !try_lock(path, handle, FlockOperation::NonBlockingLockShared)? {
            let message = format!("is owned by {}", owner(path));
            return Err(LogError::new(LogErrorKind::Locked, message)
                .with_remedy("stop that process, or give this one its own log")
                .at(path));
        }
        try_lock(path, handle, FlockOperation::NonBlockingUnlock)?;
        std::thread::sleep(LOOK_PAUSE);
    }
    let message = "is looked at all the time by processes that ask for its owner, and has none";
    Err(LogError::new(LogErrorKind::Locked, message)
        .with_remedy("ask less often, and open it again")
        .at(path))
}

/// Whether nobody else's lock is in the way.
fn try_lock(path: &Path, handle: &File, operation: FlockOperation) -> Result<bool, LogError> {
    match flock(handle, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(LogError::io("locking", path, &error.into())),
    }
}

/// A directory that holds other things only is not one to put a log into.
fn refuse_strangers(path: &Path) -> Result<(), LogError> {
    let listing = |error: io::Error| LogError::io("listing", path, &error);
    let mut stranger = None;
    for entry in std::fs::read_dir(path).map_err(listing)? {
        let name = entry.map_err(listing)?.file_name();
        let ours = |name: &str| name == OWNER_FILE || segment_number(name).is_some();
        if name.to_str().is_some_and(ours) {
            return Ok(());
        }
        stranger = Some(name);
    }
    let Some(name) = stranger else { return Ok(()) };
    let message = format!("holds {} but no log", name.to_string_lossy());
    Err(LogError::new(LogErrorKind::Foreign, message)
        .with_remedy("give the log a directory of its own")
        .at(path))
}

/// The files are private by themselves too: a directory is soon opened, by a hand or by a copy. Tells
/// whether there are any.
fn make_files_private(path: &Path) -> Result<bool, LogError> {
    let mut any = false;
    let listing = |error: io::Error| LogError::io("listing", path, &error);
    for entry in std::fs::read_dir(path).map_err(listing)? {
        let entry = entry.map_err(listing)?;
        let file = entry.path();
        let failed = |error: io::Error| LogError::io("making a file private", &file, &error);
        // Of what the name stands for itself: a link leads to a file of somebody else.
        let metadata = entry.metadata().map_err(failed)?;
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name == OWNER_FILE || segment_number(name).is_some());
        any |= ours;
        if ours && metadata.is_file() && metadata.mode() & NOT_PRIVATE != 0 {
            warn_of_writers(&file, &metadata);
            let private = Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, private).map_err(failed)?;
        }
    }
    Ok(any)
}

/// Who can write a decision log can turn a commit into an abort.
fn warn_of_writers(path: &Path, metadata: &Metadata) {
    let mode = metadata.mode() & 0o777;
    if mode & WRITTEN_BY_OTHERS != 0 {
        tracing::warn!(
            target: "gtc",
            path = %path.display(),
            "the decision log could be written by other users (mode {mode:o}), and is private from \
             now on; find out who opened it, and whether it was changed"
        );
    }
}

fn name_owner(path: &Path) -> io::Result<()> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path.join(OWNER_FILE))?;
    // One write, so that a reader finds all of it or nothing.
    file.write_all(format!("{}\n{}\n{}\n", std::process::id(), host.trim(), now_s()).as_bytes())
}

/// The owner in words, as it named itself.
fn owner(path: &Path) -> String {
    let text = std::fs::read_to_string(path.join(OWNER_FILE)).unwrap_or_default();
    let fields: Vec<&str> = text.lines().collect();
    match (
        fields.as_slice(),
        fields.get(2).and_then(|since| since.parse::<u64>().ok()),
    ) {
        ([pid, host, ..], Some(since)) => {
            let age_s = now_s().saturating_sub(since);
            format!("process {pid} on host {host} since {age_s} s (Unix time {since})")
        }
        _ => "a process that has not named itself yet".to_owned(),
    }
}

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}

fn place(metadata: &Metadata) -> Place {
    // Many containers have no machine id; then the directory alone binds the log.
    let mut machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    machine.truncate(machine.trim_end().len());
    if machine.len() > MACHINE_BYTES_MAX {
        machine.clear();
    }
    let birth = metadata
        .created()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Place {
        machine,
        inode: metadata.ino(),
        birth_ns: birth.map_or(0, |since| since.as_nanos() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_file_systems_are_told_from_local_ones() {
        for (magic, name) in [(0x6969, "nfs"), (0xff53_4d42, "cifs"), (0x0102_1997, "9p")] {
            assert_eq!(remote_name(magic), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs.
        for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(remote_name(magic), None);
        }
    }
}
