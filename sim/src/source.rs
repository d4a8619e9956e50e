//! Where a history's choices come from: one stream of numbers for each step, so that a step can be left out
//! and all others choose as before.

/// The stream that the settings of a world are chosen from.
pub const SETTINGS: u64 = u64::MAX;

/// The choices of one history.
#[derive(Debug)]
pub struct Source {
    seed: u64,
    state: u64,
    silent: bool,
}

impl Source {
    /// The choices of this seed, beginning with the settings.
    pub fn new(seed: u64) -> Self {
        let mut source = Self {
            seed,
            state: 0,
            silent: false,
        };
        source.turn_to(SETTINGS);
        source
    }

    /// Goes on with the stream of this step.
    pub fn turn_to(&mut self, step: u64) {
        let mut state = self.seed;
        let spread = scramble(&mut state);
        self.state = spread ^ step.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }

    /// From now on every choice is the first, the harmless one.
    pub fn fall_silent(&mut self) {
        self.silent = true;
    }

    /// A number below `count`.
    pub fn pick(&mut self, count: usize) -> usize {
        if self.silent {
            return 0;
        }
        (scramble(&mut self.state) % count.max(1) as u64) as usize
    }

    /// Once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.pick(times) == times.saturating_sub(1) && !self.silent
    }
}

/// SplitMix64.
fn scramble(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
