//! Where a history's choices come from: a tape of numbers, so that a failing history can be shrunk.

/// A tape of choices; past its end every choice is the first, the harmless one.
pub struct Source {
    tape: Vec<u16>,
    at: usize,
}

impl Source {
    /// Reads this tape.
    pub fn new(tape: Vec<u16>) -> Self {
        Self { tape, at: 0 }
    }

    /// A number below `count`.
    pub fn pick(&mut self, count: usize) -> usize {
        let value = self.tape.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(value) % count.max(1)
    }

    /// The tape is used up.
    pub fn is_spent(&self) -> bool {
        self.at >= self.tape.len()
    }
}

/// A tape of this length from a seed (SplitMix64).
pub fn tape(seed: u64, length: usize) -> Vec<u16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..length).map(|_| next() as u16).collect()
}
