//! Requests under way in the network, after their senders have stopped waiting for them.

use super::engine::Engine;
use super::state::{Local, Message, Scene};
use super::world::World;
use crate::model::broker::Call;
use crate::violation::Violation;

impl Engine {
    /// Puts a message into the network.
    pub fn post(&mut self, scene: &mut Scene, message: u32) {
        let place = scene.network.partition_point(|other| *other < message);
        scene.network.insert(place, message);
    }

    pub fn message(&mut self, to: usize, call: Call) -> u32 {
        self.parts.messages.number(Message { to, call }.into())
    }

    /// A message of the network arrives; nobody waits for its answer.
    pub fn arrive(&mut self, scene: &mut Scene, place: usize) -> Result<(), Violation> {
        let message = scene.network.remove(place);
        self.execute(scene, message).map(|_| ())
    }

    /// Drops requests that can change nothing any more, whatever happens: the producer that sent them was
    /// replaced at its cluster, or has nothing open there and nobody is left who could open it again.
    pub fn forget_spent(&mut self, scene: &mut Scene) {
        let spent: Vec<usize> = (0..scene.network.len())
            .filter(|place| self.is_spent(scene, *place))
            .collect();
        for place in spent.into_iter().rev() {
            scene.network.remove(place);
        }
    }

    fn is_spent(&mut self, scene: &Scene, place: usize) -> bool {
        let message = self.parts.messages.value(scene.network[place]).clone();
        let broker = self.broker(scene, message.to);
        match &message.call {
            Call::Init { .. } => false,
            Call::Add { id, producer, .. }
            | Call::Write { id, producer, .. }
            | Call::Offsets { id, producer, .. } => broker.producer(id) != Some(*producer),
            Call::End { id, producer, .. } => {
                let replaced = broker.producer(id) != Some(*producer);
                let idle = || !self.can_be_open(scene, (message.to, id));
                replaced || (idle() && self.changes_nothing(scene, place))
            }
        }
    }

    /// A request would be refused, or meet what it wants.
    fn changes_nothing(&mut self, scene: &Scene, place: usize) -> bool {
        let number = scene.network[place];
        let Message { to, call } = Message::clone(self.parts.messages.value(number));
        let before = scene.clusters[to];
        self.call(before, number, &call).0 == before
    }

    /// Something is open under an id, or may be opened by who lives or by a request in the network.
    fn can_be_open(&self, scene: &Scene, (p, id): (usize, &str)) -> bool {
        let open = self.broker(scene, p).open_tag(id).is_some();
        let by_slot = |local: &Local| local.instances.values().any(|i| *i.name == *id);
        let by_own = |local: &Local| {
            let own = local.app.owns.get(&p);
            let names = *World::own_name(p) == *id;
            names && own.is_some_and(|own| own.producer.producer_id >= 0)
        };
        let mut actors = scene.actors.iter();
        let living = actors.any(|actor| by_slot(&actor.local) || by_own(&actor.local));
        let coming = || {
            scene.network.iter().any(|number| {
                let message = self.parts.messages.value(*number);
                let adds = matches!(message.call, Call::Add { .. });
                adds && message.to == p && **message.call.id() == *id
            })
        };
        open || living || coming()
    }
}
