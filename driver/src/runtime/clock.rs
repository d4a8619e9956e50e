//! The clock that the core is told.

use std::time::{SystemTime, UNIX_EPOCH};

use gtc_core::{Now, Time};
use rustix::time::{ClockId, clock_gettime};

/// Both clocks. The monotonic one runs in suspend too, so that a promise is not stretched (R14).
pub(crate) fn now() -> Now {
    let since_boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(since_boot.tv_sec).unwrap_or(0);
    let micros = u64::try_from(since_boot.tv_nsec / 1000).unwrap_or(0);
    let unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Now {
        monotonic: Time::from_micros(seconds * 1_000_000 + micros),
        unix_ms: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX),
    }
}
