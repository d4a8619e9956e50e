//! The application of a process: it begins, writes, asks to commit, and hears.

use gtc_core::{
    BrokerState, CommitReturn, Decision, Event, Inquiry, Outcome, ParticipantId, ProducerIdentity,
    Request, Reuse, SlotId, TransactionId, VersionClass,
};

use super::engine::{Engine, Input};
use super::judge;
use super::state::{Open, Own, Scene, Stage, Told, Write};
use super::world::{World, Writers};
use crate::model::broker::{Broker, Call, writer_version};
use crate::violation::Violation;

impl Engine {
    /// The application begins a transaction and enlists every participant.
    pub fn begin(&mut self, scene: &mut Scene, who: usize) -> Result<(), Violation> {
        scene.left.transactions -= 1;
        let request = Request::Begin {
            key: None,
            timeout: None,
        };
        let Some(Some(id)) = self.feed(scene, who, Input::Request(request))? else {
            return Ok(());
        };
        let count = self.world.participants.len();
        scene.actors[who].local.change().app.open = Some(Open {
            id,
            writes: vec![Write::Waiting; count],
            asked: false,
        });
        scene.book.change().account(id).live = true;
        for p in 0..count {
            let request = self.enlistment(id, p);
            if self.feed(scene, who, Input::Request(request))?.is_none() {
                written(scene, (who, id), p, Write::Refused);
            }
        }
        Ok(())
    }

    fn enlistment(&self, transaction: TransactionId, p: usize) -> Request {
        let participant = ParticipantId(p as u16);
        match self.world.participants[p] {
            Writers::Slot => Request::Enlist {
                transaction,
                participant,
            },
            Writers::Own(version_class) => Request::EnlistOwn {
                transaction,
                participant,
                transactional_id: World::own_name(p),
                version_class,
                producer: None,
            },
        }
    }

    /// It asks to commit or to abort what it has open.
    pub fn ask(
        &mut self,
        scene: &mut Scene,
        who: usize,
        decision: Decision,
    ) -> Result<(), Violation> {
        let Some(open) = &mut scene.actors[who].local.change().app.open else {
            return Ok(());
        };
        open.asked = true;
        let transaction = open.id;
        let request = match decision {
            Decision::Commit => Request::Commit {
                transaction,
                report: CommitReturn::Acknowledged,
            },
            Decision::Abort => Request::Abort {
                transaction,
                reason: "the application".into(),
            },
        };
        if decision == Decision::Commit {
            scene.book.change().account(transaction).commit_asked = true;
        }
        self.feed(scene, who, Input::Request(request)).map(|_| ())
    }

    /// What a core tells.
    pub fn hear(&mut self, scene: &mut Scene, who: usize, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started => self.core_started(scene, who)?,
            Event::Recovered => judge::recovered(scene, &self.brokers(scene))?,
            Event::Enlisted {
                transaction,
                participant,
                slot,
                ..
            } => enlisted(
                scene,
                (who, *transaction),
                usize::from(participant.0),
                *slot,
            ),
            Event::EnlistRefused {
                transaction,
                participant,
                ..
            } => {
                let p = usize::from(participant.0);
                if let Some(own) = scene.actors[who].local.change().app.owns.get_mut(&p)
                    && own.stage == Stage::Enlisted(*transaction)
                {
                    own.stage = Stage::Ready;
                }
                written(scene, (who, *transaction), p, Write::Refused);
            }
            Event::Ended {
                transaction,
                outcome,
            } => self.ended(scene, (who, *transaction), outcome)?,
            Event::OwnReleased {
                transaction,
                participant,
                reuse,
                ..
            } => {
                let p = usize::from(participant.0);
                self.own_released(scene, (who, *transaction), p, *reuse)?;
            }
            Event::Settled { participant, .. } => {
                let p = usize::from(participant.0);
                if let Some(own) = scene.actors[who].local.change().app.owns.get_mut(&p) {
                    own.stage = Stage::Settled;
                }
            }
            Event::Heuristic(id, branch) => {
                scene.book.change().account(*id).heuristic = true;
                judge::no_false_alarm(branch, *id, &self.brokers(scene))?;
            }
            Event::Stopped(reason) => {
                let broken_log = self.world.kinds.log;
                judge::stops_with_a_reason(reason, who > 0, broken_log)?;
                scene.actors[who].local.change().stopped = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// The application settles what it will use (R5).
    fn core_started(&mut self, scene: &mut Scene, who: usize) -> Result<(), Violation> {
        scene.actors[who].local.change().app.started = true;
        for p in 0..self.world.participants.len() {
            if self.world.participants[p] != Writers::Slot {
                self.settle(scene, who, p)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, scene: &mut Scene, who: usize, p: usize) -> Result<(), Violation> {
        let own = Own {
            stage: Stage::Settling,
            producer: ProducerIdentity {
                producer_id: -1,
                epoch: -1,
            },
            delivered: false,
        };
        scene.actors[who].local.change().app.owns.insert(p, own);
        let request = Request::Settle {
            participant: ParticipantId(p as u16),
            transactional_id: World::own_name(p),
        };
        self.feed(scene, who, Input::Request(request)).map(|_| ())
    }

    fn ended(
        &mut self,
        scene: &mut Scene,
        (who, id): (usize, TransactionId),
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        let app = &mut scene.actors[who].local.change().app;
        if app.open.as_ref().is_some_and(|open| open.id == id) {
            app.open = None;
        }
        let told = match outcome {
            Outcome::Committed => Told::Committed,
            Outcome::Aborted(_) => Told::Aborted,
            Outcome::InDoubt(_) => Told::InDoubt,
            _ => Told::Mixed,
        };
        let account = scene.book.change().account(id);
        let before = account.told.replace(told);
        let account = *account;
        judge::told(id, (before, account), &self.brokers(scene))
    }

    /// Its own commit or abort call returns at once, and tells a v2 client its next epoch.
    fn own_released(
        &mut self,
        scene: &mut Scene,
        (who, id): (usize, TransactionId),
        p: usize,
        reuse: Reuse,
    ) -> Result<(), Violation> {
        let name = World::own_name(p);
        let Some(own) = scene.actors[who].local.app.owns.get(&p).copied() else {
            return Ok(());
        };
        if own.stage != Stage::Enlisted(id) {
            return Ok(());
        }
        let Writers::Own(class) = self.world.participants[p] else {
            return Ok(());
        };
        if let Some(stray) = self.broker(scene, p).open_tag(&name).cloned()
            && self.broker(scene, p).producer(&name) == Some(own.producer)
        {
            let call = Call::End {
                id: name.clone(),
                producer: own.producer,
                version: writer_version(class),
                decision: Decision::Abort,
                intent: Some(stray),
            };
            let message = self.message(p, call);
            self.execute(scene, message)?;
        }
        let moved = next_identity(self.broker(scene, p), (&name, own.producer), class);
        match moved {
            Some(producer) if reuse == Reuse::Reuse => {
                let own = Own {
                    stage: Stage::Ready,
                    producer,
                    delivered: false,
                };
                scene.actors[who].local.change().app.owns.insert(p, own);
                Ok(())
            }
            _ => self.settle(scene, who, p),
        }
    }
}

/// With what an own producer goes on after its branch was ended, unless it is fenced.
fn next_identity(
    broker: &Broker,
    (name, before): (&str, ProducerIdentity),
    class: VersionClass,
) -> Option<ProducerIdentity> {
    let Inquiry::Described(found) = broker.describe(name) else {
        return None;
    };
    let moved = class == VersionClass::V2
        && found.state != BrokerState::Empty
        && found.producer.producer_id == before.producer_id
        && found.producer.epoch == before.epoch + 1;
    (moved || found.producer == before).then_some(found.producer)
}

fn enlisted(scene: &mut Scene, (who, id): (usize, TransactionId), p: usize, slot: Option<SlotId>) {
    let local = scene.actors[who].local.change();
    if let Some(slot) = slot
        && let Some(instance) = local.instances.get_mut(&(p, slot))
    {
        instance.lease = Some(id);
        instance.delivered = None;
    }
    if slot.is_none()
        && let Some(own) = local.app.owns.get_mut(&p)
    {
        own.stage = Stage::Enlisted(id);
        own.delivered = false;
    }
    written(scene, (who, id), p, Write::Sent(slot));
}

fn written(scene: &mut Scene, (who, id): (usize, TransactionId), p: usize, write: Write) {
    let local = scene.actors[who].local.change();
    let open = local.app.open.as_mut().filter(|open| open.id == id);
    if let Some(open) = open {
        open.writes[p] = write;
    }
}
