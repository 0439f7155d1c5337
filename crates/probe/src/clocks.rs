//! Reads the host's clocks.

use std::time::{Duration, SystemTime};

pub use gua_core::Clocks;
use gua_core::units::UnixMillis;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Reads all three clocks, as close together as possible.
#[must_use]
pub fn now() -> Clocks {
    Clocks {
        wall: UnixMillis::from(SystemTime::now()),
        since_boot: duration(clock_gettime(ClockId::Boottime)),
        awake: duration(clock_gettime(ClockId::Monotonic)),
    }
}

/// Converts the time of a clock that starts at boot, which is never negative.
fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
