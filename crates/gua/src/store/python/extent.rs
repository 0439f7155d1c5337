//! The time in which a tick lies, and what of its count falls into which hour.

use std::collections::HashMap;

use probe::units::UnixMillis;

use crate::ledger::Period;

/// Longer than a tick lies anywhere, in milliseconds: whatever it counts for.
const LONGEST: i64 = 86_400_000;

/// Gives every tick a time of its own: none overlaps another, nor what is recorded already.
#[derive(Debug)]
pub(super) struct Extents {
    until: UnixMillis,
    last_of_run: HashMap<Option<i64>, UnixMillis>,
    /// In order, without overlaps.
    recorded: Vec<Period>,
    /// How many of those end before the last tick.
    passed: usize,
}

impl Extents {
    /// Beside what is recorded already, in order.
    pub fn new(recorded: Vec<Period>) -> Self {
        let until = UnixMillis(i64::MIN);
        Self { until, last_of_run: HashMap::new(), recorded, passed: 0 }
    }

    /// The time of the next tick. They come in the order of time.
    ///
    /// # Errors
    /// The recorded time in which the tick is.
    pub fn of(
        &mut self,
        at: UnixMillis,
        run: Option<i64>,
        interval: i64,
    ) -> Result<Period, Period> {
        while self.recorded.get(self.passed).is_some_and(|recorded| recorded.to < at) {
            self.passed += 1;
        }
        if let Some(recorded) = self.recorded.get(self.passed).filter(|next| next.from < at) {
            return Err(*recorded);
        }
        let passed = self.passed.checked_sub(1).and_then(|last| self.recorded.get(last));
        let free = passed.map_or(self.until, |passed| passed.to.max(self.until));
        let from = self.wanted(at, run, interval).max(free);
        // A second tick at the same time has its place right behind.
        let extent = Period::new(from, at.max(UnixMillis(from.0 + 1)));
        self.until = extent.to;
        self.last_of_run.insert(run, at);
        Ok(extent)
    }

    /// Since the last tick of its run, unless that is too long ago.
    fn wanted(&self, at: UnixMillis, run: Option<i64>, interval: i64) -> UnixMillis {
        let last = self.last_of_run.get(&run);
        let goes_on = |last: &&UnixMillis| at.0 - last.0 <= interval.saturating_mul(3) / 2;
        let from = last.filter(goes_on).map_or(at.0 - interval.min(LONGEST), |last| last.0);
        UnixMillis(from.max(at.0 - LONGEST))
    }
}

/// The parts of an extent between full hours, each with its share of the count.
pub(super) fn portions(extent: Period, count: i64) -> impl Iterator<Item = (Period, i64)> {
    let whole = i128::from(extent.millis());
    let mut told = 0;
    extent.by_hour().map(move |part| {
        let so_far = i128::from(count) * i128::from(part.to.0 - extent.from.0) / whole;
        let so_far = i64::try_from(so_far).unwrap_or(i64::MAX);
        let portion = so_far - told;
        told = so_far;
        (part, portion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::HOUR;
    use proptest::prelude::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    #[test]
    fn a_tick_lies_where_nothing_else_does() {
        let mut extents = Extents::new(vec![period(50_000, 80_000)]);
        let mut of = |at| extents.of(UnixMillis(at), None, 30_000);
        assert_eq!(of(10_000), Ok(period(-20_000, 10_000)));
        assert_eq!(of(41_000), Ok(period(10_000, 41_000)));
        assert_eq!(of(41_000), Ok(period(41_000, 41_001)));
        assert_eq!(of(50_000), Ok(period(41_001, 50_000)));
        assert_eq!(of(60_000), Err(period(50_000, 80_000)));
        assert_eq!(of(80_000), Err(period(50_000, 80_000)));
        assert_eq!(of(90_000), Ok(period(80_000, 90_000)));
        assert_eq!(of(200_000), Ok(period(170_000, 200_000)));
    }

    #[test]
    fn runs_side_by_side_share_the_time() {
        let mut extents = Extents::new(Vec::new());
        assert_eq!(extents.of(UnixMillis(0), Some(1), 100), Ok(period(-100, 0)));
        assert_eq!(extents.of(UnixMillis(40), Some(2), 100), Ok(period(0, 40)));
        assert_eq!(extents.of(UnixMillis(100), Some(1), 100), Ok(period(40, 100)));
    }

    proptest! {
        #[test]
        fn portions_add_up(from in -HOUR..HOUR, length in 1_i64..5 * HOUR, count in 1_i64..9 * HOUR) {
            let extent = period(from, from + length);
            let portions: Vec<_> = portions(extent, count).collect();
            prop_assert_eq!(portions.iter().map(|(_, count)| count).sum::<i64>(), count);
            prop_assert!(portions.iter().all(|(_, count)| *count >= 0));
        }
    }
}
