//! Bad weather: a seed decides which operation of a disk fails, and what a crash leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{Node, SECTOR_BYTES, State};

/// A source of choices (SplitMix64).
#[derive(Clone, Default)]
pub(in super::super) struct Dice(u64);

impl Dice {
    pub(in super::super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(in super::super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`.
    pub(in super::super) fn pick(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// Once in so many times; never for 0.
    pub(in super::super) fn once_in(&mut self, times: usize) -> bool {
        times > 0 && self.pick(times) == 0
    }
}

/// How often something fails: once in so many operations, or never for 0.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Weather {
    pub(in super::super) io_fails: usize,
    pub(in super::super) sync_fails: usize,
}

/// The weather over a disk, and what it did.
#[derive(Clone, Default)]
pub(super) struct Sky {
    pub(super) weather: Weather,
    pub(super) dice: Dice,
    pub(super) faults: usize,
    /// Names that a failed sync of the directory gave up: they are in the cache only, and no later
    /// sync writes them.
    pub(super) given_up: BTreeSet<String>,
}

impl Sky {
    pub(super) fn strikes(&mut self) -> io::Result<()> {
        if !self.dice.once_in(self.weather.io_fails) {
            return Ok(());
        }
        self.faults += 1;
        Err(io::Error::other("input/output error"))
    }

    pub(super) fn spoils_sync(&mut self) -> bool {
        let spoils = self.dice.once_in(self.weather.sync_fails);
        self.faults += usize::from(spoils);
        spoils
    }
}

impl Node {
    /// A failed sync: a part of what was dirty reached the disk, and all of it counts as clean. Linux may
    /// drop clean pages at any time.
    pub(super) fn give_up(&mut self, dirty: BTreeSet<usize>, dice: &mut Dice) {
        let (reached, lost): (Vec<usize>, Vec<usize>) =
            dirty.into_iter().partition(|_| dice.once_in(3));
        self.flush_content(reached);
        self.stale.extend(lost);
        self.evict(dice);
    }

    /// Pages that are clean only by name may leave the cache, and are then as the disk has them.
    pub(super) fn evict(&mut self, dice: &mut Dice) {
        for sector in std::mem::take(&mut self.stale) {
            if dice.once_in(2) {
                self.stale.insert(sector);
                continue;
            }
            let start = (sector * SECTOR_BYTES).min(self.cached.len());
            let end = (start + SECTOR_BYTES).min(self.cached.len());
            for at in start..end {
                self.cached[at] = self.durable.get(at).copied().unwrap_or(0);
            }
        }
    }

    /// The power goes off: any part of what was dirty had reached the disk.
    fn lose(&mut self, dice: &mut Dice, one_in: usize) {
        let dirty = std::mem::take(&mut self.dirty);
        let kept: Vec<usize> = dirty.into_iter().filter(|_| dice.once_in(one_in)).collect();
        // The length may be durable before any content, or be only as long as that needs.
        match dice.once_in(2 * one_in) {
            true => self.flush(kept),
            false => self.flush_content(kept),
        }
        self.stale.clear();
        self.cached = self.durable.clone();
    }
}

impl State {
    /// A sync of the directory that fails: a part of the names reached the disk, some were given up.
    pub(super) fn give_up_names(&mut self) {
        for name in self.changed_names() {
            match self.sky.dice.pick(3) {
                0 => self.keep_name(&name),
                1 => drop(self.sky.given_up.insert(name)),
                _ => {}
            }
        }
    }

    /// Names that are not on the disk as they are in the cache, and that a sync would write.
    fn changed_names(&self) -> BTreeSet<String> {
        let all = self.cached_names.keys().chain(self.durable_names.keys());
        let changed =
            |name: &&String| self.cached_names.get(*name) != self.durable_names.get(*name);
        let wanted = |name: &&String| !self.sky.given_up.contains(*name);
        all.filter(changed).filter(wanted).cloned().collect()
    }

    fn keep_name(&mut self, name: &str) {
        match self.cached_names.get(name) {
            Some(node) => drop(self.durable_names.insert(name.to_owned(), *node)),
            None => drop(self.durable_names.remove(name)),
        }
    }

    pub(super) fn sync_names(&mut self) {
        for name in self.changed_names() {
            self.keep_name(&name);
        }
    }

    /// The machine dies: any subset of what was not synced had reached the disk.
    pub(super) fn lose_some(&mut self, dice: &mut Dice) {
        let one_in = [1, 2, 4, 1 << 30][dice.pick(4)];
        for name in self.changed_names() {
            if dice.once_in(one_in) {
                self.keep_name(&name);
            }
        }
        for node in &mut self.nodes {
            node.lose(dice, one_in);
        }
        self.cached_names = self.durable_names.clone();
        self.sky.given_up.clear();
        self.forget_removed();
        // What unsynced removals give back was never free for others.
        let used = self.used_bytes();
        self.room = self.room.map(|room| room.max(used));
    }

    /// Files without a name are gone.
    pub(super) fn forget_removed(&mut self) {
        let named: BTreeMap<usize, ()> = self.durable_names.values().map(|n| (*n, ())).collect();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if !named.contains_key(&index) {
                *node = Node::default();
            }
        }
    }
}
