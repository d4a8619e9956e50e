//! Which faults a history has and how often: each seed switches some on, so that rare ones also meet.

use std::fmt;

use crate::source::Source;

macro_rules! faults {
    ($($variant:ident $name:literal $what:literal,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $what] $variant,)*
        }

        impl Fault {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name to leave it out by.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What happens.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$variant => $what,)*
                }
            }
        }
    };
}

faults! {
    Lost "lost" "requests are lost",
    AnswerLost "answer-lost" "answers are lost",
    Delayed "delayed" "requests arrive late, also from a coordinator that is dead by then",
    Repeated "repeated" "requests arrive twice, the second time late",
    Records "records" "records are not delivered, or arrive late",
    Twice "twice" "responses reach the core twice",
    Crash "crash" "the coordinator's process or its machine dies and starts again",
    Zombie "zombie" "the coordinator is paused, another takes its log over, and it comes back",
    LogRefused "log-refused" "the log has no room",
    LogUnknown "log-unknown" "an append fails or is not answered",
    LogCopy "log-copy" "a start reads an old copy of the log",
    Rival "rival" "a second log works under the same coordinator id",
    Cluster "cluster" "a cluster is down",
    Shard "shard" "some of a cluster's transactional ids have no coordinator, or one that moves",
    Markers "markers" "markers are written long after the answer",
    Time "time" "time passes, and transactions expire at their brokers",
    Week "week" "a week passes, and transactional ids are forgotten",
    Clock "clock" "the clocks of brokers and of the coordinator's machine are set",
    Ceiling "ceiling" "the time-out ceiling of a cluster is lowered",
    Backup "backup" "a cluster is restored from a backup",
    Impostor "impostor" "another cluster answers under a participant's address",
    Rights "rights" "the right to describe transactional ids is missing, and listings are silent about it",
    Rebalance "rebalance" "the consumer group rebalances",
    Shrink "shrink" "a restart has fewer slots",
    OwnRestart "own-restart" "own producers restart",
    OwnRash "own-rash" "own producers end their transactions before they are told",
    OwnUnsettled "own-unsettled" "own producers go on with an identity that they were to give up",
    OwnImpatient "own-impatient" "own producers are enlisted again before they are released",
    OwnSilent "own-silent" "own producers never say whether their records were delivered",
    Stranger "stranger" "a stranger initialises a slot's transactional id, and writes under it",
    Operator "operator" "operators resolve and forget",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The faults of one history.
#[derive(Clone, Copy, Debug)]
pub struct Swarm {
    on: u64,
    /// How much rarer than usual faults are.
    pub calm: usize,
    /// How many steps the history has.
    pub steps: u64,
}

impl Swarm {
    /// Chooses: about half of the kinds, and in some histories all or very few.
    pub fn choose(source: &mut Source) -> Self {
        let density = [2, 2, 3, 4, 1][source.pick(5)];
        let mut on = 0;
        for fault in Fault::ALL {
            if density == 1 || source.pick(density + 1) > 0 {
                on |= 1 << *fault as u64;
            }
        }
        if source.once_in(6) {
            on &= source.pick(1 << 30) as u64;
        }
        Self {
            on,
            calm: [1, 2, 6][source.pick(3)],
            steps: [40, 100, 200, 400][source.pick(4)],
        }
    }

    /// Leaves kinds out.
    pub fn mute(&mut self, muted: u64) {
        self.on &= !muted;
    }

    /// Whether faults of this kind happen.
    pub fn has(self, fault: Fault) -> bool {
        self.on & (1 << fault as u64) != 0
    }

    /// The kinds that happen.
    pub fn faults(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.iter().copied().filter(move |f| self.has(*f))
    }
}
