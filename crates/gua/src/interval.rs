//! When to look again.

use std::time::{Duration, Instant};

/// An interval that does not drift, and does not catch up after a pause.
#[derive(Debug)]
pub struct Interval {
    every: Duration,
    due: Instant,
}

impl Interval {
    #[must_use]
    pub const fn new(every: Duration, now: Instant) -> Self {
        Self { every, due: now }
    }

    /// Returns the time until the next look is due.
    pub fn until_next(&mut self, now: Instant) -> Duration {
        self.due = next(self.due, now, self.every);
        self.due.saturating_duration_since(now)
    }
}

/// Returns when the next look is due: in step with the one before or, if that has passed, a whole
/// interval from now.
fn next(previous: Instant, now: Instant, every: Duration) -> Instant {
    let in_step = previous + every;
    if in_step > now { in_step } else { now + every }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_keeps_its_step_and_does_not_catch_up() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let next = |previous, now| next(at(previous), at(now), Duration::from_secs(1));
        assert_eq!(next(0, 0), at(1_000));
        assert_eq!(next(0, 300), at(1_000), "a look takes nothing from the interval");
        assert_eq!(next(0, 1_000), at(2_000));
        assert_eq!(next(0, 5_700), at(6_700), "one look after a pause, not five");
        assert_eq!(next(6_700, 6_800), at(7_700));
    }
}
