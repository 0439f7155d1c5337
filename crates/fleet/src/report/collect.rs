//! Takes the responses, series by series, and keeps what later ones need.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use gua_core::Period;

use super::edge::{FinalTimes, ValueAt};
use super::epoch::{Beginning, Epoch, EpochId, Epochs};
use super::queries::sample_distance;
use super::resets::{Resets, Rise};
use super::tally::{Counted, Tally};
use super::week::HourCounters;
use crate::engine::Series;
use crate::target::{TargetId, Targets, own_labels, series_name};

/// Distance of samples if none were counted, in milliseconds.
const USUAL_DISTANCE: i64 = 30_000;

/// An end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Begin,
    End,
}

/// Hash of what a series counts, whichever target has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey(pub u64);

/// Targets without samples at both ends, or with counters that began again: their counters are looked for
/// in between.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub partly_seen: BTreeSet<TargetId>,
    pub with_resets: BTreeSet<TargetId>,
}

/// Everything that was read so far.
#[derive(Debug)]
pub(super) struct Collector {
    pub targets: Targets,
    pub window: Period,
    pub epochs: Epochs,
    pub tally: Tally,
    pub hours: HourCounters,
    /// Epochs that count, without those that cover the same time as others.
    pub taken: HashSet<EpochId>,
    final_times: [FinalTimes; 2],
    /// Every counter at the begin of the window.
    begins: HashMap<(EpochId, SeriesKey), f64>,
    resets: Resets,
    /// Numbers of samples of each target lately.
    sample_counts: Vec<f64>,
}

impl Collector {
    pub fn new(window: Period) -> Self {
        Self {
            targets: Targets::default(),
            window,
            epochs: Epochs::default(),
            tally: Tally::default(),
            hours: HourCounters::new(),
            taken: HashSet::new(),
            final_times: [FinalTimes::default(), FinalTimes::default()],
            begins: HashMap::new(),
            resets: Resets::default(),
            sample_counts: Vec::new(),
        }
    }

    /// Adds how many samples of a target there are lately.
    pub fn add_sample_count(&mut self, series: &Series) {
        if self.targets.find(series).is_some() {
            self.sample_counts.extend(series.points().last().map(|(_, count)| *count));
        }
    }

    /// Returns the usual distance of samples in milliseconds: that of targets that have few.
    pub fn distance(&mut self) -> i64 {
        self.sample_counts.sort_by(f64::total_cmp);
        let fewest = self.sample_counts.get(self.sample_counts.len() / 20).copied();
        fewest.map_or(USUAL_DISTANCE, sample_distance)
    }

    /// Adds final times around one end of the window.
    pub fn add_final_times(&mut self, edge: Edge, of: &BTreeSet<TargetId>, series: &Series) {
        if let Some(target) = self.targets.find(series).filter(|target| of.contains(target)) {
            self.final_times[usize::from(edge == Edge::End)].add(target, series.points());
        }
    }

    /// Finds the epochs, once the final times at both ends are known. Samples after the window may be final
    /// up to a time within it, where those before its end are final only up to a time before its begin.
    pub fn find_epochs(&mut self) {
        for (target, last) in self.times(Edge::End).last_of_each() {
            self.targets.raise_final_until(target, last);
        }
        self.epochs = Epochs::new(&self.targets, self.times(Edge::Begin), self.window);
    }

    /// Adds a counter around one end of the window.
    pub fn add_counter(&mut self, edge: Edge, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((target, counted)) = self.wanted(of, series) else { return };
        let moment = match edge {
            Edge::Begin => self.window.from,
            Edge::End => self.window.to,
        };
        let Some(at) = self.times(edge).value_at(target, series.points(), moment.0) else { return };
        let value = match (edge, at) {
            (_, ValueAt::Known(value) | ValueAt::AtLeast(value))
            | (Edge::Begin, ValueAt::AtMost(value)) => value,
            // The host was not seen at the end: its value then is not known.
            (Edge::End, ValueAt::AtMost(_)) => return,
        };
        let key = series_key(series);
        match (self.epochs.only(target), edge) {
            (None, _) => self.resets.add_edge(edge, target, key, value),
            (Some((_, epoch)), Edge::Begin) if !is_value_at_begin(epoch, target, at) => {}
            (Some((id, _)), Edge::Begin) => {
                self.begins.insert((id, key), value);
            }
            (Some((id, epoch)), Edge::End) if epoch.last == target => {
                self.add_end(id, counted, key, value);
            }
            (Some(_), Edge::End) => {}
        }
    }

    /// Returns the target of a series and what it counts; `None` if it is not wanted.
    fn wanted(&self, of: &BTreeSet<TargetId>, series: &Series) -> Option<(TargetId, Counted)> {
        let target = self.targets.find(series).filter(|target| of.contains(target))?;
        Some((target, Counted::from_series(series)?))
    }

    /// Adds the value of a counter at the end of its epoch.
    fn add_end(&mut self, id: EpochId, counted: Counted, key: SeriesKey, end: f64) {
        let Some(covers) = self.epochs.get(id).map(|epoch| epoch.covers) else { return };
        // A series that is not there while its host is has counted nothing yet.
        let begin = self.begins.get(&(id, key)).copied().unwrap_or(0.0);
        let rise = Rise { first: (covers.from.0, begin), last: (covers.to.0, end) };
        self.add_rise(id, key, counted, rise);
    }

    fn add_rise(&mut self, id: EpochId, key: SeriesKey, counted: Counted, rise: Rise) {
        if let Some(is_active) = counted.card_activity() {
            self.hours.add_ends(id, key, is_active, rise);
        }
        if counted.counter == crate::Counter::Observed {
            self.hours.add_observed(id, rise.first);
            self.hours.add_observed(id, rise.last);
        }
        self.tally.add(id, counted, (rise.last.1 - rise.first.1).max(0.0));
    }

    /// Returns the targets whose counters are looked for in between.
    pub fn unfinished(&self) -> Unfinished {
        let is_partly_seen = |id: EpochId, epoch: &Epoch| {
            epoch.beginning == Beginning::NotSampled || self.tally.get(id).is_none()
        };
        let epochs = self.epochs.iter().filter(|(id, epoch)| is_partly_seen(*id, epoch));
        let partly_seen = epochs.flat_map(|(_, epoch)| [epoch.first, epoch.last]).collect();
        Unfinished { partly_seen, with_resets: self.epochs.with_resets() }
    }

    /// Forgets what targets counted: they are looked for in between.
    pub fn forget(&mut self, targets: &BTreeSet<TargetId>) {
        for target in targets {
            if let Some((id, _)) = self.epochs.only(*target) {
                self.tally.remove(id);
            }
        }
    }

    /// Adds the least value of a counter in the window, for hosts that were not seen at its begin.
    pub fn add_least(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((target, _)) = self.wanted(of, series) else { return };
        let Some((id, epoch)) = self.epochs.only(target) else { return };
        let is_needed = epoch.beginning == Beginning::NotSampled && epoch.first == target;
        if let Some((_, value)) = series.points().last().filter(|_| is_needed) {
            self.begins.insert((id, series_key(series)), *value);
        }
    }

    /// Adds the largest value of a counter in the window.
    pub fn add_most(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((target, counted)) = self.wanted(of, series) else { return };
        let only = self.epochs.only(target);
        let Some((id, _)) = only.filter(|(_, epoch)| epoch.last == target) else { return };
        if let Some((_, value)) = series.points().last() {
            self.add_end(id, counted, series_key(series), *value);
        }
    }

    /// Adds the times since which a target with resets counted, at all samples.
    pub fn add_since(&mut self, series: &Series) {
        let Some(target) = self.targets.find(series) else { return };
        let seen_at_begin = self.times(Edge::Begin).has(target);
        self.epochs.add_since(target, series.points(), seen_at_begin, self.window);
    }

    /// Adds all samples of a counter with resets.
    pub fn add_samples(&mut self, of: &BTreeSet<TargetId>, series: &Series) {
        let Some((target, counted)) = self.wanted(of, series) else { return };
        let window = (self.window.from.0, self.window.to.0);
        // A sample within the window may be final only up to a time before it.
        let times = self.times(Edge::Begin);
        let is_early = |(at, _): &&(i64, f64)| times.final_until(target, *at) <= window.0;
        let early = series.points().iter().take_while(is_early).count();
        let points = series.points().get(early..).unwrap_or_default();
        self.resets.add(&self.epochs, (target, &counted, series_key(series)), points, window);
    }

    /// Ends with the counters. Of epochs that cover the same time of a host, as if it counts for scrapes
    /// and separately for pushes, the one counts that observed more.
    pub fn settle(&mut self) {
        for (id, key, counted, rise) in std::mem::take(&mut self.resets).finish(&self.epochs) {
            self.add_rise(id, key, counted, rise);
        }
        let observed = |id| self.tally.get(id).map(|sums| sums.observed_ms);
        let all = self.epochs.iter();
        let all = all.filter_map(|(id, it)| Some((it.host, observed(id)?, id, it)));
        let mut all: Vec<_> = all.collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let mut taken: Vec<(EpochId, &Epoch)> = Vec::new();
        for (host, _, id, epoch) in all {
            let mut of_host = taken.iter().rev().take_while(|(_, known)| known.host == host);
            if !of_host.any(|(_, known)| known.overlaps(epoch)) {
                taken.push((id, epoch));
            }
        }
        self.taken = taken.into_iter().map(|(id, _)| id).collect();
    }

    /// Adds for how long hosts were observed, at full hours.
    pub fn add_observed_hours(&mut self, series: &Series) {
        let Some(target) = self.targets.find(series) else { return };
        for point in series.points() {
            if let Some(id) = self.epochs.at(target, point.0) {
                self.hours.add_observed(id, *point);
            }
        }
    }

    /// Adds a card's counter at full hours.
    pub fn add_hours(&mut self, series: &Series) {
        let counted = Counted::from_series(series).and_then(|counted| counted.card_activity());
        let (Some(target), Some(is_active)) = (self.targets.find(series), counted) else { return };
        let key = series_key(series);
        if self.epochs.is_alone(target) {
            let id = self.epochs.only(target).map(|(id, _)| id);
            if let Some(id) = id.filter(|id| self.taken.contains(id)) {
                self.hours.add_points(id, key, is_active, series.points());
            }
            return;
        }
        for point in series.points() {
            let id = self.epochs.at(target, point.0);
            if let Some(id) = id.filter(|id| self.taken.contains(id)) {
                self.hours.add_shared_point(id, key, is_active, *point);
            }
        }
    }

    const fn times(&self, edge: Edge) -> &FinalTimes {
        match edge {
            Edge::Begin => &self.final_times[0],
            Edge::End => &self.final_times[1],
        }
    }
}

/// Returns true if a value that a target has at the begin of the window is that of the epoch.
fn is_value_at_begin(epoch: &Epoch, target: TargetId, at: ValueAt) -> bool {
    let began_later = epoch.beginning == Beginning::AtZero && matches!(at, ValueAt::AtMost(_));
    epoch.first == target && !began_later
}

/// Returns the hash of a name and our own labels, in any order.
fn series_key(series: &Series) -> SeriesKey {
    let one = |name: &str, value: &str| {
        let mut hasher = DefaultHasher::new();
        (name, value).hash(&mut hasher);
        hasher.finish()
    };
    let labels = own_labels(series).map(|(label, value)| one(label, value));
    SeriesKey(labels.fold(one("__name__", series_name(series)), u64::wrapping_add))
}
