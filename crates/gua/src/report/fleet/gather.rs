//! Takes the answers, series by series, and keeps of each what is needed for the next.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::tz::TimeZone;
use probe::units::UnixMillis;

use super::edge::{At, TickTimes};
use super::questions::NAME;
use super::resets;
use super::tally::{Tally, What, name};
use super::target::{TargetId, Targets};
use crate::engine::Series;
use crate::ledger::Period;
use crate::report::usage::hours::{HourOfWeek, LocalHours};
use crate::report::usage::tally::Cell;

/// Which end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Begin,
    End,
}

/// A card's counter at both ends of the window.
#[derive(Debug, Clone, Copy)]
struct Ends {
    begin: f64,
    end: f64,
    is_active: bool,
}

/// What was answered so far.
#[derive(Debug)]
pub struct Gather {
    pub targets: Targets,
    pub(super) window: Period,
    pub(super) tally: Tally,
    pub(super) week: Vec<Cell>,
    ticks: [TickTimes; 2],
    /// Every counter at the beginning, by a hash of what it is.
    begins: HashMap<u64, f64>,
    /// The cards' counters at both ends, for the hours between them.
    ends: HashMap<u64, Ends>,
    hours: LocalHours,
    distances: Vec<f64>,
}

impl Gather {
    #[must_use]
    pub fn new(window: Period, tz: TimeZone) -> Self {
        Self {
            targets: Targets::default(),
            window,
            tally: Tally::default(),
            week: vec![Cell::default(); HourOfWeek::COUNT],
            ticks: [TickTimes::default(), TickTimes::default()],
            begins: HashMap::new(),
            ends: HashMap::new(),
            hours: LocalHours::new(tz),
            distances: Vec::new(),
        }
    }

    /// How many samples of a host there are lately.
    pub fn add_count(&mut self, series: &Series) {
        if self.targets.of(series).is_some() {
            self.distances.extend(series.points().last().map(|(_, count)| *count));
        }
    }

    /// The usual distance of samples; half a minute where there are none.
    #[must_use]
    pub fn distance(&mut self) -> i64 {
        self.distances.sort_by(f64::total_cmp);
        let fewest = self.distances.get(self.distances.len() / 20).copied();
        fewest.map_or(30_000, super::Questions::distance)
    }

    pub fn add_ticks(&mut self, edge: Edge, series: &Series) {
        if let Some(target) = self.targets.of(series) {
            self.ticks_mut(edge).add(target, series.points());
        }
    }

    /// A counter around one end of the window.
    pub fn add_counter(&mut self, edge: Edge, series: &Series) {
        let (Some(target), Some(what)) = (self.targets.of(series), What::of(series)) else {
            return;
        };
        let moment = self.moment(edge);
        let Some(at) = self.ticks(edge).at(target, series.points(), moment.0) else { return };
        let id = id(series);
        match (edge, at) {
            (Edge::Begin, At::After(_)) if self.begins_within(target) => {}
            (Edge::Begin, At::Known(value) | At::Before(value) | At::After(value)) => {
                self.begins.insert(id, value);
            }
            (Edge::End, At::Known(value) | At::Before(value)) => {
                self.count(target, what, id, value);
            }
            // It is not known what it was at the end: the host was not seen then.
            (Edge::End, At::After(_)) => {}
        }
    }

    fn count(&mut self, target: TargetId, what: What, id: u64, end: f64) {
        // A series that is not there while its host is has counted nothing yet.
        let begin = self.begins.get(&id).copied().unwrap_or(0.0);
        let rose = if end < begin { end } else { end - begin };
        if let What::Card { state, .. } = what {
            self.ends.insert(id, Ends { begin, end, is_active: state == 0 });
        }
        self.tally.add(target, what, rose);
    }

    /// Whether the counters of a host began at 0 within the window.
    fn begins_within(&self, target: TargetId) -> bool {
        let since = self.targets.get(target).and_then(|target| target.counting_since);
        since.is_some_and(|since| since >= self.window.from.0)
    }

    /// Hosts that were not seen at both ends, or that began to count anew: their counters have
    /// to be looked for in between. The second are those that began anew.
    #[must_use]
    pub fn special(&self) -> (Vec<TargetId>, Vec<TargetId>) {
        let (mut partly, mut anew) = (Vec::new(), Vec::new());
        for (id, target) in self.targets.iter() {
            let is_in = target.last_tick.is_some_and(|tick| tick > self.window.from.0);
            let began = self.ticks(Edge::Begin).has(id) || self.begins_within(id);
            let ended = self.tally.get(id).is_some();
            let first = target.counted_at_first.or(target.counting_since);
            if is_in && first != target.counting_since {
                anew.push(id);
            } else if is_in && !(began && ended) {
                partly.push(id);
            }
        }
        (partly, anew)
    }

    /// Begins anew with hosts whose counters are looked for in between.
    pub fn forget(&mut self, targets: &[TargetId]) {
        for target in targets {
            self.tally.forget(*target);
        }
    }

    /// The least of a counter over the window, for hosts that were not seen at its beginning.
    pub fn add_least(&mut self, of: &[TargetId], series: &Series) {
        let Some(target) = self.targets.of(series).filter(|id| of.contains(id)) else { return };
        let was_seen = self.ticks(Edge::Begin).has(target) || self.begins_within(target);
        if let Some((_, value)) = series.points().last().filter(|_| !was_seen) {
            self.begins.insert(id(series), *value);
        }
    }

    /// The most of a counter over the window.
    pub fn add_most(&mut self, of: &[TargetId], series: &Series) {
        let target = self.targets.of(series).filter(|id| of.contains(id));
        let (Some(target), Some(what)) = (target, What::of(series)) else { return };
        if let Some((_, value)) = series.points().last() {
            self.count(target, what, id(series), *value);
        }
    }

    /// Every sample of a counter that began anew.
    pub fn add_all(&mut self, of: &[TargetId], series: &Series) {
        let target = self.targets.of(series).filter(|id| of.contains(id));
        let (Some(target), Some(what)) = (target, What::of(series)) else { return };
        let (from, ticks) = (self.window.from.0, self.ticks(Edge::Begin));
        let begins_at_0 = !ticks.has(target);
        let rose = resets::increase(ticks, target, series.points(), from, begins_at_0);
        self.tally.add(target, what, rose);
    }

    /// A card's counter at full hours: what it rose by from one to the next.
    pub fn add_hours(&mut self, series: &Series) {
        let (Some(target), Some(What::Card { state, .. })) =
            (self.targets.of(series), What::of(series))
        else {
            return;
        };
        if self.tally.get(target).is_none() {
            return;
        }
        let known = self.ends.remove(&id(series));
        self.add_rises(state == 0, known, series.points());
    }

    /// Cards without a full hour in the window.
    pub fn add_rest(&mut self) {
        for (_, ends) in std::mem::take(&mut self.ends) {
            self.add_rises(ends.is_active, Some(ends), &[]);
        }
    }

    fn add_rises(&mut self, is_active: bool, ends: Option<Ends>, points: &[(i64, f64)]) {
        let window = self.window;
        let begin = ends.map(|ends| (window.from.0, ends.begin));
        let end = ends.map(|ends| (window.to.0, ends.end));
        let mut last: Option<(i64, f64)> = None;
        for (at, value) in begin.into_iter().chain(points.iter().copied()).chain(end) {
            if let Some((from, before)) = last {
                let rose = if value < before { value } else { value - before };
                self.spread(is_active, Period::new(UnixMillis(from), UnixMillis(at)), rose);
            }
            last = Some((at, value));
        }
    }

    /// Adds what a counter rose by over a time to the hours of the week that it is in.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a window")]
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a window")]
    fn spread(&mut self, is_active: bool, period: Period, seconds: f64) {
        let (week, all) = (&mut self.week, period.millis().max(1) as f64);
        self.hours.parts(period, |part, hour| {
            if let Some(cell) = week.get_mut(hour.place()) {
                let millis = (seconds * 1000.0 * part.millis() as f64 / all).round() as i64;
                cell.all += millis;
                cell.active += if is_active { millis } else { 0 };
            }
        });
    }

    const fn moment(&self, edge: Edge) -> UnixMillis {
        match edge {
            Edge::Begin => self.window.from,
            Edge::End => self.window.to,
        }
    }

    const fn ticks(&self, edge: Edge) -> &TickTimes {
        match edge {
            Edge::Begin => &self.ticks[0],
            Edge::End => &self.ticks[1],
        }
    }

    const fn ticks_mut(&mut self, edge: Edge) -> &mut TickTimes {
        match edge {
            Edge::Begin => &mut self.ticks[0],
            Edge::End => &mut self.ticks[1],
        }
    }
}

/// What a series is, in 64 bits, whatever the order of its labels. Where its name became a
/// label, some engines keep it all the same.
fn id(series: &Series) -> u64 {
    let one = |name: &str, value: &str| {
        let mut hasher = DefaultHasher::new();
        (name, value).hash(&mut hasher);
        hasher.finish()
    };
    let labels = series.metric.0.iter().filter(|(label, _)| label != "__name__" && label != NAME);
    let labels = labels.map(|(label, value)| one(label, value));
    labels.fold(one("__name__", name(series)), u64::wrapping_add)
}
