//! The core's own time: it is passed in, never read.

use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// An instant of a monotonic clock that also runs in suspend, in microseconds since any origin.
///
/// Deadlines are kept in it (safety rule R14); on Linux the driver reads `CLOCK_BOOTTIME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Time(u64);

impl Time {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);

    /// The instant `micros` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the origin.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this instant is; zero if it is not after it.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

/// Both clocks at one moment: the monotonic one decides, the wall clock only dates records for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Now {
    /// The monotonic instant.
    #[cfg_attr(feature = "serde", serde(rename = "monotonic_us"))]
    pub monotonic: Time,
    /// Milliseconds since the Unix epoch.
    pub unix_ms: u64,
}
