//! Wall time of what is classified on the boot clock.

use crate::units::UnixMillis;

use super::activity::{Micros, Stretch};

/// Spans do not cross the quarter hours of UTC, in milliseconds.
const QUARTER_HOUR: i64 = 900_000;

/// Maps the boot clock to wall time, by the polls.
#[derive(Debug, Default)]
pub(super) struct WallClock {
    polls: Vec<(Micros, i64)>,
}

impl WallClock {
    pub fn add(&mut self, at: Micros, wall: UnixMillis) {
        self.polls.push((at, wall.0.saturating_mul(1000)));
    }

    /// Returns the wall time of a time since boot. Time between two polls is interpolated.
    pub fn at(&self, at: Micros) -> UnixMillis {
        let after = self.polls.partition_point(|(poll, _)| *poll < at);
        let micros =
            match (after.checked_sub(1).map(|before| self.polls[before]), self.polls.get(after)) {
                (Some((from, wall)), Some((to, later))) => {
                    let part =
                        i128::from(at - from) * i128::from(later - wall) / i128::from(to - from);
                    wall + i64::try_from(part).unwrap_or(0)
                }
                (None, Some((poll, wall))) => wall - (poll - at),
                (Some((poll, wall)), None) => wall + (at - poll),
                (None, None) => at,
            };
        UnixMillis((micros + 500).div_euclid(1000))
    }

    /// Splits a time at the quarter hours of wall time. Says of each part whether it begins at one.
    pub fn by_quarter_hour(&self, time: Stretch) -> Vec<(Stretch, bool)> {
        let quarter = |at: Micros| self.at(at).0.div_euclid(QUARTER_HOUR);
        let begins_at = |at: Micros| self.at(at).0.rem_euclid(QUARTER_HOUR) == 0;
        let mut parts = Vec::with_capacity(1);
        let mut rest = time;
        while quarter(rest.from) < quarter(rest.to) {
            let next = (quarter(rest.from) + 1) * QUARTER_HOUR;
            let cut = self.reaching(next, rest);
            if cut >= rest.to {
                break;
            }
            parts.push((Stretch { from: rest.from, to: cut }, begins_at(rest.from)));
            rest.from = cut;
        }
        parts.push((rest, begins_at(rest.from)));
        parts
    }

    /// Returns the first time at which the wall clock shows `millis`, by bisection.
    fn reaching(&self, millis: i64, within: Stretch) -> Micros {
        let Stretch { from: mut low, to: mut high } = within;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle).0 < millis { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub fn forget_before(&mut self, time: Micros) {
        let count = self.polls.partition_point(|(at, _)| *at < time).saturating_sub(1);
        if count > 64 {
            self.polls.drain(..count);
        }
    }
}
