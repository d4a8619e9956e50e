//! A small file system in memory for the log of a worker; only root can have one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Context, Result};

/// A log of three segments, the copy of it that a start makes, and one segment ahead.
const MEBIBYTES: u32 = 256;
const FILLER: &str = "filler";

/// A mounted one; dropping it unmounts it.
#[derive(Debug)]
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at `path`; `None` where that is not allowed.
    pub(super) fn mount(path: &Path) -> Result<Option<Self>> {
        std::fs::create_dir_all(path).context(format!("make {}", path.display()))?;
        let options = format!("size={MEBIBYTES}m");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "gtc-chaos"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        let is_mounted = status.is_ok_and(|status| status.success());
        Ok(is_mounted.then(|| Self(path.to_owned())))
    }

    /// Unmounts what a killed run has left at `path`.
    pub(super) fn clear(path: &Path) {
        unmount(path);
    }

    /// Takes all the room that there is.
    pub(super) fn fill(&self) -> Result<()> {
        let path = self.0.join(FILLER);
        let mut file = File::create(&path).context(format!("fill {}", self.0.display()))?;
        let block = vec![1; 64 << 10];
        while file.write_all(&block).is_ok() {}
        Ok(())
    }

    /// Gives the room back.
    pub(super) fn free(&self) -> Result<()> {
        let path = self.0.join(FILLER);
        match path.exists() {
            true => std::fs::remove_file(&path).context(format!("remove {}", path.display())),
            false => Ok(()),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn unmount(path: &Path) {
    // Fails where nothing is mounted; what is left of one ends with the machine.
    let _ = Command::new("umount")
        .arg("--lazy")
        .arg(path)
        .stderr(Stdio::null())
        .status();
}
