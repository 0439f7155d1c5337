//! Counters that began anew, added up sample by sample.

use super::edge::{At, TickTimes};
use super::target::TargetId;

/// What a counter rose by over a window, from every sample that there is of it. The first is
/// what it rises from, unless it is known to have begun at 0 within the window.
pub(super) fn increase(
    ticks: &TickTimes,
    target: TargetId,
    points: &[(i64, f64)],
    from: i64,
    begins_at_0: bool,
) -> f64 {
    let first = ticks.at(target, points, from).map_or(0.0, |at| match at {
        At::Known(value) | At::Before(value) => value,
        At::After(_) if begins_at_0 => 0.0,
        At::After(value) => value,
    });
    let mut last = first;
    let mut sum = 0.0;
    for (_, value) in points.iter().filter(|(at, _)| ticks.tick(target, *at) > from) {
        // Lower than before: it began at 0 again.
        let rose = if *value < last { *value } else { *value - last };
        sum += rose;
        last = *value;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rose(points: &[(i64, f64)], from: i64, begins_at_0: bool) -> f64 {
        increase(&TickTimes::default(), TargetId(0), points, from, begins_at_0)
    }

    #[test]
    fn what_was_counted_before_and_after_counts() {
        assert_eq!(rose(&[(0, 100.0), (10, 130.0), (20, 5.0), (30, 25.0)], 0, false), 55.0);
        assert_eq!(rose(&[(10, 7.0), (20, 9.0)], 0, true), 9.0);
        assert_eq!(rose(&[(10, 7.0), (20, 9.0)], 0, false), 2.0);
        assert_eq!(rose(&[], 0, true), 0.0);
    }

    /// A sample within the window may tell of a tick before it.
    #[test]
    fn what_a_late_sample_tells_is_not_taken_for_a_new_beginning() {
        let mut ticks = TickTimes::default();
        ticks.add(TargetId(0), &[(12_000, 8.0), (22_000, 18.0)]);
        let points = [(12_000, 108.0), (22_000, 118.0)];
        assert_eq!(increase(&ticks, TargetId(0), &points, 10_000, false), 8.0);
    }
}
