//! Who writes: managed producers, and the application with its own.

use std::sync::Arc;

use gtc_core::{
    Action, Decision, EndAnswer, PrepareReport, Response, SlotFailure, SlotId, TransactionId,
    VersionClass, WriteReport, Writer,
};

use super::clusters::{Passage, answer, condition};
use super::engine::Engine;
use super::state::{Instance, Local, Scene, Stage, Write};
use super::world::World;
use crate::model::broker::{Call, Reply, Tag, writer_version};
use crate::violation::Violation;

impl Engine {
    pub fn prepare(
        &self,
        scene: &Scene,
        (who, (transaction, p)): (usize, (TransactionId, usize)),
        (writer, id): (&Writer, &str),
        passage: Passage,
    ) -> Response {
        let local = &scene.actors[who].local;
        let (delivered, producer) = match writer {
            Writer::Slot(slot) => {
                let instance = local.instances.get(&(p, *slot));
                let leased = instance.filter(|i| i.lease == Some(transaction));
                let instance = leased.expect("model: a branch is prepared by who wrote it");
                (instance.delivered, Some(instance.producer))
            }
            Writer::Own(_) => (local.app.owns.get(&p).map(|own| own.delivered), None),
        };
        let writes = WriteReport {
            sent: delivered.map_or(0, |_| 1),
            delivered: u64::from(delivered == Some(true)),
            failed: u64::from(delivered == Some(false)),
            stated_delivered: producer.is_none() && delivered == Some(true),
            ..WriteReport::default()
        };
        let asked = delivered.is_some() || producer.is_none();
        Response::Prepared(PrepareReport {
            writes,
            writer: producer,
            inquiry: asked.then(|| self.inquire(scene, p, id, passage)),
            strayed: None,
        })
    }

    pub fn end_by_writer(
        &mut self,
        scene: &mut Scene,
        (who, key): (usize, (usize, SlotId)),
        action: &Action,
        passage: Passage,
    ) -> Result<EndAnswer, Violation> {
        let call = self.call_of(scene, who, action);
        let local = scene.actors[who].local.change();
        let Some(instance) = local.instances.get_mut(&key) else {
            return Ok(EndAnswer::NotSent("it is closed".into()));
        };
        if instance.is_unused() {
            return Ok(EndAnswer::Acknowledged);
        }
        instance.suspicious |= passage != Passage::Arrives;
        let reply = self.send(scene, call, passage)?;
        Ok(answer(reply))
    }

    /// The application writes its record of a branch.
    pub fn write(
        &mut self,
        scene: &mut Scene,
        (who, p): (usize, usize),
        passage: Passage,
    ) -> Result<(), Violation> {
        let Some(call) = self.add_call(scene, who, p) else {
            return Ok(());
        };
        let reply = self.send(scene, (p, call), passage)?;
        let local = scene.actors[who].local.change();
        let Some(open) = &mut local.app.open else {
            return Ok(());
        };
        if let Write::Sent(Some(slot)) = open.writes[p]
            && let Some(instance) = local.instances.get_mut(&(p, slot))
        {
            instance.suspicious |= passage != Passage::Arrives;
        }
        if reply == Some(Reply::Code(51)) {
            // The client repeats it until the markers of the transaction before are written.
            return Ok(());
        }
        let (id, delivered) = (open.id, matches!(reply, Some(Reply::Done(_))));
        note_write(local, p, delivered);
        if !delivered {
            scene.book.change().account(id).lost_write = true;
        }
        Ok(())
    }

    /// The request that opens a branch, if the application is about to send it.
    pub fn add_call(&self, scene: &Scene, who: usize, p: usize) -> Option<Call> {
        let local = &scene.actors[who].local;
        let open = local.app.open.as_ref()?;
        let Write::Sent(slot) = open.writes[p] else {
            return None;
        };
        let (id, producer) = match slot {
            Some(slot) => {
                let instance = local.instances.get(&(p, slot))?;
                (instance.name.clone(), instance.producer)
            }
            None => (World::own_name(p), local.app.owns.get(&p)?.producer),
        };
        let tag = Tag {
            transaction: open.id,
            participant: p,
            name: id.clone(),
            stray: false,
        };
        Some(Call::Add { id, producer, tag })
    }

    /// A restarted own producer initialises itself; its client repeats that until it is answered.
    pub fn initialise_own(
        &mut self,
        scene: &mut Scene,
        (who, p): (usize, usize),
    ) -> Result<(), Violation> {
        let call = Call::Init {
            id: World::own_name(p),
            timeout_ms: 65_000,
        };
        let message = self.message(p, call);
        let reply = self.execute(scene, message)?;
        if let Reply::Done(producer) = reply
            && let Some(own) = scene.actors[who].local.change().app.owns.get_mut(&p)
        {
            own.stage = Stage::Ready;
            own.producer = producer;
        }
        Ok(())
    }
}

/// The writer of a branch counts its delivery.
fn note_write(local: &mut Local, p: usize, delivered: bool) {
    let Some(open) = &mut local.app.open else {
        return;
    };
    let before = std::mem::replace(
        &mut open.writes[p],
        if delivered {
            Write::Delivered
        } else {
            Write::Failed
        },
    );
    if let Write::Sent(Some(slot)) = before {
        if let Some(instance) = local.instances.get_mut(&(p, slot)) {
            instance.delivered = Some(delivered);
        }
    } else if let Some(own) = local.app.owns.get_mut(&p) {
        own.delivered = delivered;
    }
}

pub fn opened(
    scene: &mut Scene,
    (who, key): (usize, (usize, SlotId)),
    (action, reply, passage): (&Action, Option<Reply>, Passage),
) -> Response {
    let Action::OpenSlot {
        transactional_id, ..
    } = action
    else {
        unreachable!("model: only an opened slot is opened");
    };
    let Some(Reply::Done(producer)) = reply else {
        return Response::SlotFailed(SlotFailure {
            timeout_above_ceiling: reply == Some(Reply::Code(50)),
            detail: "not initialised".into(),
        });
    };
    let clean = passage == Passage::Arrives;
    let instance = Instance {
        name: transactional_id.clone(),
        producer,
        suspicious: !clean,
        lease: None,
        delivered: None,
    };
    let instances = &mut scene.actors[who].local.change().instances;
    instances.insert(key, instance);
    Response::SlotOpened {
        producer,
        condition: condition(clean),
    }
}

pub fn end_call(
    instance: Option<&Instance>,
    (transaction, participant): (TransactionId, usize),
    decision: Decision,
) -> Call {
    let unknown = || Arc::from("closed");
    let id = instance.map_or_else(unknown, |instance| instance.name.clone());
    let nobody = gtc_core::ProducerIdentity {
        producer_id: -1,
        epoch: -1,
    };
    Call::End {
        id: id.clone(),
        producer: instance.map_or(nobody, |instance| instance.producer),
        version: writer_version(VersionClass::V1),
        decision,
        intent: Some(Tag {
            transaction,
            participant,
            name: id,
            stray: false,
        }),
    }
}
/// A producer that wrote nothing sends nothing to end it.
pub fn is_unsent(local: &Local, action: &Action) -> bool {
    let Action::EndByWriter {
        participant, slot, ..
    } = action
    else {
        return false;
    };
    let instance = local.instances.get(&(usize::from(participant.0), *slot));
    instance.is_none_or(Instance::is_unused)
}
