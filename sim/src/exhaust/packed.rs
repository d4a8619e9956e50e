//! States in twelve bytes each: what is beside the processes is paired, and the pairs are numbered in turn (recursive
//! indexing, as in the tree compression of LTSmin). There are few of these pairs, and each is kept once; of pairs of an
//! owner with its zombies there are about as many as states.

use hashbrown::HashMap;

use super::state::{Left, State};

/// A state, by the numbers of its processes and of all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed {
    owner: u32,
    zombies: u32,
    rest: u32,
}

/// The pairs that were seen.
#[derive(Default)]
pub struct Packing {
    rest: Pairs<(u32, u32)>,
    outside: Pairs<(u32, u32)>,
    past: Pairs<(u32, Left)>,
}

impl Packing {
    /// What stands for a state: equal for equal ones, and for no others.
    pub fn pack(&mut self, state: State) -> Packed {
        let outside = self.outside.number((state.clusters, state.network));
        let past = self.past.number((state.book, state.left));
        Packed {
            owner: state.owner,
            zombies: state.zombies,
            rest: self.rest.number((outside, past)),
        }
    }

    /// The state that it stands for.
    pub fn unpack(&self, packed: Packed) -> State {
        let (outside, past) = self.rest.pair(packed.rest);
        let (clusters, network) = self.outside.pair(outside);
        let (book, left) = self.past.pair(past);
        State {
            owner: packed.owner,
            zombies: packed.zombies,
            clusters,
            book,
            network,
            left,
        }
    }
}

/// Pairs of one kind, numbered in the order of their discovery.
struct Pairs<P> {
    numbers: HashMap<P, u32>,
    pairs: Vec<P>,
}

impl<P> Default for Pairs<P> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            pairs: Vec::new(),
        }
    }
}

impl<P: Copy + Eq + std::hash::Hash> Pairs<P> {
    fn number(&mut self, pair: P) -> u32 {
        let next = u32::try_from(self.pairs.len()).expect("fewer pairs than states");
        let number = *self.numbers.entry(pair).or_insert(next);
        if number == next {
            self.pairs.push(pair);
        }
        number
    }

    fn pair(&self, number: u32) -> P {
        self.pairs[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_only_equal_states_are_equal() {
        let mut packing = Packing::default();
        let mut all = Vec::new();
        for number in 0..64_u32 {
            let bit = |place: u32| number >> place & 1;
            all.push(State {
                owner: bit(0),
                zombies: bit(1),
                clusters: bit(2),
                book: bit(3),
                network: bit(4),
                left: Left {
                    faults: u8::try_from(bit(5)).unwrap(),
                    transactions: 2,
                    sweeps: 0,
                    deadlines: 0,
                    zombies: 1,
                },
            });
        }
        let packed: Vec<_> = all.iter().map(|state| packing.pack(*state)).collect();
        for (place, (state, found)) in all.iter().zip(&packed).enumerate() {
            assert_eq!(packing.unpack(*found), *state);
            assert_eq!(packing.pack(*state), *found);
            assert!(!packed[..place].contains(found));
        }
    }
}
