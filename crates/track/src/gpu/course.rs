//! A percentage over time.

use std::time::Duration;

use probe::units::Percent;
use probe::{Reading, Why};

use crate::usage::Load;

/// How it went, from figures that each stand for some time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Course {
    /// Means over all of the time that they cover.
    measured: Weighted,
    /// What was so at the moment of a look.
    momentary: Weighted,
    max: Option<f64>,
    /// Why there was nothing, the newest reason.
    missing: Option<Why>,
}

impl Course {
    /// A mean over all of this time.
    pub fn measured(&mut self, percent: f64, covers: Duration) {
        self.measured.add(percent, covers);
        self.see(percent);
    }

    /// What was so at the end of this time.
    pub fn momentary(&mut self, percent: f64, covers: Duration) {
        self.momentary.add(percent, covers);
        self.see(percent);
    }

    pub const fn missing(&mut self, why: Why) {
        self.missing = Some(why);
    }

    /// Moments count only where nothing was measured: between two measurements they repeat the
    /// first.
    pub fn tell(&self) -> Reading<Load> {
        let mean = self.measured.mean().or_else(|| self.momentary.mean());
        match (self.max, mean) {
            (Some(max), Some(mean)) => Reading::Known(load(max, mean)),
            _ => Reading::Unknown(self.missing.unwrap_or(Why::NotAsked)),
        }
    }

    fn see(&mut self, percent: f64) {
        self.max = Some(self.max.map_or(percent, |max| max.max(percent)));
    }
}

/// The most is never less than the mean, also where the two rest on different looks.
pub(super) const fn load(max: f64, mean: f64) -> Load {
    Load { max: Percent(max.max(mean)), mean: Percent(mean) }
}

/// A mean with weights.
#[derive(Debug, Clone, Copy, Default)]
struct Weighted {
    sum: f64,
    seconds: f64,
    /// Where nothing has a weight yet.
    newest: Option<f64>,
}

impl Weighted {
    fn add(&mut self, value: f64, weight: Duration) {
        self.sum += value * weight.as_secs_f64();
        self.seconds += weight.as_secs_f64();
        self.newest = Some(value);
    }

    fn mean(&self) -> Option<f64> {
        if self.seconds > 0.0 { Some(self.sum / self.seconds) } else { self.newest }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn told(course: &Course) -> Option<(f64, f64)> {
        course.tell().known().map(|load| (load.max.0, load.mean.0))
    }

    #[test]
    fn a_figure_counts_for_as_long_as_it_covers() {
        let mut course = Course::default();
        course.measured(100.0, secs(1));
        course.measured(20.0, secs(3));
        assert_eq!(told(&course), Some((100.0, 40.0)));
    }

    #[test]
    fn moments_count_where_nothing_was_measured() {
        let mut course = Course::default();
        course.momentary(80.0, Duration::ZERO);
        assert_eq!(told(&course), Some((80.0, 80.0)));
        course.momentary(40.0, secs(1));
        assert_eq!(told(&course), Some((80.0, 40.0)));
        course.measured(10.0, secs(1));
        assert_eq!(told(&course), Some((80.0, 10.0)));
    }

    #[test]
    fn nothing_is_unknown_not_zero() {
        let mut course = Course::default();
        course.missing(Why::NotSupported);
        assert_eq!(course.tell(), Reading::Unknown(Why::NotSupported));
    }

    proptest! {
        /// The law: the mean lies between the least and the most.
        #[test]
        fn the_mean_is_within(figures in prop::collection::vec((0.0..100.0_f64, 0_u64..50), 1..20)) {
            let mut course = Course::default();
            for (percent, covers) in &figures {
                course.measured(*percent, secs(*covers));
            }
            let (max, mean) = told(&course).unwrap();
            let least = figures.iter().map(|(percent, _)| *percent).fold(f64::MAX, f64::min);
            prop_assert!(least - 1e-9 <= mean && mean <= max + 1e-9, "{least} {mean} {max}");
        }
    }
}
