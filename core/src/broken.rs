//! Rules that a test build can leave out, each by its name, to show that a search misses it.
//!
//! The feature `broken`, which no product enables, adds [`Coordinator::with_broken`]. Without it [`Rules`] is
//! empty, and its question is a constant `false`.
//!
//! [`Coordinator::with_broken`]: crate::Coordinator::with_broken

macro_rules! rules {
    ($($variant:ident $name:literal $what:literal,)*) => {
        /// A rule that is left out; named after docs/protocol.md, or for what then goes wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Broken {
            $(#[doc = $what] $variant,)*
        }

        #[cfg(feature = "broken")]
        impl Broken {
            /// Every rule that can be left out.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name to switch it off by.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What goes wrong without it.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $what,)*
                }
            }

            /// The rule of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

rules! {
    R3Verify "r3-verify" "a slot is leased again although its producer's requests are not all answered",
    R3Dirty "r3-dirty" "a slot is leased again although an EndTxn on it failed, or was sent twice",
    R3FailedDelivery "r3-failed-delivery" "a slot is leased again after a failed delivery",
    R3Unasked "r3-unasked" "an own producer that aborts without its vote is told that it may be used again",
    R3Spend "r3-spend" "an own producer is always told that it may be used again",
    R3Enlist "r3-enlist" "an own producer is enlisted again after it was to be discarded",
    R4Wait "r4-wait" "an own producer is enlisted again while its last branch is still open",
    R4Tell "r4-tell" "an application with an own producer is told at the decision",
    R5Settle "r5-settle" "settle returns while a promised branch is left",
    R5Owner "r5-owner" "settle answers without asking whether the log still has this owner",
    R5Record "r5-record" "an own producer's enlistment is not recorded",
    R5Init "r5-init" "an undecided own branch is ended by InitProducerId after a start",
    R6Incarnation "r6-incarnation" "slot names do not carry the incarnation",
    R6Names "r6-names" "slot names are initialised before the log knows them",
    R6Checkpoint "r6-checkpoint" "a checkpoint forgets the slot names of earlier incarnations",
    R6Gone "r6-gone" "a slot name is forgotten for good as soon as a cluster does not list it",
    R6Unanswered "r6-unanswered" "a slot is used although its InitProducerId was not answered at once",
    R7Stop "r7-stop" "a participant is worked on after a stranger initialised a slot of it",
    R7Stranger "r7-stranger" "what a stranger opened under a slot's name is aborted as our own",
    R8Unverified "r8-unverified" "a listing that lacks something counts as complete",
    R8Presumed "r8-presumed" "a start presumes abort before it has listed the participant completely",
    R8Sweep "r8-sweep" "open transactions that nobody works on are left open",
    R8Protect "r8-protect" "the sweep does not spare what an unfinished decision names",
    R9Durable "r9-durable" "a slot is leased again before its completion is durable",
    R9Own "r9-own" "an own producer is enlisted again before its completion is durable",
    R9StartTime "r9-start-time" "a branch is recognised without its start time",
    R10Heuristic "r10-heuristic" "a heuristic outcome counts before the log has its record",
    R10Fenced "r10-fenced" "a record that the log refused its fenced owner counts",
    R11Unknown "r11-unknown" "a commit record without an answer is taken for not written",
    R11Told "r11-told" "a coordinator that stops tells its open callers aborted",
    R12Sweep "r12-sweep" "the sweep aborts what another log of the same coordinator id has open",
    R12Listed "r12-listed" "open transactions of another log are not reported",
    R13Forced "r13-forced" "work begins before the incarnation is durable",
    R13Stale "r13-stale" "a log that does not know a listed name of its own is not refused",
    R13Look "r13-look" "a start initialises its probe before it has looked for names that its log never made",
    R13Described "r13-described" "a start's first look counts although it may not be allowed to see anything",
    R14Deadline "r14-deadline" "a commit is decided although a branch may have timed out",
    R14Instant "r14-instant" "the deadline is counted from the commit instead of the first write",
    R14Ongoing "r14-ongoing" "an own producer is enlisted although its transaction is already open",
    R14HeldBack "r14-held-back" "a decision that a checkpoint held back is written without a look at the clock",
    R15Timeout "r15-timeout" "orphans are fenced with the slots' own time-out",
    R16Acknowledged "r16-acknowledged" "branches that ended while another stays open are not recorded",
    R17Confirm "r17-confirm" "an acknowledged EndTxn(v1) is not looked at again",
    R17Cluster "r17-cluster" "a participant may become another cluster",
    VoteDeliveries "vote-deliveries" "a failed delivery is no objection",
    VoteOffsets "vote-offsets" "a failed send of offsets is no objection",
    VoteOngoing "vote-ongoing" "a branch that its broker does not hold open votes yes",
    VoteIdentity "vote-identity" "a branch that another producer holds open votes yes",
    VoteStated "vote-stated" "an own producer that said nothing of its deliveries votes yes",
    VoteReadOnly "vote-read-only" "what the broker does not call Ongoing votes read-only",
    VoteOwnReadOnly "vote-own-read-only" "an own producer that counted nothing votes read-only",
    OwnUnproved "own-unproved" "what an own producer may have committed by itself is told aborted",
    VoteOfAll "vote-of-all" "a commit is decided before every branch has voted",
    CommitEarly "commit-early" "branches commit before the commit record is durable",
    OnePhaseTwo "one-phase-two" "two branches commit without a record",
    OnePhaseKey "one-phase-key" "a transaction with a key commits without a record",
    OnePhaseOwn "one-phase-own" "an own producer's branch commits without a record",
    OnePhaseAborted "one-phase-aborted" "a one-phase commit without an answer is told aborted",
    DecidedBranches "decided-branches" "a commit record names its first branch only",
    DecisionReversed "decision-reversed" "an abort is accepted while the commit record is written",
    DecisionIgnored "decision-ignored" "a start ignores the commit records it finds",
    CodesSucceed "codes-succeed" "47, 48, 49 and 90 count as success of an EndTxn",
    WriterSucceeds "writer-succeeds" "a failed commit call of a producer counts as success",
    HeuristicSilent "heuristic-silent" "a branch that ended otherwise counts as ended",
    HeuristicUntold "heuristic-untold" "a mixed outcome is told as it was decided",
    DoubtAborted "doubt-aborted" "a commit that takes too long is told aborted",
    ForgetEarly "forget-early" "a transaction is completed before all branches are acknowledged",
    EndedTwice "ended-twice" "a caller that was told in doubt is told again",
    ClassMixed "class-mixed" "a branch of a v2 producer is ended by EndTxn(v1)",
    RollOver "roll-over" "a producer id that rolled over is taken for a stranger's",
    CheckpointBusy "checkpoint-busy" "a checkpoint is taken while an append is under way",
    CheckpointMixed "checkpoint-mixed" "a checkpoint forgets mixed outcomes",
    AnsweredTwice "answered-twice" "a repeated response counts again",
    LeasedTwice "leased-twice" "a leased slot stays on the list of the free ones",
}

/// Which rules hold: all of them, outside of test builds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    #[cfg(feature = "broken")]
    without: [Option<Broken>; 2],
}

impl Rules {
    #[cfg(feature = "broken")]
    pub(crate) const fn without(rule: Broken, mask: Option<Broken>) -> Self {
        Self {
            without: [Some(rule), mask],
        }
    }

    /// Whether this rule is left out.
    #[cfg(feature = "broken")]
    #[inline]
    pub(crate) fn lack(self, rule: Broken) -> bool {
        self.without.contains(&Some(rule))
    }

    /// Whether this rule is left out: never.
    #[cfg(not(feature = "broken"))]
    #[inline(always)]
    pub(crate) const fn lack(self, _: Broken) -> bool {
        false
    }

    /// Whether all rules hold.
    pub(crate) fn are_whole(self) -> bool {
        self == Self::default()
    }
}
