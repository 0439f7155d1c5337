//! Counters that began anew within the window, put together from every sample.

use std::collections::HashMap;

use super::counter::{Began, CounterId, Counters};
use super::gather::Edge;
use super::tally::What;
use super::target::TargetId;

/// A series, whoever tells of it: the hash of what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey(pub u64);

/// What is known of the counters of hosts that began anew.
#[derive(Debug, Default)]
pub(super) struct Anew {
    /// What they were at both ends of the window.
    edges: HashMap<(TargetId, SeriesKey), [Option<f64>; 2]>,
    stretches: HashMap<(CounterId, SeriesKey), (What, Stretch)>,
}

/// A counter from the first sample of it to the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub first: (i64, f64),
    pub last: (i64, f64),
}

impl Stretch {
    const fn at(point: (i64, f64)) -> Self {
        Self { first: point, last: point }
    }

    /// Takes what another way or a later sample tells.
    fn join(&mut self, other: Self) {
        if other.first.0 < self.first.0 {
            self.first = other.first;
        }
        if other.last.0 >= self.last.0 {
            // One counter never falls; where it seems to, the most was seen.
            self.last = (other.last.0, other.last.1.max(self.last.1));
        }
    }
}

impl Anew {
    /// What a counter was at one end of the window.
    pub fn add_edge(&mut self, edge: Edge, way: TargetId, key: SeriesKey, value: f64) {
        let edges = self.edges.entry((way, key)).or_default();
        edges[usize::from(edge == Edge::End)] = Some(value);
    }

    /// Every sample of a series that one way tells, in the window `(from, to)`.
    pub fn add(
        &mut self,
        counters: &Counters,
        (way, what, key): (TargetId, &What, SeriesKey),
        points: &[(i64, f64)],
        (from, to): (i64, i64),
    ) {
        let [begin, end] = self.edges.remove(&(way, key)).unwrap_or_default();
        let (first, last) = (points.first(), points.last());
        // What is told at an end may be another counter's already.
        let begin = begin.filter(|value| first.is_some_and(|(_, next)| value <= next));
        let end = end.filter(|value| last.is_some_and(|(_, before)| before <= value));
        let begin = begin.map(|value| (from, value));
        let end = end.map(|value| (to, value));
        for point in begin.into_iter().chain(points.iter().copied()).chain(end) {
            let Some(counter) = counters.at(way, point.0) else { continue };
            let stretch = Stretch::at(point);
            let known = self.stretches.entry((counter, key));
            known.or_insert_with(|| (what.clone(), stretch)).1.join(stretch);
        }
    }

    /// What each counter was at the beginning of its time and at the end.
    pub fn finish(self, counters: &Counters) -> Vec<(CounterId, SeriesKey, What, Stretch)> {
        let told = self.stretches.into_iter().filter_map(|((id, key), (what, mut stretch))| {
            let counter = counters.get(id)?;
            // Who came later than the host was seen came at 0.
            if counter.began == Began::AtZero || counter.covers.from.0 < stretch.first.0 {
                stretch.first = (counter.covers.from.0, 0.0);
            }
            Some((id, key, what, stretch))
        });
        told.collect()
    }
}
