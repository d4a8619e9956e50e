//! All file access of the log's engine: one directory of flat files, behind a small trait, so
//! that tests can run the same engine on a disk that fails and forgets.

use std::fs::{File, OpenOptions};
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
    /// Whether it still has a name: a file that was removed is gone with its last handle.
    fn is_named(&self) -> io::Result<bool>;
}

/// The real directory.
pub(crate) struct Directory {
    path: PathBuf,
    handle: File,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> io::Result<Directory> {
        Ok(Directory {
            path: path.to_path_buf(),
            handle: File::open(path)?,
        })
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
        Ok(Box::new(options.open(self.path.join(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(
            OpenOptions::new().write(true).open(self.path.join(name))?,
        ))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

impl StorageFile for File {
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        loop {
            match fallocate(self, FallocateFlags::empty(), 0, bytes) {
                Err(rustix::io::Errno::INTR) => {}
                outcome => return outcome.map_err(io::Error::from),
            }
        }
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(content, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn is_named(&self) -> io::Result<bool> {
        Ok(self.metadata()?.nlink() > 0)
    }
}
