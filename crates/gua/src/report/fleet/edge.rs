//! A counter at one moment, from the samples around it.

use std::collections::HashMap;

use super::target::TargetId;

/// When the ticks were that samples tell of, by target and the sample's time.
#[derive(Debug, Default)]
pub(super) struct TickTimes {
    times: HashMap<TargetId, Vec<(i64, i64)>>,
}

/// What a counter was at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum At {
    /// Between two samples, or at one.
    Known(f64),
    /// Only earlier samples are there: it was at least this.
    Before(f64),
    /// Only later samples are there: it was at most this.
    After(f64),
}

impl TickTimes {
    pub fn add(&mut self, target: TargetId, points: &[(i64, f64)]) {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
        let ticks = points.iter().map(|(at, tick)| (*at, (tick * 1000.0).round() as i64));
        self.times.entry(target).or_default().extend(ticks);
    }

    pub fn has(&self, target: TargetId) -> bool {
        self.times.contains_key(&target)
    }

    /// The first tick that is told of a target.
    pub fn first(&self, target: TargetId) -> Option<i64> {
        self.times.get(&target)?.iter().map(|(_, tick)| *tick).min()
    }

    /// The tick that a sample tells of. One that is told without its tick is as old as itself.
    pub fn tick(&self, target: TargetId, at: i64) -> i64 {
        let times = self.times.get(&target);
        let found = times.and_then(|times| times.iter().find(|(sample, _)| *sample == at));
        found.map_or(at, |(_, tick)| *tick)
    }

    /// What a counter was at a moment.
    pub fn at(&self, target: TargetId, points: &[(i64, f64)], moment: i64) -> Option<At> {
        let mut before: Option<(i64, f64)> = None;
        let mut after: Option<(i64, f64)> = None;
        for (at, value) in points {
            let tick = self.tick(target, *at);
            if tick <= moment {
                before = Some((tick, *value));
            } else if after.is_none() {
                after = Some((tick, *value));
            }
        }
        match (before, after) {
            (Some(before), Some(after)) => Some(At::Known(between(before, after, moment))),
            (Some((tick, value)), None) if tick == moment => Some(At::Known(value)),
            (Some((_, value)), None) => Some(At::Before(value)),
            (None, Some((_, value))) => Some(At::After(value)),
            (None, None) => None,
        }
    }
}

/// On the line between two samples; before one that began anew, what it was.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of minutes")]
fn between(before: (i64, f64), after: (i64, f64), moment: i64) -> f64 {
    let ((from, low), (to, high)) = (before, after);
    if high <= low || to <= from {
        return low;
    }
    low + (high - low) * (moment - from) as f64 / (to - from) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: TargetId = TargetId(0);

    #[test]
    fn a_counter_is_taken_when_its_ticks_were() {
        let mut ticks = TickTimes::default();
        ticks.add(HOST, &[(60_000, 50.0), (120_000, 110.0)]);
        let points = [(60_000, 100.0), (120_000, 160.0)];
        assert_eq!(ticks.at(HOST, &points, 80_000), Some(At::Known(130.0)));
        assert_eq!(ticks.at(HOST, &points, 50_000), Some(At::Known(100.0)));
        assert_eq!(ticks.at(HOST, &points, 115_000), Some(At::Before(160.0)));
        assert_eq!(ticks.at(HOST, &points, 40_000), Some(At::After(100.0)));
        assert_eq!(ticks.at(HOST, &[], 40_000), None);
    }

    #[test]
    fn one_that_began_anew_is_what_it_was_before() {
        let ticks = TickTimes::default();
        assert_eq!(ticks.at(HOST, &[(0, 100.0), (60_000, 5.0)], 30_000), Some(At::Known(100.0)));
    }
}
