//! A model of a decision log: what is durable, what is only written, and what a crash leaves of it.

use std::collections::VecDeque;
use std::sync::Arc;

use gtc_core::{
    ActionId, AppendFailure, BranchView, Decision, Durability, Incarnation, KnownOutcome, Ledger,
    Record, Response, TransactionId, TransactionState,
};

use crate::invariants::whole_checkpoint;
use crate::source::Source;
use crate::violation::demand;

/// The incarnations of the second log begin here, so that its transactions have ids of their own.
const RIVAL_INCARNATION: u32 = 1_000_000;

/// The number of the log that a transaction belongs to.
pub fn log_of(id: TransactionId) -> usize {
    usize::from(id.incarnation.0 > RIVAL_INCARNATION)
}

#[derive(Clone, Debug)]
enum Write {
    Append(Vec<Record>),
    Checkpoint(Vec<Record>),
}

/// A process that writes to a log, by the order of their starts.
pub type Writer = u64;

#[derive(Clone, Debug)]
struct Waiting {
    writer: Writer,
    id: ActionId,
    write: Write,
    lazy: bool,
}

/// The log; records are kept in their binary form.
#[derive(Clone, Debug, Default)]
pub struct Log {
    durable: Vec<Vec<u8>>,
    state: Ledger,
    waiting: VecDeque<Waiting>,
    /// Only this one and later ones may write.
    owner: Writer,
}

/// How a write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// It is durable.
    Durable,
    /// Provably nothing was written.
    Refused,
    /// Unknown to the coordinator; durable or not.
    Unknown(bool),
}

/// A write that ended, and what its writer hears.
pub type Ended = (Writer, ActionId, Response);

impl Log {
    /// The second log under a coordinator's id.
    pub fn rival() -> Self {
        let mut log = Self::default();
        let started = Record::Started {
            incarnation: Incarnation(RIVAL_INCARNATION),
            unix_ms: 0,
        };
        log.make_durable(Write::Append(vec![started]));
        log
    }

    /// Takes an append.
    pub fn append(&mut self, of: (Writer, ActionId), records: Vec<Record>, durability: Durability) {
        self.push(of, Write::Append(records), durability == Durability::Lazy);
    }

    /// Takes a checkpoint.
    pub fn checkpoint(&mut self, of: (Writer, ActionId), snapshot: Vec<Record>) {
        self.push(of, Write::Checkpoint(snapshot), false);
    }

    fn push(&mut self, (writer, id): (Writer, ActionId), write: Write, lazy: bool) {
        self.waiting.push_back(Waiting {
            writer,
            id,
            write,
            lazy,
        });
    }

    /// Whether something waits for a sync: what is lazy rides on the next one, or on one a little later.
    pub fn is_wanted(&self) -> bool {
        !self.waiting.iter().all(|waiting| waiting.lazy)
    }

    /// Nothing waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The incarnation of the last start.
    pub fn incarnation(&self) -> Incarnation {
        self.state.incarnation()
    }

    /// Ends the oldest write; one of a fenced writer is refused, whatever the disk does.
    pub fn sync_one(&mut self, how: Sync) -> Option<Ended> {
        let waiting = self.waiting.pop_front()?;
        let why = || String::from("model");
        if waiting.writer < self.owner {
            let fenced = Response::AppendFailed(AppendFailure::Fenced(why()));
            return Some((waiting.writer, waiting.id, fenced));
        }
        if matches!(how, Sync::Durable | Sync::Unknown(true)) {
            self.make_durable(waiting.write);
        }
        let response = match how {
            Sync::Durable => Response::Appended,
            Sync::Refused => Response::AppendFailed(AppendFailure::Refused(why())),
            Sync::Unknown(_) => Response::AppendFailed(AppendFailure::Unknown(why())),
        };
        Some((waiting.writer, waiting.id, response))
    }

    fn make_durable(&mut self, write: Write) {
        match write {
            Write::Append(records) => {
                for record in records {
                    self.durable.push(record.encode());
                    demand(whole_checkpoint::in_order(self.state.apply(record)));
                }
            }
            Write::Checkpoint(records) => {
                self.durable = records.iter().map(Record::encode).collect();
                let after = self.replay();
                for view in self.state.list() {
                    demand(whole_checkpoint::check(
                        &view,
                        after.describe(view.id).as_ref(),
                    ));
                }
                self.state = after;
            }
        }
    }

    /// The owner dies: of what was not durable, the page cache keeps a part, which the successor forces.
    pub fn crash(&mut self, source: &mut Source) {
        let owner = self.owner;
        let kept = source.pick(self.waiting.len() + 1);
        let waiting = std::mem::take(&mut self.waiting);
        for (index, waiting) in waiting.into_iter().enumerate() {
            if waiting.writer < owner {
                self.waiting.push_back(waiting);
            } else if index < kept {
                self.make_durable(waiting.write);
            }
        }
    }

    /// A successor takes it over: what the last owner has written so far is durable, or never will be. It
    /// hears of neither before it asks again.
    pub fn fence(&mut self, successor: Writer, source: &mut Source) -> Vec<Ended> {
        let kept = source.pick(self.waiting.len() + 1);
        let mut ended = Vec::new();
        for _ in 0..kept {
            let how = [Sync::Durable, Sync::Unknown(true)][source.pick(2)];
            ended.extend(self.sync_one(how));
        }
        self.owner = successor;
        ended
    }

    /// A start on what the log holds.
    pub fn own(&mut self, writer: Writer) -> Ledger {
        self.owner = writer;
        self.replay()
    }

    fn replay(&self) -> Ledger {
        let mut ledger = Ledger::new();
        for bytes in &self.durable {
            let record = Record::decode(bytes).expect("what was encoded is decoded");
            demand(whole_checkpoint::in_order(ledger.apply(record)));
        }
        ledger
    }

    /// The own producers of which it holds a record for this transaction, by cluster and name.
    pub fn own_branches(&self, id: TransactionId) -> Vec<(usize, Arc<str>)> {
        let view = self.state.describe(id);
        let branches = view.map_or_else(Vec::new, |view| view.branches);
        let own = |branch: BranchView| {
            let name = branch
                .transactional_id
                .filter(|name| !name.starts_with("gtc."))?;
            let p = branch.participant.trim_start_matches('p').parse().ok()?;
            Some((p, name))
        };
        branches.into_iter().filter_map(own).collect()
    }

    /// Whether a decision to commit is durable.
    pub fn is_decided(&self, id: TransactionId) -> bool {
        let view = self.state.describe(id);
        view.is_some_and(|view| view.decision == Some(Decision::Commit))
    }

    /// Whether an own producer's transaction has no decision in it.
    pub fn has_undecided(&self) -> bool {
        let views = self.state.list();
        views
            .iter()
            .any(|view| view.state == TransactionState::Active)
    }

    /// Whether nothing in it is decided and not ended.
    pub fn is_all_undecided(&self) -> bool {
        let mut views = self.state.list().into_iter();
        views.all(|view| view.state == TransactionState::Active)
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
