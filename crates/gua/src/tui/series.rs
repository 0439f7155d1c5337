//! How busy and how full a card was over the last hour.

use std::collections::VecDeque;

use gua_core::Period;
use gua_core::period::HOUR;

/// What one look says of a time: shares of the whole, 0 to 1, or nothing where unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The time that it speaks for, which ends when it was taken.
    pub period: Period,
    pub work: Option<f32>,
    pub memory: Option<f32>,
}

/// What is seen more often than this is kept as its mean, in milliseconds.
const SHORTEST: i64 = 1000;

impl Point {
    fn is_short_with(&self, next: &Self) -> bool {
        next.period.to.0.saturating_sub(self.period.from.0) <= SHORTEST
    }

    /// Both as one.
    fn joined(&self, next: &Self) -> Self {
        let (ours, theirs) = (self.period.seconds(), next.period.seconds());
        // Points without a length count the same.
        let share = if ours + theirs > 0.0 { theirs / (ours + theirs) } else { 0.5 };
        #[expect(clippy::cast_possible_truncation, reason = "for a plot")]
        let mean = |a: Option<f32>, b: Option<f32>| match (a, b) {
            (Some(a), Some(b)) => Some(a + (b - a) * share as f32),
            (a, b) => a.or(b),
        };
        Self {
            period: Period::new(self.period.from, next.period.to),
            work: mean(self.work, next.work),
            memory: mean(self.memory, next.memory),
        }
    }
}

/// The points of a card, in the order of time.
#[derive(Debug, Clone, Default)]
pub struct Series(VecDeque<Point>);

/// What is drawn of a point.
pub type Figure = fn(&Point) -> Option<f32>;

impl Series {
    pub fn push(&mut self, point: Point) {
        // A clock that was set back begins anew.
        if self.0.back().is_some_and(|last| last.period.to >= point.period.to) {
            self.0.retain(|earlier| earlier.period.to < point.period.to);
        }
        match self.0.back_mut().filter(|last| last.is_short_with(&point)) {
            Some(last) => *last = last.joined(&point),
            None => self.0.push_back(point),
        }
        let oldest = point.period.to.0.saturating_sub(HOUR);
        while self.0.front().is_some_and(|first| first.period.to.0 < oldest) {
            self.0.pop_front();
        }
    }

    /// Puts what was recorded before in front of what was seen.
    pub fn put_before(&mut self, past: Vec<Point>) {
        let first = self.0.front().map(|first| first.period.to);
        let is_earlier = |point: &Point| first.is_none_or(|first| point.period.to < first);
        let mut whole: VecDeque<_> = past.into_iter().filter(is_earlier).collect();
        whole.append(&mut self.0);
        self.0 = whole;
    }

    /// The means of equal parts of the time that ends now, oldest first. The parts stand still
    /// on the time line, so that a graph moves on as a whole.
    #[must_use]
    pub fn means(&self, now: i64, span: i64, count: usize, figure: Figure) -> Vec<Option<f32>> {
        let parts = i64::try_from(count).unwrap_or(i64::MAX).max(1);
        let width = (span / parts).max(1);
        let first = now.div_euclid(width) - parts + 1;
        let mut sums = vec![(0.0_f32, 0.0_f32); count];
        let begin = first.saturating_mul(width);
        let recent = self.0.partition_point(|point| point.period.to.0 < begin);
        // Where the part begins that a point ends in. Walked, not divided: an hour has many
        // points, and this is done for every frame.
        let (mut place, mut start) = (0_usize, begin);
        for point in self.0.range(recent..) {
            while point.period.to.0 >= start.saturating_add(width) && place < count {
                (place, start) = (place + 1, start.saturating_add(width));
            }
            let Some(value) = figure(point) else { continue };
            let (mut of_point, mut from) = (place, start);
            loop {
                if let Some((sum, weight)) = sums.get_mut(of_point) {
                    *sum += value;
                    *weight += 1.0;
                }
                // A point without a length, and the last moment of one, belong to where it ends.
                if of_point == 0 || point.period.from.0 + 1 >= from {
                    break;
                }
                (of_point, from) = (of_point - 1, from.saturating_sub(width));
            }
        }
        sums.into_iter().map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::units::UnixMillis;

    fn point(from: i64, to: i64, work: f32) -> Point {
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        Point { period, work: Some(work), memory: None }
    }

    const WORK: Figure = |point| point.work;

    #[test]
    fn a_point_fills_the_time_that_it_speaks_for_and_no_other() {
        let mut series = Series::default();
        series.push(point(20_000, 30_000, 0.5));
        series.push(point(50_000, 60_000, 1.0));
        let means = series.means(60_000, 60_000, 6, WORK);
        assert_eq!(means, [None, Some(0.5), Some(0.5), None, Some(1.0), Some(1.0)]);
        assert_eq!(series.means(60_000, 60_000, 6, |p| p.memory), [None; 6]);
        assert_eq!(series.means(60_000, 60_000, 0, WORK), []);
    }

    #[test]
    fn several_points_of_a_part_become_their_mean() {
        let mut series = Series::default();
        for (at, work) in [(1_000, 0.0), (2_000, 0.5), (3_000, 1.0)] {
            series.push(point(at - 1_000, at, work));
        }
        assert_eq!(series.means(3_500, 4_000, 1, WORK), [Some(0.5)]);
    }

    #[test]
    fn what_is_seen_often_is_kept_once_a_second() {
        let mut series = Series::default();
        for tenth in 1..=100_i16 {
            let at = i64::from(tenth) * 100;
            series.push(point(at - 100, at, f32::from(tenth % 10) / 9.0));
        }
        assert_eq!(series.0.len(), 10);
        let means = series.means(10_000, 10_000, 10, WORK);
        assert!(means.iter().flatten().all(|mean| (mean - 0.5).abs() < 0.01), "{means:?}");
    }

    #[test]
    fn what_was_recorded_comes_before_what_was_seen() {
        let mut series = Series::default();
        series.push(point(9_000, 10_000, 1.0));
        series.put_before(vec![point(4_000, 5_000, 0.2), point(9_500, 10_500, 0.9)]);
        assert_eq!(series.means(10_000, 8_000, 2, WORK), [Some(0.2), Some(1.0)]);
    }

    #[test]
    fn only_an_hour_is_kept_and_a_clock_may_be_set_back() {
        let mut series = Series::default();
        for second in 0..5_000 {
            series.push(point(second * 1000, second * 1000 + 1000, 1.0));
        }
        assert_eq!(series.0.len(), 3_601);
        series.push(point(4_000_000, 4_001_000, 0.0));
        assert_eq!(series.0.back().map(|last| last.work), Some(Some(0.0)));
        assert!(series.0.len() < 3_601);
    }
}
