//! The small worlds that are searched.

use std::sync::Arc;
use std::time::Duration;

use gtc_core::{
    Backoff, Config, Coordinator, GivesWay, Ledger, Limits, LogId, Now, ParticipantConfig, Time,
    VersionClass,
};

/// The clock of these worlds stands still: only the order of what happens counts, and a timer fires as a step.
pub const NOW: Now = Now {
    monotonic: Time::from_micros(1_000_000),
    unix_ms: 1_700_000_000_000,
};

/// Makes a coordinator; a test of a broken rule makes one that lacks it.
pub type Start = Arc<dyn Fn(Config, Ledger, Now) -> Coordinator>;

/// How the branches of a participant are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writers {
    /// Through the one slot of its pool (class v1).
    Slot,
    /// By a producer of the application's own.
    Own(VersionClass),
}

/// Which faults may happen, each at any step; every one costs one of [`World::faults`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The process is killed or its machine fails, and the coordinator starts anew.
    pub crash: bool,
    /// A successor starts while the coordinator lives on, cut off from the log: a zombie.
    pub zombie: bool,
    /// A request is lost, or its answer.
    pub loss: bool,
    /// A request is not answered, and arrives at any later time or never.
    pub delay: bool,
    /// A request of a producer is answered, and a repeat of it arrives at any later time or never.
    pub repeat: bool,
    /// The log refuses an entry, or its answer is lost.
    pub log: bool,
    /// A broker aborts an open transaction, as after its time-out.
    pub expiry: bool,
}

impl Faults {
    /// Those that the promise of docs/guarantees.md is about.
    pub const USUAL: Self = Self {
        crash: true,
        zombie: true,
        loss: true,
        delay: true,
        repeat: true,
        log: false,
        expiry: false,
    };
}

/// A small world.
#[derive(Clone)]
pub struct World {
    /// Its name.
    pub name: String,
    /// Its participants, by how they are written.
    pub participants: Vec<Writers>,
    /// How many transactions begin, one after the other in each process.
    pub transactions: u8,
    /// How many faults happen at most.
    pub faults: u8,
    /// Which.
    pub kinds: Faults,
    /// How often the interval of the sweep may pass while something else is under way.
    pub sweeps: u8,
    /// How often a deadline may pass: the report time-out after a decision, the branches' time-out before it.
    pub deadlines: u8,
    /// How many of the faults may be zombies: three processes at once are far more states than two.
    pub zombies: u8,
    /// The application may also abort instead of committing.
    pub aborts: bool,
    /// Every record is followed by a checkpoint.
    pub checkpoints: bool,
    /// Answers of clusters take any time of their own, and not only those of listings.
    pub slow_answers: bool,
    /// Clusters take their time to write markers; else they are written with the answer of EndTxn.
    pub slow_markers: bool,
    /// Steps that nothing can disturb are taken before all others, instead of in every order.
    pub reduced: bool,
    /// Makes the coordinators.
    pub start: Start,
}

impl World {
    /// A world of these participants in which two transactions follow each other, with the usual faults.
    #[must_use]
    pub fn new(name: &str, participants: &[Writers]) -> Self {
        Self {
            name: name.into(),
            participants: participants.to_vec(),
            transactions: 2,
            faults: 1,
            kinds: Faults::USUAL,
            sweeps: 0,
            deadlines: 0,
            zombies: 1,
            aborts: false,
            checkpoints: false,
            slow_answers: false,
            slow_markers: true,
            reduced: true,
            start: Arc::new(|config, ledger, now| {
                Coordinator::new(config, ledger, now).expect("the configuration is valid")
            }),
        }
    }

    /// The same with another number of faults.
    #[must_use]
    pub fn with_faults(mut self, faults: u8) -> Self {
        self.faults = faults;
        self
    }

    /// The same around a core that leaves a rule out.
    #[cfg(feature = "broken")]
    #[must_use]
    pub fn without(mut self, rule: gtc_core::Broken) -> Self {
        self.start = Arc::new(move |config, ledger, now| {
            let rules = (rule, None);
            Coordinator::with_broken(config, ledger, now, rules)
                .expect("the configuration is valid")
        });
        self
    }

    /// The configuration of its coordinators.
    pub(super) fn config(&self) -> Config {
        let participants = (0..self.participants.len()).map(|index| ParticipantConfig {
            name: format!("p{index}"),
            slots_max: 1,
            timeout_ms: 80_000,
            margin: Duration::from_secs(10),
            names_max: 400,
            gives_way: GivesWay::Nothing,
        });
        let checkpoint_bytes = if self.checkpoints { 1 } else { u64::MAX / 2 };
        Config {
            coordinator: "w".into(),
            log_id: LogId(0xfeed),
            participants: participants.collect(),
            limits: Limits {
                checkpoint_bytes,
                ..Limits::default()
            },
            backoff: Backoff {
                initial: Duration::from_micros(1),
                max: Duration::from_micros(1),
            },
            seed: 0,
        }
    }

    /// The name of the own producer of a participant.
    pub(super) fn own_name(p: usize) -> Arc<str> {
        format!("own-{p}").into()
    }
}
