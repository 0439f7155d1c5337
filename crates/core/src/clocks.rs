//! The host's clocks, and whether the wall clock was set.

use std::time::Duration;

use crate::units::UnixMillis;

/// The host's clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    pub wall: UnixMillis,
    /// Time since boot, including suspend.
    pub since_boot: Duration,
    /// Time since boot, excluding suspend.
    pub awake: Duration,
}

impl Clocks {
    /// Returns true if the wall clock was set since `earlier`: it advanced by another time than the
    /// clock since boot, which cannot be set.
    #[must_use]
    pub fn was_set_since(&self, earlier: &Self) -> bool {
        let by_wall = self.wall.0.saturating_sub(earlier.wall.0);
        let by_boot = millis(self.since_boot.saturating_sub(earlier.since_boot));
        by_wall.abs_diff(by_boot) > tolerance(by_boot)
    }

    /// Returns true if the machine slept since `earlier`.
    #[must_use]
    pub fn slept_since(&self, earlier: &Self) -> bool {
        let by_boot = millis(self.since_boot.saturating_sub(earlier.since_boot));
        let awake = millis(self.awake.saturating_sub(earlier.awake));
        by_boot.abs_diff(awake) > tolerance(by_boot)
    }

    /// Returns true if a time stamp, in microseconds, lies more than `slack` in the future.
    #[must_use]
    pub fn is_ahead(&self, stamp_micros: u64, slack: Duration) -> bool {
        stamp_micros > self.nearest(stamp_micros).saturating_add(micros(slack))
    }

    /// Returns the time, in microseconds, on the clock that a time stamp is nearest to.
    ///
    /// Drivers stamp samples with Unix time or with the time since boot, and do not say which.
    #[must_use]
    pub fn nearest(&self, stamp_micros: u64) -> u64 {
        let wall = Duration::from_millis(u64::try_from(self.wall.0).unwrap_or(0));
        let [wall, since_boot] = [wall, self.since_boot].map(micros);
        let is_on_wall = wall.abs_diff(stamp_micros) <= since_boot.abs_diff(stamp_micros);
        if is_on_wall { wall } else { since_boot }
    }
}

/// Returns how far two clocks may differ after this time, in milliseconds, before one of them counts
/// as set: a clock that is being corrected runs up to 0.05 % faster or slower, and reading both takes
/// a moment.
const fn tolerance(millis: i64) -> u64 {
    200 + millis.unsigned_abs() / 500
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const UNIX: Duration = Duration::from_secs(1_794_182_400);

    fn clocks(wall: Duration, since_boot: Duration) -> Clocks {
        Clocks { wall: UnixMillis(millis(wall)), since_boot, awake: since_boot }
    }

    /// Trap: the clock was set; a clock that is being corrected was not.
    #[test]
    fn clock_that_was_set_is_found_beyond_the_tolerated_drift() {
        let earlier = clocks(UNIX, HOUR);
        let second = Duration::from_secs(1);
        let later = |wall: Duration| clocks(wall, HOUR + second).was_set_since(&earlier);
        assert!(!later(UNIX + second));
        assert!(!later(UNIX + second + Duration::from_millis(150)));
        assert!(later(UNIX + second + Duration::from_millis(300)));
        assert!(later(UNIX - Duration::from_secs(600)));
        assert!(later(UNIX + Duration::from_secs(600)));
        assert!(later(UNIX));
        let much_later = |drift: Duration| {
            clocks(UNIX + 1000 * second + drift, HOUR + 1000 * second).was_set_since(&earlier)
        };
        assert!(!much_later(Duration::from_millis(2200)), "0.2 s and 0.2 %");
        assert!(much_later(Duration::from_millis(2201)));
    }

    /// Trap: the machine slept: two clocks since boot differ by more than a drift.
    #[test]
    fn sleep_of_the_machine_is_found_beyond_the_tolerated_drift() {
        let second = Duration::from_secs(1);
        let earlier = clocks(UNIX, HOUR);
        let slept = |passed: Duration, asleep: Duration| {
            let awake = HOUR + passed - asleep;
            Clocks { awake, ..clocks(UNIX + passed, HOUR + passed) }.slept_since(&earlier)
        };
        assert!(!slept(second, Duration::from_millis(202)));
        assert!(slept(second, Duration::from_millis(203)));
        assert!(!slept(1000 * second, Duration::from_millis(2200)));
        assert!(slept(1000 * second, Duration::from_millis(2201)));
    }

    #[test]
    fn a_stamp_is_judged_by_the_clock_that_it_is_nearer_to() {
        let now = clocks(UNIX, 5 * HOUR);
        let is_ahead = |stamp: Duration| now.is_ahead(micros(stamp), Duration::from_secs(10));
        for clock in [UNIX, 5 * HOUR] {
            assert!(is_ahead(clock + HOUR));
            assert!(is_ahead(clock + Duration::from_secs(11)));
            assert!(!is_ahead(clock + Duration::from_secs(9)));
            assert!(!is_ahead(clock - HOUR));
        }
        assert!(is_ahead(Duration::MAX));
    }
}
