//! A map for keys that arrive in rising order and leave in roughly that order: numbered by a counter.
//!
//! Entries lie in one ring buffer, sorted. A new key goes to its end, a key is found by bisection, and
//! one that leaves early is a hole until its neighbours leave or the holes are the larger part; so that
//! one old entry does not hold the room of all later ones. Holes are no part of what the map says:
//! comparing, hashing and iterating pass over them.
//!
//! What every step does is inlined, so that a value is made where it stays, and not copied there; not so in a
//! module of WebAssembly, which is to be small.

use alloc::collections::{VecDeque, vec_deque};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// Fewer holes than this are not worth a pass over the entries.
const HOLES_KEPT: usize = 16;
/// How many at either end are looked through before all others.
const NEAR: usize = 16;

/// All that is in one, in order.
pub(crate) type Entries<K, V> = core::iter::FilterMap<
    vec_deque::IntoIter<(K, Option<V>)>,
    fn((K, Option<V>)) -> Option<(K, V)>,
>;

#[derive(Clone)]
pub(crate) struct Rising<K, V> {
    /// Sorted by key; neither end is a hole.
    entries: VecDeque<(K, Option<V>)>,
    live: usize,
}

impl<K: Ord, V> Rising<K, V> {
    pub(crate) const fn len(&self) -> usize {
        self.live
    }

    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let index = self.position(key).ok()?;
        self.entries.get(index)?.1.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let index = self.position(key).ok()?;
        self.entries.get_mut(index)?.1.as_mut()
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Puts a value in, at the end where its key is the highest; returns the one it replaces.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.entries.back().is_none_or(|(last, _)| *last < key) {
            self.live += 1;
            self.entries.push_back((key, Some(value)));
            return None;
        }
        self.replace(key, value)
    }

    fn replace(&mut self, key: K, value: V) -> Option<V> {
        let index = self.place(key);
        let before = self.entries[index].1.replace(value);
        self.live += usize::from(before.is_none());
        before
    }

    /// The value of `key`; the default is put in where there is none.
    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let index = self.place(key);
        let value = &mut self.entries[index].1;
        self.live += usize::from(value.is_none());
        value.get_or_insert_default()
    }

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let index = self.position(key).ok()?;
        if index > 0 {
            return self.take(index);
        }
        // The first is no hole.
        self.live -= 1;
        let value = self.entries.pop_front()?.1;
        if self.entries.len() > self.live {
            self.drop_holes();
        }
        value
    }

    fn take(&mut self, index: usize) -> Option<V> {
        let value = self.entries.get_mut(index)?.1.take()?;
        self.live -= 1;
        self.drop_holes();
        Some(value)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.live = 0;
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let entries = self.entries.iter();
        entries.filter_map(|(key, value)| value.as_ref().map(|value| (key, value)))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    #[cfg(feature = "explore")]
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let entries = self.entries.iter_mut();
        entries.filter_map(|(_, value)| value.as_mut())
    }

    /// Where `key` is, or where it belongs.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn position(&self, key: &K) -> Result<usize, usize> {
        // Most that are asked for are the oldest, the newest, or not there yet.
        match self.entries.front() {
            None => Err(0),
            Some((first, _)) if key == first => Ok(0),
            Some(_) => self.search(key),
        }
    }

    #[inline(never)]
    fn search(&self, key: &K) -> Result<usize, usize> {
        let newest = self.entries.len() - 1;
        match key.cmp(&self.entries[newest].0) {
            Ordering::Less => self.bisect(key),
            Ordering::Equal => Ok(newest),
            Ordering::Greater => Err(newest + 1),
        }
    }

    fn bisect(&self, key: &K) -> Result<usize, usize> {
        let length = self.entries.len();
        let (mut from, mut to) = (0, length);
        if length > 2 * NEAR {
            if *key < self.entries[NEAR].0 {
                to = NEAR;
            } else if *key >= self.entries[length - NEAR].0 {
                from = length - NEAR;
            }
        }
        while from < to {
            let middle = from.midpoint(to);
            match self.entries[middle].0.cmp(key) {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
            }
        }
        Err(from)
    }

    /// The place of `key`, made if there is none; the caller fills it.
    fn place(&mut self, key: K) -> usize {
        self.position(&key).unwrap_or_else(|index| {
            if index == self.entries.len() {
                self.entries.push_back((key, None));
            } else {
                self.entries.insert(index, (key, None));
            }
            index
        })
    }

    fn drop_holes(&mut self) {
        while matches!(self.entries.front(), Some((_, None))) {
            self.entries.pop_front();
        }
        while matches!(self.entries.back(), Some((_, None))) {
            self.entries.pop_back();
        }
        if self.entries.len() - self.live > self.live + HOLES_KEPT {
            self.entries.retain(|(_, value)| value.is_some());
        }
    }
}

impl<K, V> IntoIterator for Rising<K, V> {
    type Item = (K, V);
    type IntoIter = Entries<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        let live = |(key, value): (K, Option<V>)| value.map(|value| (key, value));
        self.entries.into_iter().filter_map(live)
    }
}

impl<K, V> Default for Rising<K, V> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            live: 0,
        }
    }
}

impl<K: Ord, V: PartialEq> PartialEq for Rising<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.live == other.live && self.iter().eq(other.iter())
    }
}

impl<K: Ord, V: Eq> Eq for Rising<K, V> {}

impl<K: Ord + Hash, V: Hash> Hash for Rising<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.live.hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: Ord + fmt::Debug, V: fmt::Debug> fmt::Debug for Rising<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
