//! How much of the cores was used: the highest and the mean.

use std::time::{Duration, Instant};

use probe::units::Percent;

use crate::machine::{max, percent_of};
use crate::parts::Parts;
use crate::usage::Load;

/// The maximum is that of a time this long at least; over a shorter one a single time slice
/// would be all or nothing.
const SHORTEST: Duration = Duration::from_millis(100);

/// The loads of the main process, its descendants, and both.
#[derive(Debug, Clone)]
pub struct Loads {
    shortest: Duration,
    window: Reached,
    last: Reached,
    highest: Option<Parts<Percent>>,
}

/// The CPU times at some moment.
#[derive(Debug, Clone, Copy)]
struct Reached {
    at: Instant,
    times: Parts<Duration>,
}

impl Reached {
    /// The loads from an earlier moment to this one. More than `cores` could do is rounding: the
    /// kernel brings the time of who runs up to date only every few milliseconds.
    fn since(self, earlier: Self, cores: Parts<u32>) -> Option<Parts<Percent>> {
        let passed = self.at.saturating_duration_since(earlier.at);
        percent_of(Duration::ZERO, passed)?;
        Some(self.times.zip(earlier.times).zip(cores).map(|((now, then), cores)| {
            let worked = now.saturating_sub(then);
            let percent = percent_of(worked, passed).unwrap_or_default();
            Percent(percent.0.min(f64::from(cores) * 100.0))
        }))
    }
}

impl Loads {
    #[must_use]
    pub fn new(every: Duration, begin: Instant) -> Self {
        // A sample comes a moment early or late; that begins no second window.
        let shortest = every.max(SHORTEST) / 10 * 9;
        let begin = Reached { at: begin, times: Parts::default() };
        Self { shortest, window: begin, last: begin, highest: None }
    }

    /// The loads since the sample before.
    pub fn sample(
        &mut self,
        at: Instant,
        times: Parts<Duration>,
        cores: Parts<u32>,
    ) -> Parts<Percent> {
        let now = Reached { at, times };
        let since_last = now.since(self.last, cores).unwrap_or_default();
        self.last = now;
        if self.is_long(at) {
            self.close_window(now, cores);
        }
        since_last
    }

    /// The end, with the final times. What is left since the last window is too short to tell a
    /// maximum, unless there was none.
    pub fn finish(&mut self, at: Instant, times: Parts<Duration>, cores: Parts<u32>) {
        let now = Reached { at, times };
        self.last = now;
        if self.is_long(at) || self.highest.is_none() {
            self.close_window(now, cores);
        }
    }

    fn is_long(&self, at: Instant) -> bool {
        at.saturating_duration_since(self.window.at) >= self.shortest
    }

    /// The times in all.
    #[must_use]
    pub const fn time(&self) -> Parts<Duration> {
        self.last.times
    }

    /// The highest, and the mean over the whole time.
    #[must_use]
    pub fn loads(&self, wall: Duration) -> Parts<Load> {
        let mean = self.time().map(|time| percent_of(time, wall).unwrap_or_default());
        let highest = self.highest.unwrap_or(mean);
        highest.zip(mean).map(|(highest, mean)| Load { max: max(highest, mean), mean })
    }

    fn close_window(&mut self, to: Reached, cores: Parts<u32>) {
        if let Some(percents) = to.since(self.window, cores) {
            let highest = self.highest.unwrap_or(percents);
            self.highest = Some(highest.zip(percents).map(|(a, b)| max(a, b)));
        }
        self.window = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: Parts<u32> = Parts { main: 4, descendants: 4, combined: 4 };

    fn main(ms: u64) -> Parts<Duration> {
        let time = Duration::from_millis(ms);
        Parts { main: time, descendants: Duration::ZERO, combined: time }
    }

    fn played(every: u64, samples: &[(u64, u64)], end: (u64, u64)) -> Load {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut loads = Loads::new(Duration::from_millis(every), begin);
        for (moment, used) in samples {
            loads.sample(at(*moment), main(*used), CORES);
        }
        loads.finish(at(end.0), main(end.1), CORES);
        loads.loads(Duration::from_millis(end.0)).main
    }

    fn told(load: Load) -> [i64; 2] {
        #[expect(clippy::cast_possible_truncation, reason = "whole percents in a test")]
        [load.max, load.mean].map(|percent| percent.0.round() as i64)
    }

    #[test]
    fn a_short_command_has_one_load() {
        assert_eq!(told(played(1000, &[], (4, 3))), [75, 75]);
    }

    #[test]
    fn the_highest_is_that_of_a_time_that_tells() {
        let samples = [(100, 10), (200, 110), (300, 120)];
        assert_eq!(told(played(100, &samples, (301, 121))), [100, 40]);
    }

    #[test]
    fn close_samples_are_taken_together() {
        let samples: Vec<_> =
            (1..=200).map(|ms| (ms, if ms < 50 { 0 } else { (ms - 50) / 2 })).collect();
        assert!(told(played(1, &samples, (200, 75)))[0] <= 51);
    }

    #[test]
    fn more_than_all_cores_is_rounding() {
        assert_eq!(told(played(100, &[(100, 900)], (400, 900)))[0], 400);
    }

    #[test]
    fn nothing_measured_is_no_load() {
        assert_eq!(told(played(100, &[], (0, 0))), [0, 0]);
    }
}
