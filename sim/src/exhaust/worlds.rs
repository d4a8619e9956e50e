//! The worlds that are searched by name.

use gtc_core::VersionClass;

use super::world::{World, Writers};

const SLOT: Writers = Writers::Slot;
const OWN_V1: Writers = Writers::Own(VersionClass::V1);
const OWN_V2: Writers = Writers::Own(VersionClass::V2);

/// The names of all worlds.
#[must_use]
pub fn names() -> Vec<String> {
    all().into_iter().map(|world| world.name).collect()
}

/// The world of this name.
#[must_use]
pub fn named(name: &str) -> Option<World> {
    all().into_iter().find(|world| world.name == name)
}

fn all() -> Vec<World> {
    vec![
        World::new("v1", &[SLOT, SLOT]).with_faults(2),
        World::new("v2", &[OWN_V2, OWN_V2]).with_faults(2),
        World::new("v1-three", &[SLOT, SLOT, SLOT]),
        World::new("v2-three", &[OWN_V2, OWN_V2, OWN_V2]),
        World::new("v1-v2", &[SLOT, OWN_V2]),
        own_v1(),
    ]
}

/// What an own v1 producer's client repeats unseen, nobody can wait for: see docs/guarantees.md.
fn own_v1() -> World {
    let mut world = World::new("own-v1", &[OWN_V1, OWN_V1]);
    world.kinds.repeat = false;
    world
}
