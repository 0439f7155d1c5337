//! The time line in bounded room: a week costs what a minute costs.

use std::time::Duration;

use probe::Reading;
use probe::units::{Bytes, Percent};
use track::Sample;
use track::usage::Load;

/// No more points are kept. Even, so that all of them have a neighbour to merge with.
const MOST: usize = 2_000;

/// What was used over a stretch of time: the most memory, and the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub from: Duration,
    pub until: Duration,
    pub ram: Bytes,
    pub cpu: Load,
    /// Held by the tree.
    pub gpu_memory: Reading<Bytes>,
    /// Of the chosen cards, everybody's work.
    pub gpu: Reading<Load>,
    /// The tree's own part.
    pub own_gpu: Reading<Load>,
}

impl Point {
    fn new(from: Duration, sample: &Sample) -> Self {
        let steady = |percent: Percent| Load { max: percent, mean: percent };
        let of_gpu = |reading: fn(&track::sample::GpuSample) -> Reading<Percent>| {
            flat(sample.gpu.as_ref().map(reading)).map(steady)
        };
        Self {
            from: from.min(sample.since_begin),
            until: sample.since_begin,
            ram: sample.ram.combined.total,
            cpu: steady(sample.cpu.combined),
            gpu_memory: flat(sample.gpu.as_ref().map(|gpu| gpu.memory.combined)),
            gpu: of_gpu(|gpu| gpu.utilization),
            own_gpu: of_gpu(|gpu| gpu.tree_utilization),
        }
    }

    /// Both as one: maxima stay, means are weighed by time.
    fn merge(self, next: Self) -> Self {
        let weights = (self.seconds(), next.seconds());
        let load = |one: Load, other: Load| merged(one, other, weights);
        Self {
            from: self.from,
            until: next.until,
            ram: self.ram.max(next.ram),
            cpu: load(self.cpu, next.cpu),
            gpu_memory: either(self.gpu_memory, next.gpu_memory, Bytes::max),
            gpu: either(self.gpu, next.gpu, load),
            own_gpu: either(self.own_gpu, next.own_gpu, load),
        }
    }

    fn seconds(&self) -> f64 {
        self.until.saturating_sub(self.from).as_secs_f64()
    }
}

fn flat<T>(reading: Reading<Reading<T>>) -> Reading<T> {
    match reading {
        Reading::Known(inner) => inner,
        Reading::Unknown(why) => Reading::Unknown(why),
    }
}

/// What is known of one of two moments is what is known of both.
fn either<T>(one: Reading<T>, other: Reading<T>, both: impl Fn(T, T) -> T) -> Reading<T> {
    match (one, other) {
        (Reading::Known(one), Reading::Known(other)) => Reading::Known(both(one, other)),
        (Reading::Known(one), _) => Reading::Known(one),
        (_, other) => other,
    }
}

fn merged(one: Load, other: Load, (first, second): (f64, f64)) -> Load {
    let (first, second) = if first + second > 0.0 { (first, second) } else { (1.0, 1.0) };
    let mean = (one.mean.0 * first + other.mean.0 * second) / (first + second);
    Load { max: Percent(one.max.0.max(other.max.0)), mean: Percent(mean) }
}

/// Points as they come in.
#[derive(Debug, Clone)]
pub struct Points {
    kept: Vec<Point>,
    /// The one that is still being put together, and of how many samples it is by now.
    open: Option<(Point, u64)>,
    /// How many samples make one point.
    step: u64,
    last: Duration,
}

impl Default for Points {
    fn default() -> Self {
        Self { kept: Vec::new(), open: None, step: 1, last: Duration::ZERO }
    }
}

impl Points {
    pub fn push(&mut self, sample: &Sample) {
        let point = Point::new(self.last, sample);
        self.last = sample.since_begin;
        let (point, count) = match self.open.take() {
            Some((open, count)) => (open.merge(point), count + 1),
            None => (point, 1),
        };
        if count < self.step {
            self.open = Some((point, count));
            return;
        }
        self.kept.push(point);
        if self.kept.len() >= MOST {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let pairs = self.kept.chunks(2);
        let merge = |pair: &[Point]| pair.iter().copied().reduce(Point::merge);
        self.kept = pairs.filter_map(merge).collect();
        self.step = self.step.saturating_mul(2);
    }

    /// All of them, in their order.
    #[must_use]
    pub fn finish(self) -> Vec<Point> {
        let mut points = self.kept;
        points.extend(self.open.map(|(point, _)| point));
        points
    }
}

/// The same in no more than so many points.
#[must_use]
pub fn thinned(points: &[Point], most: usize) -> Vec<Point> {
    let size = points.len().div_ceil(most.max(1)).max(1);
    points.chunks(size).filter_map(|some| some.iter().copied().reduce(Point::merge)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tracked::examples::sample;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn merging_keeps_maxima_means_and_order(
            values in proptest::collection::vec((0_u64..1 << 40, 0.0_f64..6400.0), 1..6_000),
        ) {
            let mut points = Points::default();
            for (index, (ram, cpu)) in values.iter().enumerate() {
                points.push(&sample(index as u64 + 1, *ram, *cpu));
            }
            let points = points.finish();
            prop_assert!(points.len() <= MOST);
            let points = thinned(&points, 400);
            prop_assert!(points.len() <= 400);
            prop_assert_eq!(points.iter().map(|p| p.ram.0).max(), values.iter().map(|v| v.0).max());
            let most = values.iter().map(|v| v.1).fold(0.0, f64::max);
            prop_assert_eq!(points.iter().map(|p| p.cpu.max.0).fold(0.0, f64::max), most);
            let weighed: f64 = points.iter().map(|p| p.cpu.mean.0 * p.seconds()).sum();
            let all: f64 = values.iter().map(|v| v.1).sum();
            prop_assert!((weighed - all).abs() <= 1e-6 * all.max(1.0), "{} {}", weighed, all);
            prop_assert!(points.windows(2).all(|pair| pair[0].until == pair[1].from));
            prop_assert_eq!(points.last().unwrap().until, Duration::from_secs(values.len() as u64));
        }
    }

    #[test]
    fn what_is_unknown_for_a_moment_does_not_hide_what_is_known() {
        let known = Reading::Known(Bytes(5));
        let unknown = Reading::Unknown(probe::Why::Lost);
        assert_eq!(either(known, unknown, Bytes::max), known);
        assert_eq!(either(unknown, known, Bytes::max), known);
        assert_eq!(either(unknown, unknown, Bytes::max), unknown);
    }
}
