//! What is known of a card's power: without work, and for work.

use super::activity::{Micros, Stretch, Sum, Sums};
use super::observed::{ExactThresholds, Observed};

/// Weight that earlier readings of the power keep at each later one.
const KEPT: f64 = 0.9;

/// Power of a card in the time that is handed out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Power {
    /// Power without work, in watts: between the newest two polls between which nobody worked. Where
    /// somebody always works a little, the lowest between two polls of a card that is not active.
    pub idle: Option<f64>,
    /// Polls that are in here.
    until: Micros,
    /// Watts beyond that for each percent of utilization, of a card without an energy counter: sums of
    /// percent × watts and of percent².
    work: [f64; 2],
}

impl Power {
    /// Returns the power by the polls up to a time.
    pub fn at(
        mut self,
        until: Micros,
        observed: &Observed,
        sums: &Sums<'_>,
        thresholds: &ExactThresholds,
    ) -> Self {
        for pair in observed.polls.windows(2) {
            let interval = Stretch { from: pair[0].at, to: pair[1].at };
            let Some(energy) = pair[1].energy else { continue };
            if interval.to <= self.until || interval.to > until {
                continue;
            }
            self.until = interval.to;
            let busy = sums.over(interval);
            if busy.known < interval.length() {
                continue;
            }
            let power = match pair[0].power.zip(pair[1].power) {
                // The reading of a poll at which work begins or ends is that of the work.
                Some((then, now)) if energy.is_estimated => then.min(now),
                _ => energy.joules * 1e6 / interval.length().max(1) as f64,
            };
            if is_below(busy, thresholds.worked) {
                self.idle = Some(power);
            } else if is_below(busy, thresholds.active) && !energy.is_estimated {
                self.idle = Some(self.idle.map_or(power, |idle| idle.min(power)));
            }
            if let Some(watts) = pair[1].power.filter(|_| energy.is_estimated)
                && let Some(percent) = sums.at_moment(interval.to)
            {
                self.add_reading(watts, percent);
            }
        }
        self
    }

    /// Adds the power that was read at a moment, with the utilization then, in percent.
    fn add_reading(&mut self, watts: f64, percent: f64) {
        let Some(idle) = self.idle else { return };
        if percent >= 1.0 {
            let sums = [percent * (watts - idle).max(0.0), percent * percent];
            self.work = [self.work[0] * KEPT + sums[0], self.work[1] * KEPT + sums[1]];
        }
    }

    /// Returns the energy of a time by its utilization; `None` if too little is known of the power.
    pub fn joules(&self, time: Stretch, busy: Sum) -> Option<f64> {
        let idle = self.idle? * time.length() as f64 / 1e6;
        // Percent × seconds.
        let work = busy.sum as f64 / 1e8;
        let [watts, weight] = self.work;
        match weight > 0.0 {
            true => Some(idle + watts / weight * work),
            false => (work <= 0.0).then_some(idle),
        }
    }
}

fn is_below(busy: Sum, threshold: u32) -> bool {
    busy.sum < i64::from(threshold) * busy.known
}
