//! Doing a step.

use gtc_core::{AppendFailure, Incarnation, Record, Response, WaitReason};

use super::clusters::Sender;
use super::engine::{Engine, Input};
use super::judge;
use super::state::{Batch, Book, Local, Scene};
use super::step::{Step, Sync};
use super::writers::is_unsent;
use crate::violation::Violation;

impl Engine {
    /// Does a step.
    pub fn take_step(&mut self, scene: &mut Scene, step: Step) -> Result<(), Violation> {
        scene.left.faults -= u8::from(step.is_fault());
        match step {
            Step::Begin { who } => self.begin(scene, who)?,
            Step::Write { who, p, passage } => self.write(scene, (who, p), passage)?,
            Step::Ask { who, decision } => self.ask(scene, who, decision)?,
            Step::Initialise { who, p } => self.initialise_own(scene, (who, p))?,
            Step::Run { who, id, passage } => self.run(scene, (who, id), passage)?,
            Step::Answer { who, id } => {
                let answer = scene.actors[who].local.change().answers.remove(&id);
                if let Some(answer) = answer {
                    self.feed(scene, who, Input::Answer(id, answer))?;
                }
            }
            Step::Sync { who, how } => self.sync(scene, who, how)?,
            Step::Arrive { place } => self.arrive(scene, place)?,
            Step::Mark { p } => scene.clusters[p] = self.tick(scene.clusters[p]),
            Step::Sweep { who, free } => {
                scene.left.sweeps -= u8::from(!free);
                self.feed(scene, who, Input::Fire(WaitReason::Sweep))?;
            }
            Step::Deadline { who } => {
                scene.left.deadlines -= 1;
                self.feed(scene, who, Input::Fire(WaitReason::Deadline))?;
            }
            Step::Crash { kept, .. } => self.crash(scene, kept)?,
            Step::TakeOver { kept } => self.take_over(scene, kept)?,
            Step::Expire { p } => self.expire(scene, p),
        }
        self.bury(scene)?;
        self.forget_spent(scene);
        Ok(())
    }

    fn sync(&mut self, scene: &mut Scene, who: usize, how: Sync) -> Result<(), Violation> {
        if who > 0 {
            return self.answer_zombie(scene, who);
        }
        if how == Sync::Durable {
            let count = scene.actors[0].local.unsynced.len();
            self.make_durable(scene, count)?;
            for _ in 0..count {
                // What is appended meanwhile waits for the next sync.
                let batch = scene.actors[0].local.change().unsynced.remove(0);
                self.feed(scene, 0, Input::Answer(batch.id, Response::Appended))?;
            }
            return Ok(());
        }
        if how == (Sync::Unknown { kept: true }) {
            self.make_durable(scene, 1)?;
        }
        let failure = match how {
            Sync::Refused => AppendFailure::Refused("no room".into()),
            _ => AppendFailure::Unknown("no answer".into()),
        };
        let batch = scene.actors[0].local.change().unsynced.remove(0);
        let response = Response::AppendFailed(failure);
        self.feed(scene, 0, Input::Answer(batch.id, response))
            .map(|_| ())
    }

    /// The log tells a fenced owner what it took before the fence, and refuses the rest.
    fn answer_zombie(&mut self, scene: &mut Scene, who: usize) -> Result<(), Violation> {
        let batch = scene.actors[who].local.change().unsynced.remove(0);
        let response = if batch.kept {
            Response::Appended
        } else {
            Response::AppendFailed(AppendFailure::Fenced("another owner".into()))
        };
        self.feed(scene, who, Input::Answer(batch.id, response))
            .map(|_| ())
    }

    /// The first so many entries that the owner was not told about are durable.
    fn make_durable(&mut self, scene: &mut Scene, count: usize) -> Result<(), Violation> {
        let batches: Vec<Batch> = scene.actors[0].local.unsynced[..count].to_vec();
        if batches.is_empty() {
            return Ok(());
        }
        let brokers = self.brokers(scene);
        let book = scene.book.change();
        for batch in batches {
            apply(book, batch)?;
        }
        judge::after_write(book, &brokers)
    }

    /// The owner dies: what it had sent arrives at any later time or never.
    fn crash(&mut self, scene: &mut Scene, kept: usize) -> Result<(), Violation> {
        self.make_durable(scene, kept)?;
        let successor = self.start(scene.book.ledger.clone())?;
        self.lose(scene, 0);
        scene.actors[0] = successor;
        Ok(())
    }

    fn take_over(&mut self, scene: &mut Scene, kept: usize) -> Result<(), Violation> {
        self.make_durable(scene, kept)?;
        for batch in scene.actors[0]
            .local
            .change()
            .unsynced
            .iter_mut()
            .take(kept)
        {
            batch.kept = true;
        }
        scene.left.zombies -= 1;
        let successor = self.start(scene.book.ledger.clone())?;
        scene.actors.insert(0, successor);
        Ok(())
    }

    /// What a process had sent when it died stays in the network; its callers are told nothing any more.
    fn lose(&mut self, scene: &mut Scene, who: usize) {
        let local = Local::clone(&scene.actors[who].local);
        for action in local.outstanding.values() {
            if !Sender::of(action).changes() || is_unsent(&local, action) {
                continue;
            }
            let (to, call) = self.call_of(scene, who, action);
            // Whether a name exists that nothing is written under makes no difference.
            if !self.is_unwritten(to, call.id()) {
                let message = self.message(to, call);
                self.post(scene, message);
            }
        }
        for p in 0..scene.clusters.len() {
            if let Some(call) = self.add_call(scene, who, p) {
                let message = self.message(p, call);
                self.post(scene, message);
            }
        }
        // One that never started has no callers, and its successor the same incarnation.
        if local.app.started {
            lose_callers(scene.book.change(), local.incarnation);
        }
    }

    /// Zombies that stopped are gone.
    fn bury(&mut self, scene: &mut Scene) -> Result<(), Violation> {
        let mut who = scene.actors.len();
        while who > 1 {
            who -= 1;
            if scene.actors[who].local.stopped {
                told_before_they_stop(scene, who)?;
                self.lose(scene, who);
                scene.actors.remove(who);
            }
        }
        told_before_they_stop(scene, 0)
    }
}

fn apply(book: &mut Book, batch: Batch) -> Result<(), Violation> {
    if batch.checkpoint {
        book.ledger = gtc_core::Ledger::new();
    }
    for record in &*batch.records {
        let again = Record::decode(&record.encode());
        let record = again.map_err(broken_record)?;
        book.ledger.apply(record).map_err(broken_record)?;
    }
    Ok(())
}

fn broken_record(error: gtc_core::RecordError) -> Violation {
    Violation {
        invariant: "records-apply",
        detail: error.to_string(),
    }
}

fn told_before_they_stop(scene: &Scene, who: usize) -> Result<(), Violation> {
    let local = &scene.actors[who].local;
    if local.stopped && local.app.started {
        judge::stopped(&scene.book, local.incarnation)?;
    }
    Ok(())
}

fn lose_callers(book: &mut Book, incarnation: Incarnation) {
    for (id, account) in &mut book.accounts {
        if id.incarnation == incarnation {
            account.live = false;
        }
    }
}
