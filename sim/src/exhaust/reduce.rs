//! Steps that are taken before all others, because their order makes no difference.

use gtc_core::{Action, ActionId, Incarnation, SlotName};

use super::clusters::{Passage, is_private};
use super::engine::Engine;
use super::state::{Actor, Local, Scene};
use super::step::{Step, Sync};
use super::world::{World, Writers};
use crate::model::broker::Call;

impl Engine {
    /// A step of the owner that nothing else can disturb, if there is one: the order in which such a step and the
    /// steps of others happen makes no difference, so it is taken first. It is on a name that only the owner can
    /// reach, and no zombie that may still list would be surprised by.
    ///
    /// A vote leaves no trace when its owner dies. But a zombie could be told another vote after its successor has ended
    /// the branch: so it waits where one may still come. All else that the owner does on such a name, or in the log, a
    /// crash would tell from what it did not do, if only by the name that exists. And where a zombie lives, it can make
    /// the end of one branch fail after that of another: which is recorded then, so that no end comes first.
    pub fn undisturbed(&self, scene: &Scene, steps: &mut Vec<Step>) {
        let local = &scene.actors[0].local;
        let (last, kinds) = (scene.left.faults == 0, self.world.kinds);
        let zombie = kinds.zombie && scene.left.zombies > 0;
        let held = last || !(zombie || kinds.expiry);
        let kept = held && !self.may_start(scene);
        let alone = |action: &Action| match action {
            Action::OpenSlot {
                participant,
                transactional_id,
                ..
            } => kept && self.is_alone(scene, (usize::from(participant.0), transactional_id)),
            Action::Prepare {
                participant,
                transactional_id,
                ..
            } => held && self.is_alone(scene, (usize::from(participant.0), transactional_id)),
            Action::EndByWriter {
                participant, slot, ..
            } if last && scene.actors.len() == 1 => {
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

    /// The steps of a zombie, if nothing that others do can make a difference to any of them, nor they to others: it
    /// takes them before all others do theirs.
    ///
    /// What its log answers was settled when the successor read it, and a request whose producer was replaced is
    /// refused the same way for ever. All of its steps have to be like that: it would choose another one otherwise.
    pub fn settled(&self, scene: &Scene, steps: &mut Vec<Step>) {
        for who in 1..scene.actors.len() {
            self.of_process(scene, who, steps);
            let settled = steps.iter().all(|step| self.is_settled(scene, who, step));
            if settled && !steps.is_empty() {
                return;
            }
            steps.clear();
        }
    }

    fn is_settled(&self, scene: &Scene, who: usize, step: &Step) -> bool {
        match step {
            Step::Answer { .. } | Step::Sync { .. } | Step::Ask { .. } => true,
            Step::Write { p, .. } => {
                let call = self.add_call(scene, who, *p);
                call.is_some_and(|call| self.is_refused(scene, *p, &call))
            }
            Step::Run { id, .. } => match &scene.actors[who].local.outstanding[id] {
                action @ (Action::EndByWriter { .. } | Action::EndTransaction { .. }) => {
                    let (p, call) = self.call_of(scene, who, action);
                    self.is_refused(scene, p, &call)
                }
                // A successor's probe stops it, whatever else it sees.
                Action::List { participant, .. } => {
                    let probed = self.probed(scene, usize::from(participant.0));
                    let own = scene.actors[who].local.incarnation;
                    probed.iter().any(|incarnation| *incarnation > own)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// A producer's request is refused now and for ever: its epoch is over, and it repeats nothing that was answered.
    fn is_refused(&self, scene: &Scene, p: usize, call: &Call) -> bool {
        let (Call::Add { id, producer, .. } | Call::End { id, producer, .. }) = call else {
            return false;
        };
        let broker = self.broker(scene, p);
        let over = broker.producer(id).is_some_and(|now| {
            now.producer_id != producer.producer_id || now.epoch > producer.epoch + 1
        });
        over && !broker.is_ending(id)
    }

    /// Private actions come first, as nobody else can tell when they happen.
    pub fn private_action(&self, scene: &Scene) -> Option<(usize, ActionId)> {
        let actors = scene.actors.iter().enumerate();
        actors
            .filter_map(|(who, actor)| {
                let mut outstanding = actor.local.outstanding.iter();
                let private = outstanding.find(|(_, action)| {
                    is_private(action) || self.is_settled_for(scene, who, action)
                });
                private.map(|(id, _)| (who, *id))
            })
            .next()
    }

    /// An action whose answer is the same whatever others do, and which makes none of theirs another. A start that
    /// followed would tell how far this one was.
    pub fn is_settled_for(&self, scene: &Scene, who: usize, action: &Action) -> bool {
        if !self.world.reduced || self.may_start(scene) {
            return false;
        }
        match action {
            Action::Fence {
                participant,
                transactional_id,
                ..
            }
            | Action::Inquire {
                participant,
                transactional_id,
            } => self.is_unwritten(usize::from(participant.0), transactional_id),
            Action::List { participant, .. } => {
                who == 0 && self.is_listed(scene, usize::from(participant.0))
            }
            _ => false,
        }
    }

    /// A fault may make another start.
    fn may_start(&self, scene: &Scene) -> bool {
        let kinds = self.world.kinds;
        scene.left.faults > 0 && (kinds.crash || (kinds.zombie && scene.left.zombies > 0))
    }

    /// What the owner looks for in a listing does not change any more.
    ///
    /// Before it has initialised its probe, it looks for names that its log never made: whoever lives only initialises
    /// names that the log has. Later it looks for what is open, which nothing ever is under such a name where the
    /// application's own producers write, and for names, of which only a zombie's probe may still come.
    fn is_listed(&self, scene: &Scene, p: usize) -> bool {
        let probed = self.probed(scene, p);
        let has_probed = |actor: &Actor| probed.contains(&actor.local.incarnation);
        let (ledger, participant) = (&scene.book.ledger, &self.config.participants[p].name);
        let may_probe = |zombie: &Actor| {
            !has_probed(zombie) && ledger.has_named(participant, zombie.local.incarnation)
        };
        let own = matches!(self.world.participants[p], Writers::Own(_));
        let looks = !has_probed(&scene.actors[0]);
        looks || (own && !scene.actors[1..].iter().any(may_probe))
    }

    /// Whose probe was initialised at a cluster.
    fn probed(&self, scene: &Scene, p: usize) -> Vec<Incarnation> {
        let listed = self
            .broker(scene, p)
            .list(&SlotName::coordinator_prefix("w"));
        listed
            .iter()
            .filter_map(|listed| SlotName::parse("w", &listed.transactional_id))
            .filter(|name| name.number == 0)
            .map(|name| name.incarnation)
            .collect()
    }

    /// No request in the network is for this name, and no zombie knows it or may find it in a listing: one that has
    /// started lists again only when nothing else happens any more.
    fn is_alone(&self, scene: &Scene, (p, id): (usize, &str)) -> bool {
        let own = *World::own_name(p) == *id;
        let mut zombies = scene.actors[1..].iter();
        let unseen = zombies.all(|zombie| !own && is_blind(&zombie.local, (p, id)));
        unseen
            && !scene.network.iter().any(|number| {
                let message = self.parts.messages.value(*number);
                message.to == p && **message.call.id() == *id
            })
    }
}

/// A process does nothing with a name, and asks for no names.
fn is_blind(local: &Local, (p, id): (usize, &str)) -> bool {
    let mut outstanding = local.outstanding.values();
    let made_later =
        SlotName::parse("w", id).is_some_and(|name| name.incarnation > local.incarnation);
    made_later
        && local.app.started
        && local.answers.is_empty()
        && !outstanding.any(|action| match action {
            Action::List { participant, .. } => usize::from(participant.0) == p,
            Action::OpenSlot {
                participant,
                transactional_id,
                ..
            }
            | Action::Fence {
                participant,
                transactional_id,
                ..
            }
            | Action::Inquire {
                participant,
                transactional_id,
                ..
            } => usize::from(participant.0) == p && **transactional_id == *id,
            Action::EndTransaction {
                participant,
                branch,
                ..
            } => usize::from(participant.0) == p && *branch.transactional_id == *id,
            _ => false,
        })
}
