//! What can happen next in a state, and doing it.

use gtc_core::{ActionId, Decision, WaitReason};

use super::clusters::{Passage, Sender};
use super::engine::Engine;
use super::state::{Scene, Stage, Write};
use crate::violation::Violation;

/// One thing that can happen. `who` is a process: 0 the owner of the log, then the zombies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The application begins a transaction and enlists every participant.
    Begin { who: usize },
    /// Its record for a participant is sent.
    Write {
        who: usize,
        p: usize,
        passage: Passage,
    },
    /// It asks to commit or to abort.
    Ask { who: usize, decision: Decision },
    /// Its own producer initialises itself.
    Initialise { who: usize, p: usize },
    /// An action is carried out.
    Run {
        who: usize,
        id: ActionId,
        passage: Passage,
    },
    /// An answer reaches the core.
    Answer { who: usize, id: ActionId },
    /// The log takes in what it was given.
    Sync { who: usize, how: Sync },
    /// A request of the network arrives.
    Arrive { place: usize },
    /// A cluster writes the markers of what was ended there.
    Mark { p: usize },
    /// The interval of the sweep passes.
    Sweep { who: usize, free: bool },
    /// The deadline of a transaction passes.
    Deadline { who: usize },
    /// The owner dies, and so many of the entries that it was not told about are in the log; a new one starts.
    Crash { kept: usize, free: bool },
    /// The owner is cut off from the log, with so many of those entries in it, and a successor starts.
    TakeOver { kept: usize },
    /// What is open at a cluster passes its time-out there.
    Expire { p: usize },
}

/// How the log answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    Durable,
    /// No room for the first entry.
    Refused,
    /// The first entry is not answered; it is in the log or not.
    Unknown {
        kept: bool,
    },
}

impl Step {
    /// It is a fault.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Write { passage, .. } | Self::Run { passage, .. } => *passage != Passage::Arrives,
            Self::Sync { how, .. } => *how != Sync::Durable,
            Self::Crash { free, .. } => !free,
            Self::TakeOver { .. } | Self::Expire { .. } => true,
            _ => false,
        }
    }

    /// Time has to pass for it, beside what is under way.
    pub const fn takes_time(&self) -> bool {
        matches!(
            self,
            Self::Sweep { free: false, .. } | Self::Deadline { .. }
        )
    }
}

/// What can happen next.
#[derive(Default)]
pub struct Steps {
    /// In the order in which a world without faults would best take them.
    pub all: Vec<Step>,
    /// Nothing is under way, except perhaps requests in the network.
    pub quiet: bool,
    /// Everything has ended.
    pub ended: bool,
}

/// So many steps follow another at most as the only ones: where it goes round, that has to be seen.
const FOLLOWING_MAX: u32 = 1_000;

impl Engine {
    /// Takes a step, and those that follow as the only ones possible: the states in between need not be kept.
    /// `before` is told of each.
    pub fn go(
        &mut self,
        scene: &mut Scene,
        first: Step,
        mut before: impl FnMut(&Self, &Scene, Step),
    ) -> Result<(), Violation> {
        let (mut next, mut left) = (Some(first), FOLLOWING_MAX);
        while let Some(step) = next {
            before(self, scene, step);
            self.take_step(scene, step)?;
            left -= 1;
            next = self.only_step(scene).filter(|_| left > 0);
        }
        Ok(())
    }

    /// The step that comes next whatever happens, unless the search has to see the state before it.
    fn only_step(&mut self, scene: &Scene) -> Option<Step> {
        if !self.world.reduced {
            return None;
        }
        let steps = self.steps(scene);
        match steps.all[..] {
            [step] if !steps.ended && !step.is_fault() && !step.takes_time() => Some(step),
            _ => None,
        }
    }

    /// What can happen next in a state.
    pub fn steps(&mut self, scene: &Scene) -> Steps {
        let mut steps = Steps::default();
        if scene.actors[0].local.stopped {
            self.restarts(scene, true, &mut steps.all);
            return steps;
        }
        if self.world.reduced {
            if let Some((who, id)) = self.private_action(scene) {
                self.runs(scene, (who, id), &mut steps.all);
                return steps;
            }
            self.undisturbed(scene, &mut steps.all);
            if steps.all.is_empty() {
                self.settled(scene, &mut steps.all);
            }
            if !steps.all.is_empty() {
                return steps;
            }
        }
        self.marks(scene, &mut steps.all);
        for who in 0..scene.actors.len() {
            self.of_process(scene, who, &mut steps.all);
        }
        steps.quiet = steps
            .all
            .iter()
            .all(|step| step.is_fault() || step.takes_time());
        for place in 0..scene.network.len() {
            let again = place > 0 && scene.network[place - 1] == scene.network[place];
            if !again {
                steps.all.push(Step::Arrive { place });
            }
        }
        steps.ended = steps.quiet && self.has_ended(scene);
        if steps.quiet && !steps.ended {
            let sweeps = (0..scene.actors.len()).filter(|who| self.sweeps(scene, *who));
            steps
                .all
                .extend(sweeps.map(|who| Step::Sweep { who, free: true }));
        }
        if scene.left.faults > 0 {
            self.disasters(scene, &mut steps.all);
        }
        steps
    }

    /// Nothing is open at any cluster, and nothing in the log is left to do.
    fn has_ended(&self, scene: &Scene) -> bool {
        let open = self
            .brokers(scene)
            .iter()
            .any(|b| b.open_tags().next().is_some());
        let core = self.parts.cores.value(scene.actors[0].core);
        let left = core.list().into_iter().any(|view| {
            !matches!(
                view.state,
                gtc_core::TransactionState::Mixed | gtc_core::TransactionState::InDoubt
            )
        });
        !open && !left
    }

    fn sweeps(&self, scene: &Scene, who: usize) -> bool {
        self.due(scene.actors[who].core)
            .contains(&WaitReason::Sweep)
    }

    fn marks(&mut self, scene: &Scene, steps: &mut Vec<Step>) {
        for p in 0..scene.clusters.len() {
            if self.tick(scene.clusters[p]) != scene.clusters[p] {
                steps.push(Step::Mark { p });
            }
        }
    }

    pub fn of_process(&self, scene: &Scene, who: usize, steps: &mut Vec<Step>) {
        let local = &scene.actors[who].local;
        steps.extend(local.answers.keys().map(|id| Step::Answer { who, id: *id }));
        self.syncs(scene, who, steps);
        for id in local.outstanding.keys() {
            self.runs(scene, (who, *id), steps);
        }
        self.of_application(scene, who, steps);
        if scene.left.sweeps > 0 && self.sweeps(scene, who) {
            steps.push(Step::Sweep { who, free: false });
        }
        let due = self.due(scene.actors[who].core);
        if scene.left.deadlines > 0 && due.contains(&WaitReason::Deadline) {
            steps.push(Step::Deadline { who });
        }
    }

    fn of_application(&self, scene: &Scene, who: usize, steps: &mut Vec<Step>) {
        let app = &scene.actors[who].local.app;
        for (p, own) in &app.owns {
            // A zombie's application that initialised anew would fence its successor, as in Kafka itself.
            if own.stage == Stage::Settled && who == 0 {
                steps.push(Step::Initialise { who, p: *p });
            }
        }
        let Some(open) = &app.open else {
            let ready = app.owns.values().all(|own| own.stage == Stage::Ready);
            if app.started && ready && scene.left.transactions > 0 {
                steps.push(Step::Begin { who });
            }
            return;
        };
        for (p, write) in open.writes.iter().enumerate() {
            if let Write::Sent(_) = write {
                let passages = self.passages(scene, Sender::OfProducer);
                let writes = passages.map(|passage| Step::Write { who, p, passage });
                steps.extend(writes);
            }
        }
        let under_way = |write: &Write| matches!(write, Write::Waiting | Write::Sent(_));
        if !open.asked && !open.writes.iter().any(under_way) {
            let refused = open.writes.contains(&Write::Refused);
            if !refused {
                let decision = Decision::Commit;
                steps.push(Step::Ask { who, decision });
            }
            if refused || self.world.aborts {
                let decision = Decision::Abort;
                steps.push(Step::Ask { who, decision });
            }
        }
    }

    fn syncs(&self, scene: &Scene, who: usize, steps: &mut Vec<Step>) {
        if scene.actors[who].local.unsynced.is_empty() {
            return;
        }
        let mut how = vec![Sync::Durable];
        if who == 0 && scene.left.faults > 0 && self.world.kinds.log {
            how.push(Sync::Refused);
            how.extend([false, true].map(|kept| Sync::Unknown { kept }));
        }
        steps.extend(how.into_iter().map(|how| Step::Sync { who, how }));
    }

    pub fn runs(&self, scene: &Scene, (who, id): (usize, ActionId), steps: &mut Vec<Step>) {
        let action = &scene.actors[who].local.outstanding[&id];
        let passages = self.passages(scene, Sender::of(action));
        steps.extend(passages.map(|passage| Step::Run { who, id, passage }));
    }

    /// What can become of a request.
    fn passages(&self, scene: &Scene, request: Sender) -> impl Iterator<Item = Passage> + use<> {
        let kinds = self.world.kinds;
        let (changes, repeats) = match request {
            Sender::Local => (false, false),
            Sender::Question => (false, false),
            Sender::OfControl => (true, false),
            Sender::OfProducer => (true, true),
        };
        let faults = scene.left.faults > 0 && request != Sender::Local;
        let possible = [
            (Passage::Arrives, true),
            (Passage::Lost, faults && kinds.loss),
            (Passage::AnswerLost, faults && kinds.loss && changes),
            (Passage::Late, faults && kinds.delay && changes),
            (Passage::Repeated, faults && kinds.repeat && repeats),
        ];
        let possible = possible.into_iter().filter(|(_, possible)| *possible);
        possible.map(|(passage, _)| passage)
    }

    fn disasters(&self, scene: &Scene, steps: &mut Vec<Step>) {
        let kinds = self.world.kinds;
        if kinds.crash {
            self.restarts(scene, false, steps);
        }
        if kinds.zombie && scene.left.zombies > 0 {
            let kept = 0..=scene.actors[0].local.unsynced.len();
            steps.extend(kept.map(|kept| Step::TakeOver { kept }));
        }
        if kinds.expiry {
            let brokers = self.brokers(scene).into_iter().enumerate();
            let open = brokers.filter(|(_, broker)| broker.open_tags().next().is_some());
            steps.extend(open.map(|(p, _)| Step::Expire { p }));
        }
    }

    fn restarts(&self, scene: &Scene, free: bool, steps: &mut Vec<Step>) {
        let kept = 0..=scene.actors[0].local.unsynced.len();
        steps.extend(kept.map(|kept| Step::Crash { kept, free }));
    }
}
