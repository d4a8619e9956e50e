//! Cases of the decision log: damaged, or without room.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gtc::{Coordinator, Error, ErrorKind, KnownOutcome, TransactionOptions};

use crate::child;
use crate::setup::Setup;
use crate::support::{Result, committed, record};
use crate::world::world;

/// The newest segment of a log, and the offset after the last byte that is not zero.
fn last_segment(log: &Path) -> Result<(PathBuf, usize)> {
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(log)? {
        let path = entry?.path();
        let bytes = match path.extension() {
            Some(extension) if extension == "segment" => std::fs::read(&path)?,
            _ => continue,
        };
        // A segment that was only allocated ahead holds nothing.
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            segments.push((path, last + 1));
        }
    }
    segments.sort();
    Ok(segments.pop().ok_or("the log has no segment")?)
}

fn change(path: &Path, at: usize, change: impl FnOnce(&mut u8)) -> Result {
    let mut bytes = std::fs::read(path)?;
    change(&mut bytes[at]);
    // In place: the segment stays the file that it was.
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all_at(&bytes[at..=at], at as u64)?;
    Ok(file.sync_all()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn torn_log() -> Result {
    if let Some(file) = child::config_file() {
        return child::commit_one(file).await;
    }
    let world = world().await?;
    world.topic("torn").await?;
    let setup = Setup::new("torn", world);
    let test = "logs::torn_log";

    // Cut within the last write, as if the machine had crashed during it: it never counted.
    let id = child::killed_at("append-decided:after", test, &setup)?;
    let (segment, end) = last_segment(&setup.log())?;
    change(&segment, end - 1, |byte| *byte = 0)?;
    let coordinator = setup.recover().await?;
    assert_eq!(coordinator.outcome(id), KnownOutcome::Unknown);
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "torn").await?, [""; 0]);
    }
    coordinator.close().await?;

    // A flipped byte before the last write: nothing is guessed, and nothing written over it.
    let id = child::killed_at("append-decided:after", test, &setup)?;
    let (segment, end) = last_segment(&setup.log())?;
    let at = 512 + (end - 512) / 2;
    change(&segment, at, |byte| *byte ^= 0x10)?;
    let damaged = std::fs::read(&segment)?;
    let error = setup.refused().await?;
    assert_eq!(error.kind(), ErrorKind::Log, "{error}");
    let name = segment.file_name().unwrap_or_default().to_string_lossy();
    assert!(error.to_string().contains(&*name), "{error}");
    assert!(error.to_string().contains("at byte "), "{error}");
    assert!(std::fs::read(&segment)? == damaged, "it was written over");

    // Once the byte is mended the decision is carried out.
    change(&segment, at, |byte| *byte ^= 0x10)?;
    let coordinator = setup.recover().await?;
    assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "torn").await?, ["torn"]);
    }
    Ok(coordinator.close().await?)
}

/// A file system of its own, in memory and small; only root can have one.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, mebibytes: u32) -> Result<Option<Self>> {
        std::fs::create_dir_all(at)?;
        let options = format!("size={mebibytes}m");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &options, "gtc-test"])
            .arg(at);
        Ok(mount.output()?.status.success().then_some(Self(at)))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // What is left of it ends with the machine.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_disk_full() -> Result {
    const KEY_BYTES: usize = 1 << 20;
    let world = world().await?;
    world.topic("full").await?;
    let setup = Setup::new("full", world)
        .limit(&format!("key_bytes_max = {KEY_BYTES}"))
        .limit("outcomes_max = 1");
    let disk = setup.directory().join("log");
    let Some(_disk) = SmallDisk::mount(&disk, 160)? else {
        eprintln!("skipped: no file system can be mounted here; the log's own tests cover it");
        return Ok(());
    };
    let coordinator = setup.open().await?;
    let mut expected = Vec::new();
    let filler = disk.join("filler");
    fill(&filler)?;
    // Large keys make large decisions, until one finds no room.
    let error = loop {
        let value = format!("{}", expected.len());
        match commit_large(&coordinator, &value, KEY_BYTES).await? {
            Ok(()) => expected.push(value),
            Err(error) => break error,
        }
        assert!(expected.len() < 200, "the disk never became full");
    };
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    assert!(error.problem().contains("could not be written"), "{error}");
    assert!(error.remedy().contains("room"), "{error}");

    std::fs::remove_file(&filler)?;
    commit_large(&coordinator, "room again", KEY_BYTES).await??;
    expected.push("room again".to_owned());
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "full").await?, expected);
    }
    assert!(coordinator.list().is_empty(), "{:?}", coordinator.list());
    Ok(coordinator.close().await?)
}

/// Writes until nothing more fits.
fn fill(path: &Path) -> Result {
    let mut file = std::fs::File::create(path)?;
    let block = vec![1; 64 << 10];
    while file.write_all(&block).is_ok() {}
    Ok(())
}

async fn commit_large(
    coordinator: &Coordinator,
    value: &str,
    key_bytes: usize,
) -> Result<std::result::Result<(), Error>> {
    let mut key = vec![b'k'; key_bytes];
    key[..value.len()].copy_from_slice(value.as_bytes());
    let transaction = coordinator.begin_with(TransactionOptions::new().key(key))?;
    for participant in ["eu", "us"] {
        transaction.send(participant, record("full", value)).await?;
    }
    Ok(transaction.commit().await.map(drop))
}
