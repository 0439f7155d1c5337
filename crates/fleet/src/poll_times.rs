//! Durations of polls, counted by length.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::counters::{Counters, Key, TickStamp};
use crate::family::Counter;

/// Bounds in seconds: a poll of a quiet host takes less than a millisecond, a card that hangs some
/// seconds.
pub const BOUNDS: [&str; 10] =
    ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "+Inf"];
const BOUND_MICROS: [i64; 10] =
    [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, i64::MAX];

/// Durations of polls since the program started. Whoever polls adds to it.
#[derive(Debug, Default)]
pub struct PollTimes(Mutex<PollSums>);

/// Polls within each bound, and the sum of their durations in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PollSums {
    within: [i64; BOUNDS.len()],
    micros: i64,
}

impl PollTimes {
    pub fn add(&self, duration: Duration) {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, bound) in sums.within.iter_mut().zip(BOUND_MICROS) {
            *count += i64::from(micros <= bound);
        }
        sums.micros = sums.micros.saturating_add(micros);
    }

    pub(crate) fn sums(&self) -> PollSums {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PollSums {
    /// Counts what was added since `before`.
    pub fn count(self, before: Self, counters: &mut Counters, stamp: TickStamp) {
        for ((bound, now), before) in BOUNDS.into_iter().zip(self.within).zip(before.within) {
            counters.add(Key::host(Counter::PollBucket, bound), now - before, stamp);
        }
        counters.add(Key::host(Counter::PollSum, ""), self.micros - before.micros, stamp);
    }
}
