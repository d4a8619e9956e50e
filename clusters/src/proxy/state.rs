//! What the threads of one proxy share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::frame::{FrameHeader, Verdict};

/// The caller's judgement of a request.
pub(super) type Rule = Box<dyn Fn(&FrameHeader) -> Verdict + Send + Sync>;

/// Names a held frame: connection and correlation id.
pub(super) type FrameKey = (u64, i32);

/// How far a held frame has come.
#[derive(Clone, Debug)]
pub(super) enum Hold {
    Waiting(FrameHeader),
    Taken,
    Released,
    Answered(Vec<u8>),
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) target: Option<u16>,
    pub(super) refuse: bool,
    pub(super) hole_to_broker: bool,
    pub(super) hole_to_client: bool,
    pub(super) delay: Duration,
    pub(super) closed: bool,
    pub(super) connections: BTreeMap<u64, [TcpStream; 2]>,
    pub(super) holds: BTreeMap<FrameKey, Hold>,
    last_connection: u64,
}

impl State {
    pub(super) fn add_connection(&mut self, ends: [TcpStream; 2]) -> u64 {
        self.last_connection += 1;
        self.connections.insert(self.last_connection, ends);
        self.last_connection
    }

    /// Closes both ends, which ends its threads, and forgets the frames it holds.
    pub(super) fn cut(&mut self, connection: u64) {
        for stream in self.connections.remove(&connection).into_iter().flatten() {
            // Fails only where the peer has closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.holds
            .retain(|(owner, _), hold| *owner != connection || matches!(hold, Hold::Answered(_)));
    }
}

pub(super) struct Shared {
    pub(super) rule: Option<Rule>,
    state: Mutex<State>,
    changed: Condvar,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(rule: Option<Rule>) -> Self {
        Self {
            rule,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the state, and wakes all that wait for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits until `look` finds something.
    pub(super) fn wait<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return found;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `look` finds something, or the patience is over.
    pub(super) fn wait_for<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            let found = look(&mut state);
            let left = deadline.saturating_duration_since(Instant::now());
            if found.is_some() || left.is_zero() {
                return found;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn cut_all(&self) {
        self.change(|state| {
            let all: Vec<u64> = state.connections.keys().copied().collect();
            all.into_iter().for_each(|connection| state.cut(connection));
        });
    }

    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
        self.cut_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete in itself, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
