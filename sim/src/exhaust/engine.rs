//! Steps of the real core, each computed once for each of its states, and what its outputs lead to.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use gtc_core::{
    Action, ActionId, Config, Coordinator, Event, Ledger, Output, Record, Request, Response,
    WaitReason,
};
use hashbrown::HashMap;

use super::intern::Held;
use super::judge;
use super::state::{Actor, Batch, Local, Parts, Scene};
use super::world::{NOW, World};
use crate::model::broker::Reply;
use crate::violation::Violation;

/// What is handed to a core.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    Request(Request),
    Answer(ActionId, Response),
    /// Timers of one kind.
    Fire(WaitReason),
}

/// What a core did with an input.
pub struct Stepped {
    /// The core afterwards.
    core: u32,
    accepted: bool,
    begun: Option<gtc_core::TransactionId>,
    actions: Vec<(ActionId, Action)>,
    batches: Vec<Batch>,
    events: Vec<Event>,
    /// The new numbers of the actions under way.
    numbers: BTreeMap<ActionId, ActionId>,
    due: BTreeSet<WaitReason>,
}

/// Everything that a search needs to compute successors.
pub struct Engine {
    pub world: World,
    pub config: Config,
    pub parts: Parts,
    pub(super) stepped: HashMap<(u32, Input), Rc<Stepped>>,
    pub(super) called: HashMap<(u32, u32), (u32, Reply)>,
    pub(super) ticked: HashMap<u32, u32>,
    pub(super) due: HashMap<u32, BTreeSet<WaitReason>>,
}

thread_local! {
    /// A panic of the core is a finding: it is caught, and not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that are caught here from being printed.
pub fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
}

/// Runs the core; a panic in it is a violation.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Violation> {
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    result.map_err(Violation::from_unwind)
}

impl Engine {
    pub fn new(world: World) -> Self {
        quiet_panics();
        Self {
            config: world.config(),
            world,
            parts: Parts::default(),
            stepped: HashMap::new(),
            called: HashMap::new(),
            ticked: HashMap::new(),
            due: HashMap::new(),
        }
    }

    /// A process that starts on what a log holds.
    pub fn start(&mut self, ledger: Ledger) -> Result<Actor, Violation> {
        let (start, config) = (self.world.start.clone(), self.config.clone());
        let core = guarded(|| start(config, ledger, NOW))?;
        let incarnation = core.incarnation();
        let stepped = self.drain(core, (true, None))?;
        let mut actor = Actor {
            core: stepped.core,
            local: Held::new(Local {
                incarnation,
                ..Local::default()
            }),
        };
        take(&mut actor, &stepped);
        Ok(actor)
    }

    /// Hands an input to the core of a process, and does what follows at once. Whether it was accepted.
    pub fn feed(
        &mut self,
        scene: &mut Scene,
        who: usize,
        input: Input,
    ) -> Result<Option<Option<gtc_core::TransactionId>>, Violation> {
        let stepped = self.step(scene.actors[who].core, input)?;
        let answer = stepped.accepted.then_some(stepped.begun);
        self.follow(scene, who, &stepped)?;
        // A retry only sets an action going, which takes any time anyway: its timer need not.
        let mut due = stepped.due.clone();
        while let Some(reason) = due.iter().copied().find(|reason| is_retry(*reason)) {
            let stepped = self.step(scene.actors[who].core, Input::Fire(reason))?;
            self.follow(scene, who, &stepped)?;
            due.clone_from(&stepped.due);
        }
        let core = scene.actors[who].core;
        self.due.entry(core).or_insert(due);
        Ok(answer)
    }

    fn follow(
        &mut self,
        scene: &mut Scene,
        who: usize,
        stepped: &Stepped,
    ) -> Result<(), Violation> {
        take(&mut scene.actors[who], stepped);
        for event in &stepped.events {
            self.hear(scene, who, event)?;
        }
        Ok(())
    }

    /// What the timers of a core are about.
    pub fn due(&self, core: u32) -> &BTreeSet<WaitReason> {
        static NONE: BTreeSet<WaitReason> = BTreeSet::new();
        self.due.get(&core).unwrap_or(&NONE)
    }

    fn step(&mut self, core: u32, input: Input) -> Result<Rc<Stepped>, Violation> {
        let key = (core, input);
        if let Some(stepped) = self.stepped.get(&key) {
            return Ok(stepped.clone());
        }
        let mut coordinator = self.parts.cores.value(core);
        let (coordinator, answer) = guarded(|| {
            let answer = match key.1.clone() {
                Input::Request(request) => match coordinator.handle_request(request, NOW) {
                    Ok(gtc_core::Accepted::Begun(id)) => (true, Some(id)),
                    accepted => (accepted.is_ok(), None),
                },
                Input::Answer(id, response) => {
                    coordinator.handle_response(id, response, NOW);
                    (true, None)
                }
                Input::Fire(reason) => {
                    coordinator.fire(reason, NOW);
                    (true, None)
                }
            };
            (coordinator, answer)
        })?;
        let stepped = Rc::new(self.drain(coordinator, answer)?);
        self.stepped.insert(key, stepped.clone());
        Ok(stepped)
    }

    /// Step, then drain; then what can no longer be told apart is made equal.
    fn drain(
        &mut self,
        mut core: Coordinator,
        (accepted, begun): (bool, Option<gtc_core::TransactionId>),
    ) -> Result<Stepped, Violation> {
        let mut stepped = Stepped {
            core: 0,
            accepted,
            begun,
            actions: Vec::new(),
            batches: Vec::new(),
            events: Vec::new(),
            numbers: BTreeMap::new(),
            due: BTreeSet::new(),
        };
        loop {
            match core.poll_output() {
                Output::Action(id, Action::Append { records, .. }) => {
                    stepped.batches.push(batch(id, records, false));
                }
                Output::Action(id, Action::Checkpoint { snapshot }) => {
                    stepped.batches.push(batch(id, snapshot.into(), true));
                }
                Output::Action(id, action) => stepped.actions.push((id, action)),
                Output::Event(event) => stepped.events.push(event),
                Output::Wait(..) => break,
            }
        }
        judge::core_is_valid(&core)?;
        stepped.numbers = core.level(NOW);
        stepped.due = core.due();
        stepped.core = self.parts.cores.number(core);
        Ok(stepped)
    }
}

const fn is_retry(reason: WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::BranchRetry | WaitReason::ParticipantRetry | WaitReason::LogRetry
    )
}

const fn batch(id: ActionId, records: Arc<[Record]>, checkpoint: bool) -> Batch {
    Batch {
        id,
        records,
        checkpoint,
        kept: false,
    }
}

/// The process holds what its core put out.
fn take(actor: &mut Actor, stepped: &Stepped) {
    actor.core = stepped.core;
    let same = stepped
        .numbers
        .iter()
        .all(|(before, after)| before == after);
    if same && stepped.actions.is_empty() && stepped.batches.is_empty() {
        return;
    }
    let local = actor.local.change();
    let number = |id: &ActionId| stepped.numbers.get(id).copied();
    // What the core does not wait for any more, it has stopped to.
    let outstanding = std::mem::take(&mut local.outstanding).into_iter();
    let outstanding = outstanding.chain(stepped.actions.iter().cloned());
    local.outstanding = outstanding
        .map(|(id, action)| (number(&id).unwrap_or(id), action))
        .collect();
    let answers = std::mem::take(&mut local.answers).into_iter();
    local.answers = answers
        .map(|(id, answer)| (number(&id).unwrap_or(id), answer))
        .collect();
    local.unsynced.extend(stepped.batches.iter().cloned());
    for batch in &mut local.unsynced {
        batch.id = number(&batch.id).unwrap_or(batch.id);
    }
}
