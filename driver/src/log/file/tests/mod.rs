//! Tests of the log's engine and writer on a disk that fails and forgets.

mod agreement;
mod cluster;
mod crash;
mod damage;
mod disk;
mod histories;
mod history;
mod machine;
mod queue;

use std::sync::Arc;

use self::disk::Disk;
use super::engine::Engine;
use super::format::Place;
use super::storage::Storage;
use super::{FileLogOptions, open_engine};
use crate::log::{LogError, Replay};

/// The size of the tests' segments: small, so that a few entries fill one.
const SEGMENT_BYTES: u64 = 4096;

fn options() -> FileLogOptions {
    FileLogOptions {
        segment_bytes: SEGMENT_BYTES,
        ..FileLogOptions::new("disk", "alpha")
    }
}

fn place() -> Place {
    Place {
        machine: "m1".to_owned(),
        inode: 7,
        birth_ns: 9,
    }
}

fn open(disk: &Disk) -> Result<(Engine, Replay), LogError> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    open_engine(storage, &options(), place())
}

fn append(engine: &mut Engine, entries: &[Vec<u8>]) -> Result<(), LogError> {
    engine.append(entries.iter().map(Vec::as_slice))
}

fn texts(replay: &Replay) -> Vec<Vec<u8>> {
    replay.entries.iter().map(|entry| entry.to_vec()).collect()
}
