//! How long to wait before an aborted batch is read again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// A delay that doubles with each failure in a row.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The delay after one more failure.
    pub(crate) fn after_failure(&mut self) -> Duration {
        let delay = FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(LONGEST);
        self.failures += 1;
        delay
    }

    /// A success ends the row of failures.
    pub(crate) fn after_success(&mut self) {
        self.failures = 0;
    }

    /// Failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_limit_and_start_again_after_a_success() {
        let mut backoff = Backoff::default();
        let mut millis = || backoff.after_failure().as_millis();
        let delays: Vec<u128> = (0..9).map(|_| millis()).collect();
        assert_eq!(
            delays,
            [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
        );
        backoff.after_success();
        assert_eq!(backoff.after_failure(), FIRST);
    }
}
