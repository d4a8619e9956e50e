//! A model of the decision log: what is durable, what is only written, and what a crash leaves of it.

use std::collections::VecDeque;

use gtc_core::{
    ActionId, AppendFailure, Decision, Durability, KnownOutcome, Ledger, Record, Response,
    TransactionId, TransactionState,
};

use crate::source::Source;

enum Write {
    Append(Vec<Record>),
    Checkpoint(Vec<Record>),
}

/// The log; records are kept in their binary form.
#[derive(Default)]
pub struct Log {
    durable: Vec<Vec<u8>>,
    state: Ledger,
    waiting: VecDeque<(ActionId, Write)>,
    /// Those of the waiting ones that nothing waits for.
    lazy: Vec<ActionId>,
}

/// How a write ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    Durable,
    Refused,
    /// Unknown to the coordinator; durable or not.
    Unknown(bool),
    Fenced,
}

impl Log {
    pub fn append(&mut self, id: ActionId, records: Vec<Record>, durability: Durability) {
        if durability == Durability::Lazy {
            self.lazy.push(id);
        }
        self.waiting.push_back((id, Write::Append(records)));
    }

    pub fn checkpoint(&mut self, id: ActionId, snapshot: Vec<Record>) {
        self.waiting.push_back((id, Write::Checkpoint(snapshot)));
    }

    /// Whether something waits for a sync: what is lazy rides on the next one, or on one a little later.
    pub fn is_wanted(&self) -> bool {
        let lazy = |(id, _): &(ActionId, Write)| self.lazy.contains(id);
        !self.waiting.iter().all(lazy)
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Ends the oldest write.
    pub fn sync_one(&mut self, how: Sync) -> Option<(ActionId, Response)> {
        let (id, write) = self.waiting.pop_front()?;
        self.lazy.retain(|lazy| *lazy != id);
        if matches!(how, Sync::Durable | Sync::Unknown(true)) {
            self.make_durable(write);
        }
        let why = || String::from("model");
        let response = match how {
            Sync::Durable => Response::Appended,
            Sync::Refused => Response::AppendFailed(AppendFailure::Refused(why())),
            Sync::Unknown(_) => Response::AppendFailed(AppendFailure::Unknown(why())),
            Sync::Fenced => Response::AppendFailed(AppendFailure::Fenced(why())),
        };
        Some((id, response))
    }

    fn make_durable(&mut self, write: Write) {
        match write {
            Write::Append(records) => {
                for record in records {
                    self.durable.push(record.encode());
                    self.state.apply(record).expect("records are in order");
                }
            }
            Write::Checkpoint(records) => {
                self.durable = records.iter().map(Record::encode).collect();
                let after = self.replay();
                for view in self.state.list() {
                    assert_eq!(Some(&view), after.describe(view.id).as_ref(), "checkpoint");
                }
                self.state = after;
            }
        }
    }

    /// The process dies: of what was not durable, the page cache keeps a part, which the successor forces.
    pub fn crash(&mut self, source: &mut Source) {
        let kept = source.pick(self.waiting.len() + 1);
        self.lazy.clear();
        let waiting = std::mem::take(&mut self.waiting);
        for (_, write) in waiting.into_iter().take(kept) {
            self.make_durable(write);
        }
    }

    /// What a start reads.
    pub fn replay(&self) -> Ledger {
        let mut ledger = Ledger::new();
        for bytes in &self.durable {
            let record = Record::decode(bytes).expect("what was encoded is decoded");
            ledger.apply(record).expect("records are in order");
        }
        ledger
    }

    /// Whether a decision to commit is durable.
    pub fn is_decided(&self, id: TransactionId) -> bool {
        let view = self.state.describe(id);
        view.is_some_and(|view| view.decision == Some(Decision::Commit))
    }

    /// Whether the log holds a heuristic outcome.
    pub fn is_mixed(&self, id: TransactionId) -> bool {
        self.state.outcome(id) == KnownOutcome::Mixed
    }

    /// Whether the log says that nothing of this transaction is left to do.
    pub fn is_ended(&self, id: TransactionId) -> bool {
        let view = self.state.describe(id);
        view.is_some_and(|view| view.state == TransactionState::Ended)
    }
}
