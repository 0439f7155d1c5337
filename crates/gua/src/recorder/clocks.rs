//! What the host's clocks show.

use std::time::{Duration, SystemTime};

use probe::units::UnixMillis;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::ledger::Clocks;

/// All three, as close together as can be.
pub(super) fn now() -> Clocks {
    Clocks {
        wall: UnixMillis::from(SystemTime::now()),
        since_boot: duration(clock_gettime(ClockId::Boottime)),
        awake: duration(clock_gettime(ClockId::Monotonic)),
    }
}

/// Neither clock runs before boot, so neither is negative.
fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What tells one boot from another; empty where the host does not say.
#[must_use]
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}
