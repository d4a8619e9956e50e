//! Where things lie under `target/`, and locks between processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::{Context, Result};

/// The build directory of the workspace, which git ignores and `cargo clean` removes.
pub(crate) fn target_dir() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = fs::canonicalize(&workspace).unwrap_or(workspace);
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    }
}

/// Makes a directory with all its parents.
pub(crate) fn make_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).context(
        format_args!("making {}", path.display()),
        "check the rights and the free space there",
    )
}

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context(
        format_args!("writing {}", path.display()),
        "check the rights and the free space there",
    )
}

/// A lock that the kernel releases when its holder ends, however it ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock.
    pub(crate) fn wait(path: &Path) -> Result<Self> {
        let file = Self::open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).context(
            format_args!("locking {}", path.display()),
            "use a local file system",
        )?;
        Ok(Self { _file: file })
    }

    /// Takes the lock, or returns `None` where somebody has it.
    pub(crate) fn attempt(path: &Path) -> Result<Option<Self>> {
        let file = Self::open(path)?;
        let free = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(free.then_some(Self { _file: file }))
    }

    fn open(path: &Path) -> Result<File> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .context(
                format_args!("opening {}", path.display()),
                "check the rights and the free space there",
            )
    }
}

/// The last lines of a file, for an error message.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
