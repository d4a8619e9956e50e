//! A disk in memory that fails, fills up and forgets.

mod weather;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use self::weather::Sky;
pub(super) use self::weather::{Dice, Weather};
use super::super::broken::Broken;
use super::super::format::SECTOR_BYTES;
use super::super::storage::{Storage, StorageFile};

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Crash {
    /// Only the process dies: everything written is still in the page cache.
    Process,
    /// The machine dies: all that was not synced is lost.
    LoseAll,
    /// The machine dies: names of files survive, unsynced content does not.
    LoseContent,
    /// The machine dies: content survives, unsynced names do not.
    LoseNames,
    /// The machine dies: of unsynced sectors and names every second one survives.
    Torn(usize),
    /// The machine dies: any subset of them survives, by this seed.
    Any(u64),
}

pub(super) const CRASHES: [Crash; 6] = [
    Crash::Process,
    Crash::LoseAll,
    Crash::LoseContent,
    Crash::LoseNames,
    Crash::Torn(0),
    Crash::Torn(1),
];

#[derive(Clone, Default)]
struct Node {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors whose cached bytes are not durable, and which the next sync writes.
    dirty: BTreeSet<usize>,
    /// Sectors that count as clean since a sync failed, although the disk does not have them.
    stale: BTreeSet<usize>,
}

impl Node {
    fn write(&mut self, content: &[u8], offset: usize) {
        self.cached[offset..offset + content.len()].copy_from_slice(content);
        let sectors = offset / SECTOR_BYTES..(offset + content.len()).div_ceil(SECTOR_BYTES);
        self.stale.retain(|sector| !sectors.contains(sector));
        self.dirty.extend(sectors);
    }

    /// Content and length.
    fn flush(&mut self, sectors: impl IntoIterator<Item = usize>) {
        self.durable.resize(self.cached.len(), 0);
        self.flush_content(sectors);
    }

    /// Of the length only what the content needs.
    fn flush_content(&mut self, sectors: impl IntoIterator<Item = usize>) {
        for sector in sectors {
            let range = sector * SECTOR_BYTES..self.cached.len().min((sector + 1) * SECTOR_BYTES);
            let length = self.durable.len().max(range.end);
            self.durable.resize(length, 0);
            self.durable[range.clone()].copy_from_slice(&self.cached[range]);
        }
    }
}

#[derive(Clone, Default)]
struct State {
    nodes: Vec<Node>,
    cached_names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    room: Option<usize>,
    operations: usize,
    crash_at: Option<usize>,
    fail_sync_at: Option<usize>,
    syncs: usize,
    writes: usize,
    sky: Sky,
    without: Option<Broken>,
}

impl State {
    /// Counts an operation that changes something; none happens once the disk crashed.
    fn operate(&mut self) -> io::Result<()> {
        self.operations += 1;
        match self.crash_at {
            Some(limit) if self.operations > limit => Err(io::Error::other("the power is off")),
            _ => self.sky.strikes(),
        }
    }

    fn sync_fails(&mut self) -> bool {
        self.syncs += 1;
        self.fail_sync_at == Some(self.syncs) || self.sky.spoils_sync()
    }

    fn is_off(&self) -> bool {
        self.crash_at.is_some_and(|limit| self.operations > limit)
    }

    fn used_bytes(&self) -> usize {
        self.cached_names
            .values()
            .map(|node| self.nodes[*node].cached.len())
            .sum()
    }
}

/// Which of the unsynced names or sectors survive.
type Keep = fn(usize) -> bool;

/// Shared by all handles on it.
#[derive(Clone, Default)]
pub(super) struct Disk {
    state: Arc<Mutex<State>>,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The disk after a crash; the old one stays as it is.
    pub(super) fn after(&self, crash: Crash) -> Disk {
        let mut state = self.state().clone();
        (state.operations, state.crash_at, state.fail_sync_at) = (0, None, None);
        let (keep_names, keep_sectors): (Keep, Keep) = match crash {
            Crash::Process => {
                let mut dice = state.sky.dice.clone();
                state
                    .nodes
                    .iter_mut()
                    .for_each(|node| node.evict(&mut dice));
                state.sky.dice = dice;
                return Disk::with(state);
            }
            Crash::Any(seed) => {
                state.lose_some(&mut Dice::new(seed));
                return Disk::with(state);
            }
            Crash::LoseAll => (|_| false, |_| false),
            Crash::LoseContent => (|_| true, |_| false),
            Crash::LoseNames => (|_| false, |_| true),
            Crash::Torn(0) => (|index| index % 2 == 0, |sector| sector % 2 == 0),
            Crash::Torn(_) => (|index| index % 2 == 1, |sector| sector % 2 == 1),
        };
        let mut names = state.durable_names.clone();
        for (index, (name, node)) in state.cached_names.iter().enumerate() {
            if keep_names(index) {
                names.insert(name.clone(), *node);
            }
        }
        for (index, name) in state.durable_names.keys().enumerate() {
            if keep_names(index) && !state.cached_names.contains_key(name) {
                names.remove(name);
            }
        }
        for node in &mut state.nodes {
            let dirty = std::mem::take(&mut node.dirty);
            node.flush_content(dirty.into_iter().filter(|sector| keep_sectors(*sector)));
            node.cached = node.durable.clone();
        }
        state.durable_names = names.clone();
        state.cached_names = names;
        Disk::with(state)
    }

    fn with(state: State) -> Disk {
        Disk {
            state: Arc::new(Mutex::new(state)),
            gate: Arc::default(),
        }
    }

    /// The power goes off after that many more changes.
    pub(super) fn crash_after(&self, operations: usize) {
        let mut state = self.state();
        state.crash_at = Some(state.operations + operations);
    }

    pub(super) fn crashed(&self) -> bool {
        self.state().is_off()
    }

    /// The sync of that number, counted from now and from 1, fails; its pages count as clean
    /// afterwards, although they never reached the disk.
    pub(super) fn fail_sync(&self, number: usize) {
        let mut state = self.state();
        state.fail_sync_at = Some(state.syncs + number);
    }

    pub(super) fn sync_failed(&self) -> bool {
        let state = self.state();
        state
            .fail_sync_at
            .is_some_and(|number| state.syncs >= number)
    }

    /// From now on operations fail as the weather has it.
    pub(super) fn set_weather(&self, weather: Weather, seed: u64) {
        let mut state = self.state();
        state.sky.weather = weather;
        state.sky.dice = Dice::new(seed);
    }

    /// How often the weather made something fail.
    pub(super) fn faults(&self) -> usize {
        self.state().sky.faults
    }

    /// The log on this disk leaves a rule out.
    pub(super) fn leave_out(&self, rule: Option<Broken>) {
        self.state().without = rule;
    }

    pub(super) fn set_room(&self, room: Option<usize>) {
        self.state().room = room;
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.state().used_bytes()
    }

    pub(super) fn operations(&self) -> usize {
        self.state().operations
    }

    /// Writes so far.
    pub(super) fn writes(&self) -> usize {
        self.state().writes
    }

    /// Makes syncs wait until `open_gate`.
    pub(super) fn close_gate(&self) {
        *self.gate.0.lock().unwrap() = true;
    }

    pub(super) fn open_gate(&self) {
        *self.gate.0.lock().unwrap() = false;
        self.gate.1.notify_all();
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.state().cached_names.keys().cloned().collect()
    }

    /// The bytes of a file, changed behind everyone's back.
    pub(super) fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let index = state.cached_names[name];
        let node = &mut state.nodes[index];
        change(&mut node.cached);
        node.durable = node.cached.clone();
    }

    pub(super) fn copy_file(&self, from: &str, to: &str) {
        let content = self.read(from).unwrap();
        let mut state = self.state();
        state.nodes.push(Node {
            durable: content.clone(),
            cached: content,
            ..Node::default()
        });
        let index = state.nodes.len() - 1;
        state.cached_names.insert(to.to_owned(), index);
        state.durable_names.insert(to.to_owned(), index);
    }
}

impl Storage for Disk {
    fn path(&self) -> &Path {
        Path::new("disk")
    }

    fn lacks(&self, rule: Broken) -> bool {
        self.state().without == Some(rule)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.state().sky.strikes()?;
        Ok(self.names())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.sky.strikes()?;
        let node = state
            .cached_names
            .get(name)
            .ok_or(io::ErrorKind::NotFound)?;
        Ok(state.nodes[*node].cached.clone())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.state();
        state.operate()?;
        if state.cached_names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.nodes.push(Node::default());
        let node = state.nodes.len() - 1;
        state.cached_names.insert(name.to_owned(), node);
        state.sky.given_up.remove(name);
        Ok(Box::new(Handle {
            disk: self.clone(),
            node,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let node = *self
            .state()
            .cached_names
            .get(name)
            .ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Handle {
            disk: self.clone(),
            node,
        }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.sky.given_up.remove(name);
        state
            .cached_names
            .remove(name)
            .map(drop)
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        if state.sync_fails() {
            state.give_up_names();
            return Err(io::Error::other("a bad sector"));
        }
        state.sync_names();
        Ok(())
    }
}

struct Handle {
    disk: Disk,
    node: usize,
}

impl StorageFile for Handle {
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operate()?;
        let more = (bytes as usize).saturating_sub(state.nodes[self.node].cached.len());
        let used = state.used_bytes();
        if state.room.is_some_and(|room| used + more > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let node = &mut state.nodes[self.node];
        node.cached.resize(node.cached.len() + more, 0);
        Ok(())
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.writes += 1;
        let struck = state.operate();
        let mut written = content.len();
        if struck.is_err() {
            // A write that fails may have been begun; it ends between two sectors.
            let end = offset as usize + state.sky.dice.pick(written);
            written = (end / SECTOR_BYTES * SECTOR_BYTES).saturating_sub(offset as usize);
        }
        if !state.is_off() {
            state.nodes[self.node].write(&content[..written], offset as usize);
        }
        struck
    }

    fn sync(&self) -> io::Result<()> {
        let mut closed = self.disk.gate.0.lock().unwrap();
        while *closed {
            closed = self.disk.gate.1.wait(closed).unwrap();
        }
        drop(closed);
        let mut state = self.disk.state();
        state.operate()?;
        let fails = state.sync_fails();
        let State { nodes, sky, .. } = &mut *state;
        let node = &mut nodes[self.node];
        let dirty = std::mem::take(&mut node.dirty);
        if fails {
            node.give_up(dirty, &mut sky.dice);
            return Err(io::Error::other("a bad sector"));
        }
        node.flush(dirty);
        Ok(())
    }

    fn is_named(&self) -> io::Result<bool> {
        let state = self.disk.state();
        Ok(state.cached_names.values().any(|node| *node == self.node))
    }
}
