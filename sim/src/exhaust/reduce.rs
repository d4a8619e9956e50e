//! Steps that are taken before all others, because their order makes no difference.

use gtc_core::{Action, ActionId};

use super::clusters::{Passage, is_private};
use super::engine::Engine;
use super::state::Scene;
use super::step::{Step, Sync};

impl Engine {
    /// A step of the owner that nothing else can disturb, if there is one: the order in which such a step and the
    /// steps of others happen makes no difference, so it is taken first. It is on a name that only the owner can
    /// reach, and nobody else who lists would be surprised by: so there is no zombie.
    ///
    /// To initialise a name that the log knows leaves no trace for a successor, and a vote leaves none when its owner
    /// dies. But a zombie could initialise the name after its successor has listed the cluster, and be told another
    /// vote after its successor has ended the branch: so both wait where one may still come. All else that the owner
    /// does on such a name, or in the log, a crash would tell from what it did not do.
    pub fn undisturbed(&self, scene: &Scene, steps: &mut Vec<Step>) {
        if scene.actors.len() > 1 {
            return;
        }
        let local = &scene.actors[0].local;
        let (last, kinds) = (scene.left.faults == 0, self.world.kinds);
        let held = last || !(kinds.zombie || kinds.expiry);
        let alone = |action: &Action| match action {
            Action::OpenSlot {
                participant,
                transactional_id,
                ..
            } => held && self.is_alone(scene, (usize::from(participant.0), transactional_id)),
            Action::Prepare {
                participant,
                transactional_id,
                ..
            } => held && self.is_alone(scene, (usize::from(participant.0), transactional_id)),
            Action::EndByWriter {
                participant, slot, ..
            } if last => {
                let p = usize::from(participant.0);
                let instance = local.instances.get(&(p, *slot));
                instance.is_some_and(|instance| {
                    let waits = self.broker(scene, p).is_ending(&instance.name);
                    !waits && self.is_alone(scene, (p, &instance.name))
                })
            }
            _ => false,
        };
        let mut outstanding = local.outstanding.iter();
        if let Some((id, _)) = outstanding.find(|(_, action)| alone(action)) {
            return self.runs(scene, (0, *id), steps);
        }
        if !last {
            return;
        }
        if !local.unsynced.is_empty() {
            let how = Sync::Durable;
            return steps.push(Step::Sync { who: 0, how });
        }
        let adds = (0..scene.clusters.len()).filter_map(|p| {
            let call = self.add_call(scene, 0, p)?;
            let marks = self.broker(scene, p).is_ending(call.id());
            (self.is_alone(scene, (p, call.id())) && !marks).then_some(p)
        });
        let passage = Passage::Arrives;
        steps.extend(adds.take(1).map(|p| Step::Write { who: 0, p, passage }));
    }

    /// No request in the network is for this name.
    fn is_alone(&self, scene: &Scene, (p, id): (usize, &str)) -> bool {
        !scene.network.iter().any(|number| {
            let message = self.parts.messages.value(*number);
            message.to == p && **message.call.id() == *id
        })
    }
}

/// Private actions come first, as nobody else can tell when they happen.
pub fn private_action(scene: &Scene) -> Option<(usize, ActionId)> {
    let actors = scene.actors.iter().enumerate();
    actors
        .filter_map(|(who, actor)| {
            let mut outstanding = actor.local.outstanding.iter();
            let private = outstanding.find(|(_, action)| is_private(action));
            private.map(|(id, _)| (who, *id))
        })
        .next()
}
