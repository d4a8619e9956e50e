//! A log in memory, for tests: the contract of a real one, without its disk.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{
    Acknowledge, DecisionLog, LogError, LogErrorKind, LogIdentity, LogWrite, Receipt, Replay,
};

/// A log that lives as long as its process, and fails when it is told to.
///
/// [`MemoryLog::reopen`] plays a crash and a restart: what was acknowledged is there, what was
/// held back is lost, and the old handle is fenced.
pub struct MemoryLog {
    identity: LogIdentity,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    durable: Vec<Bytes>,
    grown_bytes: u64,
    /// While held, writes queue up here and nobody is answered.
    held: Option<Vec<(LogWrite, Acknowledge)>>,
    full: bool,
    refusal: Option<LogError>,
}

impl MemoryLog {
    /// An empty log.
    pub fn new(coordinator: impl Into<String>, log_id: u64) -> MemoryLog {
        MemoryLog::with_state(
            LogIdentity {
                coordinator: coordinator.into(),
                log_id,
            },
            State::default(),
        )
    }

    fn with_state(identity: LogIdentity, state: State) -> MemoryLog {
        MemoryLog {
            identity,
            state: Mutex::new(state),
        }
    }

    /// What a restart would find.
    pub fn entries(&self) -> Vec<Bytes> {
        self.state().durable.clone()
    }

    /// From now on nothing becomes durable and no receipt resolves, as with a stalled disk.
    pub fn hold(&self) {
        self.state().held.get_or_insert_default();
    }

    /// Writes and acknowledges all that was held, in order.
    pub fn release(&self) {
        let mut state = self.state();
        for (write, acknowledge) in state.held.take().unwrap_or_default() {
            // A receipt that nobody kept is no failure.
            let _ = acknowledge.send(state.write(write));
        }
    }

    /// Plays a full disk (or one with room again): writes fail and leave nothing behind.
    pub fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    /// Plays a failed sync: whoever waits gets an unknown outcome, and all later ones nothing.
    pub fn fail(&self) {
        let failure = LogError::new(LogErrorKind::Io, "syncing failed: told to fail");
        let mut state = self.state();
        state.refusal = Some(failure.poisons());
        for (_, acknowledge) in state.held.take().unwrap_or_default() {
            // A receipt that nobody kept is no failure.
            let _ = acknowledge.send(Err(failure.clone()));
        }
    }

    /// Takes the log over: the durable entries, and a handle that owns them.
    pub fn reopen(&self) -> (Arc<MemoryLog>, Replay) {
        let mut state = self.state();
        state.refusal = Some(LogError::new(LogErrorKind::Closed, "has a new owner"));
        state.held = None;
        let entries = state.durable.clone();
        let (durable, grown_bytes) = (entries.clone(), state.grown_bytes);
        let log = MemoryLog::with_state(
            self.identity.clone(),
            State {
                durable,
                grown_bytes,
                ..State::default()
            },
        );
        let replay = Replay {
            identity: self.identity.clone(),
            entries,
            cut_tail: None,
        };
        (Arc::new(log), replay)
    }

    /// The state stays consistent between any two statements, so a panic elsewhere is no harm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, write: LogWrite) -> Result<(), LogError> {
        if self.full {
            let message = "no room, nothing was written; told to be full";
            return Err(LogError::new(LogErrorKind::Full, message));
        }
        match write {
            LogWrite::Append { entries, .. } => {
                self.grown_bytes += entries.iter().map(|entry| entry.len() as u64).sum::<u64>();
                self.durable.extend(entries.into_iter().map(Bytes::from));
            }
            LogWrite::Checkpoint { snapshot } => {
                self.grown_bytes = 0;
                self.durable = snapshot.into_iter().map(Bytes::from).collect();
            }
        }
        Ok(())
    }
}

impl DecisionLog for MemoryLog {
    fn submit(&self, write: LogWrite) -> Receipt {
        let mut state = self.state();
        if let Some(refusal) = &state.refusal {
            return Receipt::resolved(Err(refusal.clone()));
        }
        if let Some(held) = &mut state.held {
            let (acknowledge, receipt) = Receipt::pair();
            held.push((write, acknowledge));
            return receipt;
        }
        Receipt::resolved(state.write(write))
    }

    fn identity(&self) -> &LogIdentity {
        &self.identity
    }

    fn grown_bytes(&self) -> u64 {
        self.state().grown_bytes
    }

    fn failure(&self) -> Option<LogError> {
        self.state().refusal.clone()
    }

    fn close(&self) -> Receipt {
        self.release();
        let closed = || LogError::new(LogErrorKind::Closed, "is closed");
        self.state().refusal.get_or_insert_with(closed);
        Receipt::resolved(Ok(()))
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Durability;

    fn append(log: &MemoryLog, entry: &str) -> Receipt {
        let entries = vec![entry.as_bytes().to_vec()];
        log.submit(LogWrite::Append {
            entries,
            durability: Durability::Lazy,
        })
    }

    #[test]
    fn what_was_held_is_lost_in_a_crash_and_the_old_owner_is_fenced() {
        let log = MemoryLog::new("alpha", 1);
        append(&log, "one").wait().unwrap();
        log.hold();
        let held = append(&log, "two");
        let (successor, replay) = log.reopen();
        assert_eq!(replay.entries, ["one"]);
        assert!(!held.wait().unwrap_err().is_unwritten());
        assert_eq!(
            append(&log, "three").wait().unwrap_err().kind(),
            LogErrorKind::Closed
        );
        append(&successor, "four").wait().unwrap();
        assert_eq!(successor.entries(), ["one", "four"]);
    }

    #[test]
    fn released_writes_keep_their_order() {
        let log = MemoryLog::new("alpha", 1);
        append(&log, "one").wait().unwrap();
        log.hold();
        let snapshot = vec![b"snapshot".to_vec()];
        let checkpoint = log.submit(LogWrite::Checkpoint { snapshot });
        let behind = append(&log, "behind");
        assert_eq!(log.entries(), ["one"]);
        log.release();
        checkpoint.wait().unwrap();
        behind.wait().unwrap();
        assert_eq!(log.entries(), ["snapshot", "behind"]);
        assert_eq!(log.grown_bytes(), 6);
    }

    #[test]
    fn a_full_log_goes_on_and_a_failed_one_does_not() {
        let log = MemoryLog::new("alpha", 1);
        log.set_full(true);
        assert_eq!(
            append(&log, "one").wait().unwrap_err().kind(),
            LogErrorKind::Full
        );
        log.set_full(false);
        append(&log, "two").wait().unwrap();
        log.hold();
        let waiting = append(&log, "three");
        log.fail();
        assert_eq!(waiting.wait().unwrap_err().kind(), LogErrorKind::Io);
        assert_eq!(
            append(&log, "four").wait().unwrap_err().kind(),
            LogErrorKind::Poisoned
        );
        assert_eq!(log.entries(), ["two"]);
    }
}
