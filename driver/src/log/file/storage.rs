//! All file access of the log's engine: one directory of flat files, behind a small trait, so
//! that tests can run the same engine on a disk that fails and forgets.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

#[cfg(test)]
use super::broken::Broken;

/// A directory of files. After a crash, files and names are as of the last sync of each, or
/// anything between that and what was written later.
pub(crate) trait Storage: Send + Sync + 'static {
    /// The directory, for messages.
    fn path(&self) -> &Path;
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// The whole content of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Makes a new, empty file; one of that name must not exist.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Opens an existing file to write.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes the names durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Whether a test wants this rule left out.
    #[cfg(test)]
    fn lacks(&self, _: Broken) -> bool {
        false
    }
}

/// An open file.
pub(crate) trait StorageFile: Send {
    /// Reserves space for the first `bytes` bytes and makes the file that long; new bytes are
    /// zero. Without room it fails and nothing of the content changes.
    fn allocate(&self, bytes: u64) -> io::Result<()>;
    /// Writes within the allocated space.
    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync(&self) -> io::Result<()>;
    /// Whether its name still leads to it: what is written to one that was removed, moved or replaced is found by no
    /// start.
    fn is_named(&self) -> io::Result<bool>;
}

/// A real file, and where it was opened.
struct Opened {
    file: File,
    path: PathBuf,
}

/// The real directory.
pub(crate) struct Directory {
    path: PathBuf,
    handle: File,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> io::Result<Directory> {
        Ok(Directory {
            // The process may change its working directory.
            path: std::path::absolute(path)?,
            handle: File::open(path)?,
        })
    }

    fn open_with(&self, options: &OpenOptions, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let path = self.path.join(name);
        let file = options.open(&path)?;
        Ok(Box::new(Opened { file, path }))
    }

    pub(crate) fn handle(&self) -> &File {
        &self.handle
    }
}

impl Storage for Directory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            // A name that is no UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.path.join(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        self.open_with(&options, name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.open_with(OpenOptions::new().write(true), name)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

impl StorageFile for Opened {
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, bytes) {
                Err(rustix::io::Errno::INTR) => {}
                outcome => return outcome.map_err(io::Error::from),
            }
        }
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(content, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn is_named(&self) -> io::Result<bool> {
        let identity = |found: Metadata| (found.dev(), found.ino());
        let held = self.file.metadata().map(identity)?;
        match std::fs::symlink_metadata(&self.path).map(identity) {
            Ok(found) => Ok(found == held),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // A process that gave up its rights may not look any more, which proves nothing.
            Err(_) => Ok(true),
        }
    }
}
