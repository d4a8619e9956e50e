//! The numbers that a cluster gives out: producer ids, and start times by which transactions are told apart.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What was given out so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    order: Order,
    /// The last start time by name, or of all names under the empty one.
    starts: BTreeMap<Arc<str>, i64>,
}

/// What a number depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Order {
    /// On what was given out before, to any name; the next producer id.
    Arrival(i64),
    /// On the name alone, so that what happens to two names may happen in any order. No id rolls over.
    Name,
}

impl Numbers {
    /// Producer ids in the order of arrival, from this one on.
    pub const fn from(next_id: i64) -> Self {
        Self {
            order: Order::Arrival(next_id),
            starts: BTreeMap::new(),
        }
    }

    /// Numbers that depend on the name alone.
    pub const fn by_name() -> Self {
        Self {
            order: Order::Name,
            starts: BTreeMap::new(),
        }
    }

    /// The producer id that a name is given next.
    pub fn fresh_id(&self, name: &str) -> i64 {
        match self.order {
            Order::Arrival(next_id) => next_id,
            Order::Name => name
                .bytes()
                .fold(1, |sum, byte| (sum * 31 + i64::from(byte)) % 1_000_003),
        }
    }

    /// A producer id is in use.
    pub fn note_id(&mut self, given: i64) {
        if let Order::Arrival(next_id) = &mut self.order {
            *next_id += i64::from(given == *next_id);
        }
    }

    /// When a transaction begins that does so now: no two begin in the same millisecond.
    pub fn start_ms(&self, name: &Arc<str>, clock_ms: i64) -> i64 {
        let last = self.starts.get(&self.key(name)).copied().unwrap_or(0);
        clock_ms.max(last + 1)
    }

    /// A transaction has begun.
    pub fn note_start(&mut self, name: &Arc<str>, start_ms: i64) {
        let key = self.key(name);
        self.starts.insert(key, start_ms);
    }

    fn key(&self, name: &Arc<str>) -> Arc<str> {
        match self.order {
            Order::Arrival(_) => Arc::default(),
            Order::Name => name.clone(),
        }
    }
}
