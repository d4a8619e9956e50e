//! Chance by a seed (splitmix64).

use std::time::Duration;

/// The same seed gives the same numbers.
pub(crate) struct Chance(u64);

impl Chance {
    /// A source for one lane of one life.
    pub(crate) fn new(seed: u64, (name, life, lane): (&str, u32, u32)) -> Self {
        let name = name.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
        let mut chance = Self(seed ^ (name << 40) ^ (u64::from(life) << 8) ^ u64::from(lane));
        chance.below(2);
        chance
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// True `percent` times of a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A time below this one.
    pub(crate) fn time(&mut self, below_ms: u64) -> Duration {
        Duration::from_millis(self.below(below_ms.max(1)))
    }
}
