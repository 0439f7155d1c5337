//! Hours in which counters rose.

use std::collections::{BTreeMap, HashMap, HashSet};

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_query::usage::Week;
use gua_store::CardHours;
use jiff::tz::TimeZone;

use super::collect::SeriesKey;
use super::epoch::EpochId;
use super::resets::Rise;

/// Observed part of a time from which on a host counts as observed all the time.
const ALL_THE_TIME: f64 = 0.9;

/// What is added up for the hours of the week.
#[derive(Debug, Default)]
pub(super) struct HourCounters {
    /// Active and observed milliseconds. Most hosts have the same periods.
    periods: BTreeMap<Period, [f64; 2]>,
    /// Distance of the times for which counters are queried.
    step_ms: i64,
    /// Seconds for which hosts were observed, at full hours and at both ends.
    observed: HashMap<EpochId, BTreeMap<i64, f64>>,
    /// Counters of cards at both ends, and whether they count active time.
    ends: HashMap<(EpochId, SeriesKey), (bool, Rise)>,
    /// Counters at full hours that several targets have.
    shared: HashMap<(EpochId, SeriesKey), (bool, BTreeMap<i64, f64>)>,
}

impl HourCounters {
    pub fn new() -> Self {
        Self { step_ms: HOUR, ..Self::default() }
    }

    pub fn set_step(&mut self, millis: i64) {
        self.step_ms = millis;
    }

    /// Adds for how long a host was observed up to a time.
    pub fn add_observed(&mut self, epoch: EpochId, (at, seconds): (i64, f64)) {
        let most = self.observed.entry(epoch).or_default().entry(at).or_insert(seconds);
        *most = most.max(seconds);
    }

    /// Adds a card's counter at both ends of its time.
    pub fn add_ends(&mut self, epoch: EpochId, key: SeriesKey, is_active: bool, ends: Rise) {
        self.ends.insert((epoch, key), (is_active, ends));
    }

    /// Adds a card's counter at a full hour, as one of several targets has it.
    pub fn add_shared_point(
        &mut self,
        epoch: EpochId,
        key: SeriesKey,
        is_active: bool,
        (at, value): (i64, f64),
    ) {
        let (_, points) = self.shared.entry((epoch, key)).or_insert((is_active, BTreeMap::new()));
        let most = points.entry(at).or_insert(value);
        *most = most.max(value);
    }

    /// Adds a card's counter at all full hours.
    pub fn add_points(
        &mut self,
        epoch: EpochId,
        key: SeriesKey,
        is_active: bool,
        points: &[(i64, f64)],
    ) {
        let ends = self.ends.remove(&(epoch, key)).map(|(_, ends)| ends);
        let inner = |at: i64| ends.is_none_or(|ends| ends.first.0 < at && at < ends.last.0);
        let points = points.iter().copied().filter(|(at, _)| inner(*at));
        let begin = ends.map(|ends| ends.first).into_iter();
        let mut last: Option<(i64, f64)> = None;
        for (at, value) in begin.chain(points).chain(ends.map(|ends| ends.last)) {
            if let Some((from, before)) = last {
                let period = Period::new(UnixMillis(from), UnixMillis(at));
                self.add_rise(epoch, is_active, period, (value - before).max(0.0));
            }
            last = Some((at, value));
        }
    }

    /// Adds the counters of `taken` that are left: those of several targets, and those without a full
    /// hour in the window. Returns the hours of the week.
    pub fn finish(&mut self, taken: &HashSet<EpochId>, zone: TimeZone) -> Week {
        for ((epoch, key), (is_active, points)) in std::mem::take(&mut self.shared) {
            let points: Vec<_> = points.into_iter().collect();
            self.add_points(epoch, key, is_active, &points);
        }
        let rest = self.ends.iter().filter(|((epoch, _), _)| taken.contains(epoch));
        let rest: Vec<_> = rest.map(|(key, (is_active, _))| (*key, *is_active)).collect();
        for ((epoch, key), is_active) in rest {
            self.add_points(epoch, key, is_active, &[]);
        }
        let mut week = Week::new(zone);
        for (period, [active_ms, observed_ms]) in std::mem::take(&mut self.periods) {
            week.add(&CardHours { period, active_ms, observed_ms });
        }
        week
    }

    /// Adds what a counter rose by over a time. If its host was not observed all the time, it was observed
    /// next to both ends: samples are there.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a window")]
    fn add_rise(&mut self, epoch: EpochId, is_active: bool, period: Period, seconds: f64) {
        let (all, hour) = (period.millis() as f64 / 1000.0, HOUR.min(period.millis() / 2));
        let observed = self.observed_in(epoch, period).filter(|seen| *seen < all * ALL_THE_TIME);
        let Some(observed) = observed.filter(|_| period.millis() > self.step_ms) else {
            self.add(is_active, period, seconds);
            return;
        };
        let (early, late) = (UnixMillis(period.from.0 + hour), UnixMillis(period.to.0 - hour));
        let at_ends = seconds * (hour as f64 * 2.0 / 1000.0 / observed.max(1e-3)).min(1.0);
        self.add(is_active, Period::new(period.from, early), at_ends / 2.0);
        self.add(is_active, Period::new(late, period.to), at_ends / 2.0);
        self.add(is_active, Period::new(early, late), seconds - at_ends);
    }

    /// Returns for how long a host was observed between two times; `None` if that is not known.
    fn observed_in(&self, epoch: EpochId, period: Period) -> Option<f64> {
        let observed = self.observed.get(&epoch)?;
        Some((observed.get(&period.to.0)? - observed.get(&period.from.0)?).max(0.0))
    }

    fn add(&mut self, is_active: bool, period: Period, seconds: f64) {
        let [active, observed] = self.periods.entry(period).or_default();
        *observed += seconds * 1000.0;
        if is_active {
            *active += seconds * 1000.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns observed seconds by the hours of a Thursday, the first day of 1970.
    fn rose(points: &[(i64, f64)]) -> Vec<(u8, f64)> {
        let (mut counters, epoch) = (HourCounters::new(), EpochId::default());
        points.iter().for_each(|(hour, value)| counters.add_observed(epoch, (hour * HOUR, *value)));
        let points: Vec<_> = points.iter().map(|(hour, value)| (hour * HOUR, *value)).collect();
        counters.add_points(epoch, SeriesKey(1), true, &points);
        let cells = counters.finish(&HashSet::new(), TimeZone::UTC).cells();
        let cells = cells.into_iter().filter(|cell| cell.observed_seconds > 0.0);
        cells.map(|cell| (cell.hour, cell.observed_seconds)).collect()
    }

    #[test]
    fn host_that_was_away_counts_next_to_its_samples() {
        let points = [(0, 0.0), (1, 3600.0), (9, 5600.0)];
        assert_eq!(rose(&points), [(0, 3600.0), (1, 1000.0), (8, 1000.0)]);
    }

    #[test]
    fn host_that_was_not_scraped_counts_all_the_time() {
        let hours: Vec<_> = (0..5).map(|hour| (hour, 3600.0)).collect();
        assert_eq!(rose(&[(0, 0.0), (5, 18_000.0)]), hours);
    }

    #[test]
    fn no_hour_has_more_than_an_hour() {
        let rose = rose(&[(0, 0.0), (10, 18_000.0)]);
        assert_eq!(rose.iter().map(|(_, seconds)| seconds).sum::<f64>(), 18_000.0);
        assert!(rose.iter().all(|(_, seconds)| *seconds <= 3600.0), "{rose:?}");
    }
}
