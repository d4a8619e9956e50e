//! Retry delays with jitter from the core's own seeded generator.

use core::time::Duration;

use crate::config::Backoff;

/// SplitMix64 (Steele, Lea, Flood 2014): enough for jitter, and the same in every language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The delay before the retry after `attempts` failed ones: between half of it and all of it.
    pub(crate) fn delay(&mut self, backoff: Backoff, attempts: u32) -> Duration {
        let initial = u64::try_from(backoff.initial.as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
        let max = u64::try_from(backoff.max.as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
        let full = initial
            .saturating_mul(1 << attempts.saturating_sub(1).min(30))
            .min(max);
        Duration::from_micros(full - self.next() % (full / 2 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap_and_stay_within_half() {
        let backoff = Backoff {
            initial: Duration::from_millis(20),
            max: Duration::from_millis(100),
        };
        let mut jitter = Jitter::new(7);
        for (attempts, full_ms) in [(0, 20), (1, 20), (2, 40), (3, 80), (4, 100), (400, 100)] {
            let full = Duration::from_millis(full_ms);
            for _ in 0..100 {
                let delay = jitter.delay(backoff, attempts);
                assert!(delay <= full && delay >= full / 2, "{attempts}: {delay:?}");
            }
        }
    }
}
