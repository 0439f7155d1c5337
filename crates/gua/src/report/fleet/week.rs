//! The hours of the week that counters rose in.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::tz::TimeZone;
use probe::units::UnixMillis;

use super::anew::{SeriesKey, Stretch};
use super::counter::CounterId;
use crate::ledger::{HOUR, Period};
use crate::report::usage::hours::{HourOfWeek, LocalHours};
use crate::report::usage::tally::Cell;

/// A host that was seen for so much of a time was seen all the time.
const ALL_THE_TIME: f64 = 0.9;

/// What is added up for the heatmap.
#[derive(Debug)]
pub(super) struct Week {
    pub cells: Vec<Cell>,
    hours: LocalHours,
    /// How far apart counters are asked for.
    step: i64,
    /// How long hosts were observed, at the full hours and at both ends.
    observed: HashMap<CounterId, BTreeMap<i64, f64>>,
    /// The cards' counters at both ends.
    ends: HashMap<(CounterId, SeriesKey), (bool, Stretch)>,
    /// At the full hours, where several ways tell of one counter.
    told: HashMap<(CounterId, SeriesKey), (bool, BTreeMap<i64, f64>)>,
}

impl Week {
    pub fn new(tz: TimeZone) -> Self {
        Self {
            cells: vec![Cell::default(); HourOfWeek::COUNT],
            hours: LocalHours::new(tz),
            step: HOUR,
            observed: HashMap::new(),
            ends: HashMap::new(),
            told: HashMap::new(),
        }
    }

    pub fn set_step(&mut self, millis: i64) {
        self.step = millis;
    }

    /// How long a host was observed in all, at a time.
    pub fn add_observed(&mut self, counter: CounterId, (at, seconds): (i64, f64)) {
        let most = self.observed.entry(counter).or_default().entry(at).or_insert(seconds);
        *most = most.max(seconds);
    }

    /// A card's counter at both ends of its time.
    pub fn add_ends(&mut self, id: CounterId, key: SeriesKey, is_active: bool, ends: Stretch) {
        self.ends.insert((id, key), (is_active, ends));
    }

    /// A card's counter at a full hour, told by one of several ways.
    pub fn add_point(
        &mut self,
        id: CounterId,
        key: SeriesKey,
        is_active: bool,
        (at, value): (i64, f64),
    ) {
        let (_, points) = self.told.entry((id, key)).or_insert((is_active, BTreeMap::new()));
        let most = points.entry(at).or_insert(value);
        *most = most.max(value);
    }

    /// A card's counter at all full hours.
    pub fn add_points(
        &mut self,
        id: CounterId,
        key: SeriesKey,
        is_active: bool,
        points: &[(i64, f64)],
    ) {
        let ends = self.ends.remove(&(id, key)).map(|(_, ends)| ends);
        let inner = |at: i64| ends.is_none_or(|ends| ends.first.0 < at && at < ends.last.0);
        let points = points.iter().copied().filter(|(at, _)| inner(*at));
        let begin = ends.map(|ends| ends.first).into_iter();
        let mut last: Option<(i64, f64)> = None;
        for (at, value) in begin.chain(points).chain(ends.map(|ends| ends.last)) {
            if let Some((from, before)) = last {
                let period = Period::new(UnixMillis(from), UnixMillis(at));
                self.rise(id, is_active, period, (value - before).max(0.0));
            }
            last = Some((at, value));
        }
    }

    /// What several ways told, and cards without a full hour in the window, of counters that count.
    pub fn finish(&mut self, taken: &HashSet<CounterId>) {
        for ((id, key), (is_active, points)) in std::mem::take(&mut self.told) {
            let points: Vec<_> = points.into_iter().collect();
            self.add_points(id, key, is_active, &points);
        }
        let rest = self.ends.iter().filter(|((id, _), _)| taken.contains(id));
        let rest: Vec<_> = rest.map(|(key, (is_active, _))| (*key, *is_active)).collect();
        for ((id, key), is_active) in rest {
            self.add_points(id, key, is_active, &[]);
        }
    }

    /// A counter rose over a time. Where its host was not seen all the time, it was next to both
    /// ends: that is where there are samples.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a window")]
    fn rise(&mut self, id: CounterId, is_active: bool, period: Period, seconds: f64) {
        let (all, hour) = (period.millis() as f64 / 1000.0, HOUR.min(period.millis() / 2));
        let observed = self.observed_in(id, period).filter(|seen| *seen < all * ALL_THE_TIME);
        let Some(observed) = observed.filter(|_| period.millis() > self.step) else {
            self.spread(is_active, period, seconds);
            return;
        };
        let (early, late) = (UnixMillis(period.from.0 + hour), UnixMillis(period.to.0 - hour));
        let at_ends = seconds * (hour as f64 * 2.0 / 1000.0 / observed.max(1e-3)).min(1.0);
        self.spread(is_active, Period::new(period.from, early), at_ends / 2.0);
        self.spread(is_active, Period::new(late, period.to), at_ends / 2.0);
        self.spread(is_active, Period::new(early, late), seconds - at_ends);
    }

    /// How long a host was observed between two times that it was asked for.
    fn observed_in(&self, id: CounterId, period: Period) -> Option<f64> {
        let told = self.observed.get(&id)?;
        Some((told.get(&period.to.0)? - told.get(&period.from.0)?).max(0.0))
    }

    /// Adds what a counter rose by over a time to the hours of the week that it is in.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a window")]
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a window")]
    fn spread(&mut self, is_active: bool, period: Period, seconds: f64) {
        let (cells, all) = (&mut self.cells, period.millis().max(1) as f64);
        self.hours.parts(period, |part, hour| {
            if let Some(cell) = cells.get_mut(hour.place()) {
                let millis = (seconds * 1000.0 * part.millis() as f64 / all).round() as i64;
                cell.all += millis;
                cell.active += if is_active { millis } else { 0 };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SeriesKey = SeriesKey(1);

    /// Observed hours and active ones, of cells that have any.
    fn rose(points: &[(i64, f64)]) -> Vec<(usize, i64)> {
        let (mut week, id) = (Week::new(TimeZone::UTC), CounterId::default());
        points.iter().for_each(|(hour, value)| week.add_observed(id, (hour * HOUR, *value)));
        let points: Vec<_> = points.iter().map(|(hour, value)| (hour * HOUR, *value)).collect();
        week.add_points(id, KEY, true, &points);
        let seen = week.cells.iter().enumerate().filter(|(_, cell)| cell.all > 0);
        // 1970 began on a Thursday.
        seen.map(|(place, cell)| (place - 4 * 24, cell.all / 1000)).collect()
    }

    #[test]
    fn a_host_that_was_away_counts_next_to_its_samples() {
        assert_eq!(rose(&[(0, 0.0), (1, 3600.0), (9, 5600.0)]), [(0, 3600), (1, 1000), (8, 1000)]);
    }

    #[test]
    fn a_host_that_nobody_asked_counts_all_the_time() {
        let hours: Vec<_> = (0..5).map(|hour| (hour, 3600)).collect();
        assert_eq!(rose(&[(0, 0.0), (5, 18_000.0)]), hours);
    }

    #[test]
    fn no_hour_gets_more_than_an_hour() {
        let rose = rose(&[(0, 0.0), (10, 18_000.0)]);
        assert_eq!(rose.iter().map(|(_, seconds)| seconds).sum::<i64>(), 18_000);
        assert!(rose.iter().all(|(_, seconds)| *seconds <= 3600), "{rose:?}");
    }
}
