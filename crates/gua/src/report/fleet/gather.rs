//! Takes the answers, series by series, and keeps of each what is needed for the next.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::tz::TimeZone;
use probe::units::UnixMillis;

use super::anew::{Anew, SeriesKey, Stretch};
use super::counter::{Began, Counter, CounterId, Counters};
use super::edge::{At, TickTimes};
use super::tally::{Tally, What, name};
use super::target::{TargetId, Targets, own_labels};
use super::week::Week;
use crate::engine::Series;
use crate::ledger::Period;

/// Which end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Begin,
    End,
}

/// Hosts that were not seen at both ends, or that began to count anew: their counters have to be
/// looked for in between.
#[derive(Debug, Default)]
pub struct Special {
    pub partly: BTreeSet<TargetId>,
    pub anew: BTreeSet<TargetId>,
}

/// What was answered so far.
#[derive(Debug)]
pub struct Gather {
    pub targets: Targets,
    pub(super) window: Period,
    pub(super) counters: Counters,
    pub(super) tally: Tally,
    pub(super) week: Week,
    /// The counters that count: not those that tell of the same time as others.
    pub(super) taken: HashSet<CounterId>,
    ticks: [TickTimes; 2],
    /// Every counter at the beginning.
    begins: HashMap<(CounterId, SeriesKey), f64>,
    anew: Anew,
    distances: Vec<f64>,
}

impl Gather {
    #[must_use]
    pub fn new(window: Period, tz: TimeZone) -> Self {
        Self {
            targets: Targets::default(),
            window,
            counters: Counters::default(),
            tally: Tally::default(),
            week: Week::new(tz),
            taken: HashSet::new(),
            ticks: [TickTimes::default(), TickTimes::default()],
            begins: HashMap::new(),
            anew: Anew::default(),
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

    pub fn add_ticks(&mut self, edge: Edge, of: &BTreeSet<TargetId>, series: &Series) {
        if let Some(way) = self.targets.of(series).filter(|way| of.contains(way)) {
            self.ticks_mut(edge).add(way, series.points());
        }
    }

    /// Which counters there are, when the ticks at the beginning are known.
    pub fn find_counters(&mut self) {
        self.counters = Counters::new(&self.targets, self.ticks(Edge::Begin), self.window);
    }

    /// A counter around one end of the window.
    pub fn add_counter(&mut self, edge: Edge, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((way, what)) = self.meant(of, series) else { return };
        let moment = self.moment(edge);
        let Some(at) = self.ticks(edge).at(way, series.points(), moment.0) else { return };
        let value = match (edge, at) {
            (_, At::Known(value) | At::Before(value)) | (Edge::Begin, At::After(value)) => value,
            // It is not known what it was at the end: the host was not seen then.
            (Edge::End, At::After(_)) => return,
        };
        let key = key(series);
        match (self.counters.of(way), edge) {
            (None, _) => self.anew.add_edge(edge, way, key, value),
            (Some((_, counter)), Edge::Begin) if !begins_with(counter, way, at) => {}
            (Some((id, _)), Edge::Begin) => {
                self.begins.insert((id, key), value);
            }
            (Some((id, counter)), Edge::End) if counter.last == way => {
                self.count(id, what, key, value);
            }
            (Some(_), Edge::End) => {}
        }
    }

    /// Whose series it is and what it counts, where it is one of those.
    fn meant(&self, of: &BTreeSet<TargetId>, series: &Series) -> Option<(TargetId, What)> {
        let way = self.targets.of(series).filter(|way| of.contains(way))?;
        Some((way, What::of(series)?))
    }

    fn count(&mut self, id: CounterId, what: What, key: SeriesKey, end: f64) {
        let Some(covers) = self.counters.get(id).map(|counter| counter.covers) else { return };
        // A series that is not there while its host is has counted nothing yet.
        let begin = self.begins.get(&(id, key)).copied().unwrap_or(0.0);
        let ends = Stretch { first: (covers.from.0, begin), last: (covers.to.0, end) };
        self.add_stretch(id, key, what, ends);
    }

    /// A counter from the beginning of its time to the end.
    fn add_stretch(&mut self, id: CounterId, key: SeriesKey, what: What, ends: Stretch) {
        match what {
            What::Card { state, .. } => self.week.add_ends(id, key, state == 0, ends),
            What::Observed => {
                self.week.add_observed(id, ends.first);
                self.week.add_observed(id, ends.last);
            }
            What::Share { .. } | What::Present { .. } => {}
        }
        self.tally.add(id, what, (ends.last.1 - ends.first.1).max(0.0));
    }

    /// Hosts that are to be looked for in between.
    #[must_use]
    pub fn special(&self) -> Special {
        let is_partly = |id: CounterId, counter: &Counter| {
            counter.began == Began::Unseen || self.tally.get(id).is_none()
        };
        let partly = self.counters.iter().filter(|(id, counter)| is_partly(*id, counter));
        let partly = partly.flat_map(|(_, it)| [it.first, it.last]).collect();
        Special { partly, anew: self.counters.anew() }
    }

    /// Begins anew with hosts whose counters are looked for in between.
    pub fn forget(&mut self, ways: &BTreeSet<TargetId>) {
        for way in ways {
            if let Some((id, _)) = self.counters.of(*way) {
                self.tally.forget(id);
            }
        }
    }

    /// The least of a counter over the window, for hosts that were not seen at its beginning.
    pub fn add_least(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((way, _)) = self.meant(of, series) else { return };
        let Some((id, counter)) = self.counters.of(way) else { return };
        let is_asked = counter.began == Began::Unseen && counter.first == way;
        if let Some((_, value)) = series.points().last().filter(|_| is_asked) {
            self.begins.insert((id, key(series)), *value);
        }
    }

    /// The most of a counter over the window.
    pub fn add_most(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((way, what)) = self.meant(of, series) else { return };
        let Some((id, _)) = self.counters.of(way).filter(|(_, it)| it.last == way) else { return };
        if let Some((_, value)) = series.points().last() {
            self.count(id, what, key(series), *value);
        }
    }

    /// Since when hosts counted that began anew, sample by sample.
    pub fn add_since(&mut self, series: &Series) {
        let Some(way) = self.targets.of(series) else { return };
        let was_seen = self.ticks(Edge::Begin).has(way);
        self.counters.add_anew(way, series.points(), was_seen, self.window);
    }

    /// Every sample of a counter that began anew.
    pub fn add_all(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((way, what)) = self.meant(of, series) else { return };
        let window = (self.window.from.0, self.window.to.0);
        // A sample within the window may tell of a tick before it.
        let ticks = self.ticks(Edge::Begin);
        let early = series.points().iter().take_while(|(at, _)| ticks.tick(way, *at) <= window.0);
        let points = series.points().get(early.count()..).unwrap_or_default();
        self.anew.add(&self.counters, (way, &what, key(series)), points, window);
    }

    /// Ends with the counters. Of those that tell of the same time of a host, as where it counts
    /// for scrapes and anew for pushes, the one counts that saw more.
    pub fn settle(&mut self) {
        for (id, key, what, ends) in std::mem::take(&mut self.anew).finish(&self.counters) {
            self.add_stretch(id, key, what, ends);
        }
        let told = |id| self.tally.get(id).map(|sums| sums.observed_millis);
        let all = self.counters.iter().filter_map(|(id, it)| Some((it.host, told(id)?, id, it)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(host, observed, id, _)| (*host, -observed, *id));
        let mut taken: Vec<(CounterId, &Counter)> = Vec::new();
        for (host, _, id, counter) in all {
            let of_host = taken.iter().rev().take_while(|(_, known)| known.host == host);
            if !of_host.into_iter().any(|(_, known)| known.overlaps(counter)) {
                taken.push((id, counter));
            }
        }
        self.taken = taken.into_iter().map(|(id, _)| id).collect();
    }

    /// How far apart the full hours are that are asked for.
    pub fn set_step(&mut self, millis: i64) {
        self.week.set_step(millis);
    }

    /// How long hosts were observed, at full hours.
    pub fn add_observed_hours(&mut self, series: &Series) {
        let Some(way) = self.targets.of(series) else { return };
        for point in series.points() {
            if let Some(id) = self.counters.at(way, point.0) {
                self.week.add_observed(id, *point);
            }
        }
    }

    /// A card's counter at full hours: what it rose by from one to the next.
    pub fn add_hours(&mut self, series: &Series) {
        let (Some(way), Some(What::Card { state, .. })) =
            (self.targets.of(series), What::of(series))
        else {
            return;
        };
        let (key, is_active) = (key(series), state == 0);
        if self.counters.is_only(way) {
            let id = self.counters.of(way).map(|(id, _)| id);
            if let Some(id) = id.filter(|id| self.taken.contains(id)) {
                self.week.add_points(id, key, is_active, series.points());
            }
            return;
        }
        for point in series.points() {
            let id = self.counters.at(way, point.0);
            if let Some(id) = id.filter(|id| self.taken.contains(id)) {
                self.week.add_point(id, key, is_active, *point);
            }
        }
    }

    /// Ends with the full hours.
    pub fn end_hours(&mut self) {
        self.week.finish(&self.taken);
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

/// Whether what a way tells of the window's beginning is what the counter was then.
fn begins_with(counter: &Counter, way: TargetId, at: At) -> bool {
    let began_later = counter.began == Began::AtZero && matches!(at, At::After(_));
    counter.first == way && !began_later
}

/// What a series is, whoever tells of it: its name and our own labels, in any order.
fn key(series: &Series) -> SeriesKey {
    let one = |name: &str, value: &str| {
        let mut hasher = DefaultHasher::new();
        (name, value).hash(&mut hasher);
        hasher.finish()
    };
    let labels = own_labels(series).map(|(label, value)| one(label, value));
    SeriesKey(labels.fold(one("__name__", name(series)), u64::wrapping_add))
}
