//! How long ticks took, counted by length.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The bounds in seconds: a look at a quiet host takes less than a millisecond, a card that
/// hangs is waited for for seconds.
pub(super) const BOUNDS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// How many were within each bound and above the one before.
    within: [u64; BOUNDS.len()],
    count: u64,
    sum_micros: u64,
}

impl Histogram {
    pub fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        if let Some(place) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.within[place] += 1;
        }
        self.count += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros = self.sum_micros.saturating_add(micros);
    }

    /// How many took no longer than each bound.
    pub fn up_to(&self) -> impl Iterator<Item = (f64, u64)> {
        BOUNDS.into_iter().zip(self.within).scan(0, |sum, (bound, count)| {
            *sum += count;
            Some((bound, *sum))
        })
    }

    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub const fn sum_micros(&self) -> u64 {
        self.sum_micros
    }
}
