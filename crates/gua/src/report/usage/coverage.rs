//! Which time is covered by anything at all.

use crate::ledger::Period;
use crate::store::Span;

/// Periods counted together: those that touch or overlap are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Coverage {
    periods: Vec<Period>,
}

impl Coverage {
    /// Adds one; mostly it goes on where the last one ended.
    pub fn add(&mut self, period: Period) {
        if period.is_empty() {
            return;
        }
        match self.periods.last_mut() {
            Some(last) if last.from <= period.from && period.from <= last.to => {
                last.to = last.to.max(period.to);
            }
            _ => self.periods.push(period),
        }
    }

    /// In order, without overlaps.
    pub fn finish(mut self) -> Vec<Period> {
        self.periods.sort();
        let mut whole = Self::default();
        self.periods.into_iter().for_each(|period| whole.add(period));
        whole.periods
    }
}

/// When somebody recorded, in order and without overlaps.
#[must_use]
pub fn observed(spans: &[Span<i64>]) -> Vec<Period> {
    let mut observed = Coverage::default();
    spans.iter().for_each(|span| observed.add(span.period));
    observed.finish()
}

/// How long they are together.
pub(super) fn millis(periods: &[Period]) -> i64 {
    periods.iter().map(Period::millis).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::units::UnixMillis;

    #[test]
    fn what_touches_or_overlaps_is_one() {
        let mut coverage = Coverage::default();
        let period = |from, to| Period::new(UnixMillis(from), UnixMillis(to));
        for (from, to) in [(0, 5), (0, 5), (5, 9), (20, 30), (7, 12), (28, 29), (40, 40)] {
            coverage.add(period(from, to));
        }
        let whole = coverage.finish();
        assert_eq!(whole, [period(0, 12), period(20, 30)]);
        assert_eq!(millis(&whole), 22);
    }
}
