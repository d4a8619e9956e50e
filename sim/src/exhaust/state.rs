//! The state of a world: what processes, clusters, log and network hold, in parts that are kept once each.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Action, ActionId, Incarnation, Ledger, ProducerIdentity, Record, Response, SlotId,
    TransactionId,
};

use super::cores::Cores;
use super::intern::{Held, Interner};
use crate::model::broker::{Broker, Call};

/// A whole state, by the numbers of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The process that owns the log.
    pub owner: u32,
    /// Those that owned it, and live.
    pub zombies: u32,
    pub clusters: u32,
    pub book: u32,
    pub network: u32,
    pub left: Left,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    pub faults: u8,
    pub transactions: u8,
    pub sweeps: u8,
    pub deadlines: u8,
    pub zombies: u8,
}

/// A process: a coordinator with its driver and its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    pub core: u32,
    pub local: u32,
}

/// What a process holds beside its core; all of it dies with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Local {
    pub incarnation: Incarnation,
    /// Actions that did not reach a cluster yet.
    pub outstanding: BTreeMap<ActionId, Action>,
    /// Answers on their way to the core.
    pub answers: BTreeMap<ActionId, Response>,
    /// What was given to the log and is not answered, in the log's order.
    pub unsynced: Vec<Batch>,
    pub instances: BTreeMap<(usize, SlotId), Instance>,
    pub app: App,
    /// The core has stopped, or waits for nothing that only it waits for.
    pub stopped: bool,
}

/// Records that the log takes together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    pub id: ActionId,
    pub records: Arc<[Record]>,
    /// They replace all that is before them.
    pub checkpoint: bool,
    /// Of a fenced owner: it was in the log when the successor read it.
    pub kept: bool,
}

/// A managed producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    pub name: Arc<str>,
    pub producer: ProducerIdentity,
    /// Some request of it was not answered, or more than once sent: its own witness says so (R3).
    pub suspicious: bool,
    /// The transaction that it writes, or wrote last.
    pub lease: Option<TransactionId>,
    /// Whether that one's record was delivered; `None` until it was sent.
    pub delivered: Option<bool>,
}

impl Instance {
    /// No request of a transaction was ever sent through it.
    pub fn is_unused(&self) -> bool {
        self.delivered.is_none() && !self.suspicious
    }
}

/// The application of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct App {
    /// The coordinator accepts work.
    pub started: bool,
    pub open: Option<Open>,
    pub owns: BTreeMap<usize, Own>,
}

/// The transaction that the application has open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    pub id: TransactionId,
    /// How far its branch on each participant is.
    pub writes: Vec<Write>,
    /// It was asked to commit or to abort.
    pub asked: bool,
}

/// How far the application is with one branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// Not enlisted yet.
    Waiting,
    /// It could not be enlisted.
    Refused,
    /// Its record is on its way.
    Sent(Option<SlotId>),
    Delivered,
    Failed,
}

/// A producer of the application's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Own {
    pub stage: Stage,
    pub producer: ProducerIdentity,
    /// Whether the last transaction's record was delivered.
    pub delivered: bool,
}

/// Where an own producer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It asked to settle.
    Settling,
    /// It may initialise.
    Settled,
    Ready,
    /// A transaction of it is open.
    Enlisted(TransactionId),
}

/// What is durable, and what an oracle keeps of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Book {
    pub ledger: Ledger,
    pub accounts: BTreeMap<TransactionId, Account>,
}

/// What was asked and told about one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Account {
    pub commit_asked: bool,
    /// A record of it was lost, and its writer knows.
    pub lost_write: bool,
    pub told: Option<Told>,
    /// A heuristic branch was reported.
    pub heuristic: bool,
    /// The process that began it lives, and can be told.
    pub live: bool,
    /// A decision was durable at some time.
    pub decided: bool,
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Committed,
    Aborted,
    InDoubt,
    Mixed,
}

/// A request under way in the network, to the cluster of this number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub to: usize,
    pub call: Call,
}

/// All parts that were seen.
#[derive(Default)]
pub struct Parts {
    pub cores: Cores,
    pub locals: Interner<Local>,
    pub processes: Interner<Process>,
    pub zombies: Interner<Vec<u32>>,
    pub brokers: Interner<Broker>,
    pub clusters: Interner<Vec<u32>>,
    pub books: Interner<Book>,
    pub messages: Interner<Message>,
    pub networks: Interner<Vec<u32>>,
}

/// A process that is being worked on.
#[derive(Clone)]
pub struct Actor {
    pub core: u32,
    pub local: Held<Local>,
}

/// A state that is being worked on.
#[derive(Clone)]
pub struct Scene {
    /// The owner of the log first, then the zombies.
    pub actors: Vec<Actor>,
    /// The clusters, by the numbers of their brokers.
    pub clusters: Vec<u32>,
    pub book: Held<Book>,
    /// The messages in the network, by their numbers, in order.
    pub network: Vec<u32>,
    pub left: Left,
}

impl Parts {
    /// Takes a state apart, to work on it.
    pub fn open(&self, state: State) -> Scene {
        let zombies = self.zombies.value(state.zombies).iter();
        let processes = std::iter::once(&state.owner).chain(zombies);
        let actors = processes.map(|number| {
            let process = self.processes.value(*number);
            Actor {
                core: process.core,
                local: self.locals.hold(process.local),
            }
        });
        Scene {
            actors: actors.collect(),
            clusters: self.clusters.value(state.clusters).to_vec(),
            book: self.books.hold(state.book),
            network: self.networks.value(state.network).to_vec(),
            left: state.left,
        }
    }

    /// Puts a state together again.
    pub fn close(&mut self, scene: Scene) -> State {
        let mut processes = Vec::with_capacity(scene.actors.len());
        for actor in scene.actors {
            let local = self.locals.release(actor.local);
            let process = Process {
                core: actor.core,
                local,
            };
            processes.push(self.processes.number(process.into()));
        }
        let zombies = processes.split_off(1);
        State {
            owner: processes[0],
            zombies: self.zombies.number(zombies.into()),
            clusters: self.clusters.number(scene.clusters.into()),
            book: self.books.release(scene.book),
            network: self.networks.number(scene.network.into()),
            left: scene.left,
        }
    }
}

impl Book {
    /// What was asked and told about a transaction.
    pub fn account(&mut self, id: TransactionId) -> &mut Account {
        self.accounts.entry(id).or_default()
    }

    /// The same, to look at.
    pub fn account_of(&self, id: TransactionId) -> Account {
        self.accounts.get(&id).copied().unwrap_or_default()
    }
}
