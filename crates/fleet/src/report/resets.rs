//! Counters that began again within the window, from all samples.

use std::collections::HashMap;

use super::collect::{Edge, SeriesKey};
use super::epoch::{Beginning, EpochId, Epochs};
use super::tally::Counted;
use crate::target::TargetId;

/// Counters of hosts that began to count again.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// Values at both ends of the window.
    edges: HashMap<(TargetId, SeriesKey), [Option<f64>; 2]>,
    rises: HashMap<(EpochId, SeriesKey), (Counted, Rise)>,
}

/// A counter at the first and the last time for which it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rise {
    pub first: (i64, f64),
    pub last: (i64, f64),
}

impl Rise {
    const fn at(point: (i64, f64)) -> Self {
        Self { first: point, last: point }
    }

    /// Adds what another target has of the counter, or a later sample.
    fn extend(&mut self, other: Self) {
        if other.first.0 < self.first.0 {
            self.first = other.first;
        }
        if other.last.0 >= self.last.0 {
            // A counter never falls within an epoch.
            self.last = (other.last.0, other.last.1.max(self.last.1));
        }
    }
}

impl Resets {
    /// Adds the value of a counter at one end of the window.
    pub fn add_edge(&mut self, edge: Edge, target: TargetId, key: SeriesKey, value: f64) {
        let edges = self.edges.entry((target, key)).or_default();
        edges[usize::from(edge == Edge::End)] = Some(value);
    }

    /// Adds all samples that a target has of a counter in the window `(from, to)`.
    pub fn add(
        &mut self,
        epochs: &Epochs,
        (target, counted, key): (TargetId, &Counted, SeriesKey),
        points: &[(i64, f64)],
        (from, to): (i64, i64),
    ) {
        let [begin, end] = self.edges.remove(&(target, key)).unwrap_or_default();
        let (first, last) = (points.first(), points.last());
        // A value at an end may be of another epoch.
        let begin = begin.filter(|value| first.is_some_and(|(_, next)| value <= next));
        let end = end.filter(|value| last.is_some_and(|(_, before)| before <= value));
        let begin = begin.map(|value| (from, value));
        let end = end.map(|value| (to, value));
        for point in begin.into_iter().chain(points.iter().copied()).chain(end) {
            let Some(epoch) = epochs.at(target, point.0) else { continue };
            let rise = Rise::at(point);
            let known = self.rises.entry((epoch, key));
            known.or_insert_with(|| (counted.clone(), rise)).1.extend(rise);
        }
    }

    /// Returns each counter at the first and the last time of its epoch.
    pub fn finish(self, epochs: &Epochs) -> Vec<(EpochId, SeriesKey, Counted, Rise)> {
        let found = self.rises.into_iter().filter_map(|((id, key), (counted, mut rise))| {
            let epoch = epochs.get(id)?;
            // A series that came later than the host was first seen began at 0.
            if epoch.beginning == Beginning::AtZero || epoch.covers.from.0 < rise.first.0 {
                rise.first = (epoch.covers.from.0, 0.0);
            }
            Some((id, key, counted, rise))
        });
        found.collect()
    }
}
