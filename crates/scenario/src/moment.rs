//! A point on the scenario's time line.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Microseconds since the scenario's origin; negative before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(i64);

impl Moment {
    /// The scenario's `t = 0`.
    pub const ORIGIN: Self = Self(0);

    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Seconds since the origin. Exact to the microsecond for a century around it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a century in µs fits 53 bits")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Duration> for Moment {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

/// A span in microseconds, held at the end of the time line when it is longer.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
