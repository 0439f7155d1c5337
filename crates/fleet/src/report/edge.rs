//! Value of a counter at one moment, from the samples around it.

use std::collections::{BTreeMap, HashMap};

use crate::target::{TargetId, millis};

/// Times up to which samples are final, by target and time of the sample.
#[derive(Debug, Default)]
pub(super) struct FinalTimes {
    times: HashMap<TargetId, Vec<(i64, i64)>>,
}

/// Value of a counter at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ValueAt {
    /// There are samples on both sides, or one at the moment.
    Known(f64),
    /// There are only earlier samples.
    AtLeast(f64),
    /// There are only later samples.
    AtMost(f64),
}

impl FinalTimes {
    /// Adds samples of `gua_final_until_timestamp_seconds`.
    pub fn add(&mut self, target: TargetId, points: &[(i64, f64)]) {
        let times = points.iter().map(|(at, until)| (*at, millis(*until)));
        self.times.entry(target).or_default().extend(times);
    }

    pub fn has(&self, target: TargetId) -> bool {
        self.times.contains_key(&target)
    }

    /// Returns the first time up to which counters of a target are final.
    pub fn first(&self, target: TargetId) -> Option<i64> {
        self.times.get(&target)?.iter().map(|(_, until)| *until).min()
    }

    /// Returns the last time up to which counters of each target are final.
    pub fn last_of_each(&self) -> BTreeMap<TargetId, i64> {
        let last = |times: &Vec<(i64, i64)>| times.iter().map(|(_, until)| *until).max();
        self.times.iter().filter_map(|(target, times)| Some((*target, last(times)?))).collect()
    }

    /// Returns the time up to which a sample is final: the time of the sample if nothing says so.
    pub fn final_until(&self, target: TargetId, at: i64) -> i64 {
        let times = self.times.get(&target);
        let found = times.and_then(|times| times.iter().find(|(sample, _)| *sample == at));
        found.map_or(at, |(_, until)| *until)
    }

    /// Returns the value of a counter at a moment; `None` without samples.
    pub fn value_at(
        &self,
        target: TargetId,
        points: &[(i64, f64)],
        moment: i64,
    ) -> Option<ValueAt> {
        let mut before: Option<(i64, f64)> = None;
        let mut after: Option<(i64, f64)> = None;
        for (at, value) in points {
            let until = self.final_until(target, *at);
            if until <= moment {
                before = Some((until, *value));
            } else if after.is_none() {
                after = Some((until, *value));
            }
        }
        match (before, after) {
            (Some(before), Some(after)) => Some(ValueAt::Known(between(before, after, moment))),
            (Some((until, value)), None) if until == moment => Some(ValueAt::Known(value)),
            (Some((_, value)), None) => Some(ValueAt::AtLeast(value)),
            (None, Some((_, value))) => Some(ValueAt::AtMost(value)),
            (None, None) => None,
        }
    }
}

/// Returns the value on the line between two samples; the first one if the counter began again.
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
    fn counter_is_taken_at_its_final_times() {
        let mut times = FinalTimes::default();
        times.add(HOST, &[(60_000, 50.0), (120_000, 110.0)]);
        let points = [(60_000, 100.0), (120_000, 160.0)];
        let at = |moment| times.value_at(HOST, &points, moment);
        assert_eq!(at(80_000), Some(ValueAt::Known(130.0)));
        assert_eq!(at(50_000), Some(ValueAt::Known(100.0)));
        assert_eq!(at(115_000), Some(ValueAt::AtLeast(160.0)));
        assert_eq!(at(40_000), Some(ValueAt::AtMost(100.0)));
        assert_eq!(times.value_at(HOST, &[], 40_000), None);
    }

    #[test]
    fn counter_that_began_again_keeps_its_earlier_value() {
        let points = [(0, 100.0), (60_000, 5.0)];
        let at = FinalTimes::default().value_at(HOST, &points, 30_000);
        assert_eq!(at, Some(ValueAt::Known(100.0)));
    }
}
