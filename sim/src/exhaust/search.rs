//! The search: breadth first, so that the trace of what it finds is a shortest one.

use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};

use super::engine::Engine;
use super::intern::Held;
use super::judge;
use super::packed::{Packed, Packing};
use super::state::{Book, Left, Scene, State};
use super::step::{Step, Steps};
use super::world::{World, Writers};
use crate::invariants::ac5_termination;
use crate::model::broker::Broker;
use crate::violation::Violation;

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Different states so far, without those that only one step leads on from.
    pub states: u64,
    /// Those of them whose successors are not known yet: a search whose number of these falls comes to its end.
    pub open: u64,
    /// How many states are on a shortest way to the one that it is at.
    pub depth: u32,
}

/// When a search gives up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many different states were found.
    pub states: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            states: 100_000_000,
        }
    }
}

/// What a search found.
#[derive(Debug)]
pub struct Report {
    /// Different states, without those that only one step leads on from.
    pub states: u64,
    /// Steps that were taken.
    pub transitions: u64,
    /// Different states of the real core among them.
    pub cores: u64,
    /// Different ends: what clusters and logs hold, and what was told, once nothing is under way.
    pub ends: u64,
    /// How many states are on the longest of all shortest ways to one.
    pub depth: u32,
    /// The most memory that the process held, in bytes; 0 where the system does not tell.
    pub memory: u64,
    /// How long it took.
    pub took: Duration,
    /// Everything was visited: no limit was reached.
    pub complete: bool,
    /// An invariant that does not hold.
    pub violation: Option<Found>,
}

/// An invariant that does not hold, and a shortest way there.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name, as docs/simulation.md lists it.
    pub invariant: &'static str,
    /// What was seen instead.
    pub detail: String,
    /// The steps, one a line, in words.
    pub trace: Vec<String>,
}

/// The successor in a world without faults: none yet, or none needed.
const UNKNOWN: u32 = u32::MAX;
const ENDED: u32 = u32::MAX - 1;

/// A state that leads to a violation, by the step that shows it.
struct Broken {
    state: u32,
    step: Option<Step>,
    violation: Violation,
}

/// Visits every state of a world, and judges each.
///
/// `progress` is told now and then how far it is.
pub fn search(world: &World, limits: Limits, progress: impl FnMut(Progress)) -> Report {
    let began = Instant::now();
    let mut search = Search::new(world.clone());
    let result = search.run(limits, progress);
    let (complete, broken) = match result {
        Ok(complete) => (complete, None),
        Err(broken) => (false, Some(*broken)),
    };
    let violation = broken.map(|broken| search.found(broken));
    Report {
        states: search.states.len() as u64,
        transitions: search.transitions,
        cores: search.engine.parts.cores.len() as u64,
        ends: search.ends.len() as u64,
        depth: search.depth,
        memory: peak_memory(),
        took: began.elapsed(),
        complete,
        violation,
    }
}

struct Search {
    engine: Engine,
    packing: Packing,
    states: Chunks<Packed>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// From which state each was found first.
    parents: Chunks<u32>,
    /// Where each goes on without faults.
    onward: Chunks<u32>,
    transitions: u64,
    /// The clusters and the book of each end.
    ends: HashSet<(u32, u32)>,
    depth: u32,
}

impl Search {
    fn new(world: World) -> Self {
        Self {
            engine: Engine::new(world),
            packing: Packing::default(),
            states: Chunks::default(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            parents: Chunks::default(),
            onward: Chunks::default(),
            transitions: 0,
            ends: HashSet::new(),
            depth: 0,
        }
    }

    fn run(
        &mut self,
        limits: Limits,
        mut progress: impl FnMut(Progress),
    ) -> Result<bool, Box<Broken>> {
        let first = self.engine.first().map_err(|violation| {
            Box::new(Broken {
                state: UNKNOWN,
                step: None,
                violation,
            })
        })?;
        self.visit(first, 0);
        let (mut next, mut level) = (0, 1);
        while next < self.states.len() {
            if next == level {
                self.depth += 1;
                level = self.states.len();
            }
            self.expand(next)?;
            next += 1;
            if next.is_multiple_of(100_000) {
                progress(self.progress(next));
            }
            if self.states.len() > limits.states as usize {
                return Ok(false);
            }
        }
        self.everything_ends()?;
        Ok(true)
    }

    fn progress(&self, next: usize) -> Progress {
        Progress {
            states: self.states.len() as u64,
            open: (self.states.len() - next) as u64,
            depth: self.depth,
        }
    }

    /// The number of a state, and notes from where it was found first.
    fn visit(&mut self, state: State, from: u32) -> u32 {
        let state = self.packing.pack(state);
        let hash = self.hasher.hash_one(state);
        let (states, hasher) = (&self.states, &self.hasher);
        let next = u32::try_from(states.len()).expect("the limit is below");
        let entry = self.numbers.entry(
            hash,
            |number| *states.get(*number as usize) == state,
            |number| hasher.hash_one(states.get(*number as usize)),
        );
        let number = *entry.or_insert(next).get();
        if number == next {
            self.states.push(state);
            self.parents.push(from);
            self.onward.push(UNKNOWN);
        }
        number
    }

    fn state(&self, number: u32) -> State {
        self.packing.unpack(*self.states.get(number as usize))
    }

    fn expand(&mut self, index: usize) -> Result<(), Box<Broken>> {
        let number = index as u32;
        let state = self.state(number);
        let scene = self.engine.parts.open(state);
        let steps = self.engine.steps(&scene);
        let broken = |step, violation| {
            Box::new(Broken {
                state: number,
                step,
                violation,
            })
        };
        if steps.ended {
            self.engine.judge_end(&scene).map_err(|v| broken(None, v))?;
            *self.onward.get_mut(index) = ENDED;
            self.ends.insert((state.clusters, state.book));
        }
        let healing = healing(&steps);
        for step in steps.all {
            let mut after = scene.clone();
            let transitions = &mut self.transitions;
            self.engine
                .go(&mut after, step, |_, _, _| *transitions += 1)
                .map_err(|violation| broken(Some(step), violation))?;
            let state = self.engine.parts.close(after);
            let found = self.visit(state, number);
            if healing == Some(step) && !steps.ended {
                *self.onward.get_mut(index) = found;
            }
        }
        Ok(())
    }

    /// From every state a way without faults leads to an end.
    fn everything_ends(&self) -> Result<(), Box<Broken>> {
        const GOOD: u8 = 1;
        const PASSED: u8 = 2;
        let mut marks = vec![0_u8; self.states.len()];
        for first in 0..self.states.len() {
            let mut at = first;
            while marks[at] == 0 {
                marks[at] = PASSED;
                match *self.onward.get(at) {
                    ENDED => marks[at] = GOOD,
                    UNKNOWN => return Err(self.endless(at, "nothing more happens")),
                    next => at = next as usize,
                }
            }
            if marks[at] == PASSED {
                return Err(self.endless(at, "the same happens again and again"));
            }
            let mut at = first;
            while marks[at] == PASSED {
                marks[at] = GOOD;
                at = *self.onward.get(at) as usize;
            }
        }
        Ok(())
    }

    fn endless(&self, at: usize, why: &str) -> Box<Broken> {
        Box::new(Broken {
            state: at as u32,
            step: None,
            violation: Violation {
                invariant: ac5_termination::NAME,
                detail: format!("without another fault {why}, and something is left open"),
            },
        })
    }

    /// The story of a violation.
    fn found(&mut self, broken: Broken) -> Found {
        let mut way = Vec::new();
        let mut at = broken.state;
        while at != UNKNOWN {
            way.push(at);
            let parent = *self.parents.get(at as usize);
            at = if at == 0 { UNKNOWN } else { parent };
        }
        way.reverse();
        let mut trace: Vec<String> = way
            .windows(2)
            .flat_map(|pair| self.lines(pair[0], pair[1]))
            .collect();
        if let Some(step) = broken.step {
            trace.extend(self.told(broken.state, step).0);
        }
        if broken.violation.invariant == ac5_termination::NAME {
            trace.extend(self.round(broken.state));
        }
        Found {
            invariant: broken.violation.invariant,
            detail: broken.violation.detail,
            trace,
        }
    }

    /// What happens again and again from a state that does not end.
    fn round(&mut self, from: u32) -> Vec<String> {
        let mut lines = vec!["from here on there is no fault, and this goes round:".to_string()];
        let mut at = from;
        loop {
            let next = *self.onward.get(at as usize);
            if next >= ENDED {
                return lines;
            }
            lines.extend(self.lines(at, next));
            at = next;
            if at == from {
                return lines;
            }
        }
    }

    /// The steps from one state to another, in words.
    fn lines(&mut self, from: u32, to: u32) -> Vec<String> {
        let (scene, wanted) = (self.engine.parts.open(self.state(from)), self.state(to));
        let mut steps = self.engine.steps(&scene).all.into_iter();
        let told = steps.find_map(|step| {
            let (lines, found) = self.told(from, step);
            (found == Some(wanted)).then_some(lines)
        });
        told.unwrap_or_else(|| vec!["something that cannot be repeated".into()])
    }

    /// A step and those that follow as the only ones, in words, and where they lead; `None` if to a violation.
    fn told(&mut self, from: u32, step: Step) -> (Vec<String>, Option<State>) {
        let mut scene = self.engine.parts.open(self.state(from));
        let mut lines = Vec::new();
        let told = |engine: &Engine, scene: &Scene, step| lines.push(engine.story(scene, step));
        let gone = self.engine.go(&mut scene, step, told);
        (lines, gone.ok().map(|()| self.engine.parts.close(scene)))
    }
}

impl Engine {
    /// The state in which a world begins: the coordinator has started, and nothing was done.
    fn first(&mut self) -> Result<State, Violation> {
        let owner = self.start(gtc_core::Ledger::new())?;
        let mut scene = Scene {
            actors: vec![owner],
            clusters: Vec::new(),
            book: Held::new(Book::default()),
            network: Vec::new(),
            left: Left {
                faults: 0,
                transactions: 0,
                sweeps: 0,
                deadlines: 0,
                zombies: 0,
            },
        };
        for writers in self.world.participants.clone() {
            let v2 = writers == Writers::Own(gtc_core::VersionClass::V2);
            let broker = Broker::new(if v2 { 2 } else { 1 }, 0, 0).with_numbers_by_name();
            let number = self.parts.brokers.number(broker.into());
            scene.clusters.push(number);
        }
        while let Some(step) = healing(&self.steps(&scene)) {
            self.take_step(&mut scene, step)?;
        }
        scene.left = Left {
            faults: self.world.faults,
            transactions: self.world.transactions,
            sweeps: self.world.sweeps,
            deadlines: self.world.deadlines,
            zombies: self.world.zombies,
        };
        Ok(self.parts.close(scene))
    }

    /// Nothing is under way any more, and nothing is left to do.
    fn judge_end(&self, scene: &Scene) -> Result<(), Violation> {
        let brokers = self.brokers(scene);
        let core = self.parts.cores.value(scene.actors[0].core);
        judge::judge(&scene.book, &brokers, |id| core.outcome(id))?;
        judge::work_goes_on(scene.left.transactions)?;
        if scene.left.faults == self.world.faults && self.world.deadlines == scene.left.deadlines {
            judge::judge_without_faults(&scene.book)?;
        }
        Ok(())
    }
}

/// What a world without faults does next.
fn healing(steps: &Steps) -> Option<Step> {
    let mut all = steps.all.iter().copied();
    all.find(|step| !step.is_fault() && !step.takes_time())
}

/// A long list that is never moved as it grows.
struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

const CHUNK: usize = 1 << 16;

impl<T> Chunks<T> {
    fn push(&mut self, value: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(value),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
    }

    fn len(&self) -> usize {
        let last = self.chunks.last();
        last.map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    fn get(&self, index: usize) -> &T {
        &self.chunks[index / CHUNK][index % CHUNK]
    }

    fn get_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index / CHUNK][index % CHUNK]
    }
}

/// The most memory that this process held so far, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
