//! The time in which a tick lies.

use std::collections::HashMap;

use gua_core::Period;
use gua_core::units::UnixMillis;

use crate::rows::QUARTER_HOUR;

/// Longest time in which a tick lies, whatever its interval, in milliseconds.
const LONGEST: i64 = 86_400_000;

/// Gives every tick a time of its own: no two overlap, nor do they overlap what is recorded already.
#[derive(Debug)]
pub(super) struct Timeline {
    until: i64,
    last_of_run: HashMap<Option<i64>, i64>,
    /// In order, without overlaps.
    recorded: Vec<Period>,
    /// Number of those that end before the last tick.
    passed: usize,
}

/// Time of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TickTime {
    /// Since the last tick of its run, or for an interval.
    pub period: Period,
    /// Its part in the quarter hour in which the tick counts, which is that of its end.
    pub row: Period,
    /// True if it goes on where the last tick of its run ended.
    pub goes_on: bool,
    /// True if it begins where the last tick of any run ended.
    pub is_adjacent: bool,
}

impl Timeline {
    /// Starts beside what is recorded already.
    pub fn new(recorded: Vec<Period>) -> Self {
        Self { until: i64::MIN, last_of_run: HashMap::new(), recorded, passed: 0 }
    }

    /// Returns the time of the next tick; ticks come in the order of time. Fails with the recorded time in
    /// which the tick is.
    pub fn add(
        &mut self,
        at: UnixMillis,
        run: Option<i64>,
        interval: i64,
    ) -> Result<TickTime, Period> {
        let at = at.0;
        while self.recorded.get(self.passed).is_some_and(|recorded| recorded.to.0 < at) {
            self.passed += 1;
        }
        let last = self.last_of_run.insert(run, at);
        let last = last.filter(|last| at - last <= interval.saturating_mul(3) / 2);
        let from = last.unwrap_or(at - interval.min(LONGEST)).max(at - LONGEST);
        let passed = self.passed.checked_sub(1).map(|place| self.recorded[place].to.0);
        let from = from.max(passed.unwrap_or(i64::MIN)).max(self.until);
        // A second tick at the same time has its place right behind.
        let row_from = from.max(at.div_euclid(QUARTER_HOUR) * QUARTER_HOUR);
        let to = at.max(row_from + 1);
        if let Some(recorded) = self.recorded.get(self.passed).filter(|it| it.from.0 < to) {
            return Err(*recorded);
        }
        let is_adjacent = from == std::mem::replace(&mut self.until, to);
        let period = |from| Period::new(UnixMillis(from), UnixMillis(to));
        let (period, row) = (period(from), period(row_from));
        Ok(TickTime { period, row, goes_on: last.is_some(), is_adjacent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    #[test]
    fn tick_lies_where_nothing_else_does() {
        let mut timeline = Timeline::new(vec![period(50_000, 80_000)]);
        let mut add =
            |at| timeline.add(UnixMillis(at), None, 30_000).map(|time| (time.period, time.goes_on));
        assert_eq!(add(10_000), Ok((period(-20_000, 10_000), false)));
        assert_eq!(add(41_000), Ok((period(10_000, 41_000), true)));
        assert_eq!(add(41_000), Ok((period(41_000, 41_001), true)));
        assert_eq!(add(50_000), Ok((period(41_001, 50_000), true)));
        assert_eq!(add(60_000), Err(period(50_000, 80_000)));
        assert_eq!(add(90_000), Ok((period(80_000, 90_000), true)));
        assert_eq!(add(200_000), Ok((period(170_000, 200_000), false)));
    }

    #[test]
    fn tick_counts_in_the_quarter_hour_of_its_time() {
        let mut timeline = Timeline::new(Vec::new());
        let mut add = |at| timeline.add(UnixMillis(at), None, 30_000).unwrap().row;
        assert_eq!(
            add(QUARTER_HOUR - 30_000),
            period(QUARTER_HOUR - 60_000, QUARTER_HOUR - 30_000)
        );
        assert_eq!(add(QUARTER_HOUR), period(QUARTER_HOUR, QUARTER_HOUR + 1));
        assert_eq!(add(QUARTER_HOUR + 10), period(QUARTER_HOUR + 1, QUARTER_HOUR + 10));
    }

    #[test]
    fn runs_side_by_side_share_the_time() {
        let mut timeline = Timeline::new(Vec::new());
        let mut add = |at, run| timeline.add(UnixMillis(at), Some(run), 100).unwrap().period;
        assert_eq!(add(0, 1), period(-100, 1));
        assert_eq!(add(40, 2), period(1, 40));
        assert_eq!(add(100, 1), period(40, 100));
    }
}
