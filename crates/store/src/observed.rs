//! Which time was observed: what rows that are cut are divided by.

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::sums::hour_of;
use crate::usage::{WindowGap, gaps};

/// Observed time: all but the gaps. The sums of a row belong to its observed time alone.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// In order, without overlaps.
    gaps: Vec<Period>,
}

impl Database {
    /// Reads what was observed in the rows that a window touches: in its hours, all of them complete.
    pub fn observed(&self, window: Period) -> Result<Observed, StoreError> {
        self.result(Observed::read(self, window))
    }
}

impl Observed {
    /// Returns all time but gaps, which are in order and do not overlap.
    #[must_use]
    pub const fn without(gaps: Vec<Period>) -> Self {
        Self { gaps }
    }

    pub(crate) fn read(database: &Database, window: Period) -> Result<Self, Problem> {
        Ok(Self::from_gaps(&gaps(&database.connection, full_hours(window))?))
    }

    pub(crate) fn from_gaps(gaps: &[WindowGap]) -> Self {
        Self::without(gaps.iter().map(|gap| gap.period).collect())
    }

    /// Returns the part of a row's observed time that lies in a window, from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "centuries in milliseconds fit 53 bits")]
    pub fn part(&self, row: Period, window: Period) -> f64 {
        let inside = row.overlap(&window);
        if inside == row || inside.is_empty() {
            return if inside.is_empty() { 0.0 } else { 1.0 };
        }
        let gaps = self.gaps_in(row);
        observed_ms(inside, gaps) as f64 / observed_ms(row, gaps) as f64
    }

    /// Returns the observed parts of a row that lie in a window, in order.
    #[must_use]
    pub fn parts(&self, row: Period, window: Period) -> Vec<Period> {
        row.overlap(&window).without(self.gaps_in(row))
    }

    /// Returns the gaps in a row. If nothing of it was observed, as after a run was lost, there are none:
    /// what the row has is then spread over its length.
    fn gaps_in(&self, row: Period) -> &[Period] {
        let first = self.gaps.partition_point(|gap| gap.to <= row.from);
        let gaps = self.gaps.get(first..).unwrap_or(&[]);
        let gaps = gaps.get(..gaps.partition_point(|gap| gap.from < row.to)).unwrap_or(&[]);
        if observed_ms(row, gaps) == 0 { &[] } else { gaps }
    }
}

fn observed_ms(period: Period, gaps: &[Period]) -> i64 {
    let missing: i64 = gaps.iter().map(|gap| gap.overlap(&period).millis()).sum();
    period.millis() - missing
}

/// Returns the full hours that a period touches.
pub(crate) fn full_hours(period: Period) -> Period {
    let to = hour_of(period.to.0.saturating_add(HOUR - 1));
    Period::new(UnixMillis(hour_of(period.from.0)), UnixMillis(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    #[test]
    fn row_is_divided_by_what_was_observed_of_it() {
        let observed = Observed::without(vec![period(-9, 20), period(30, 50), period(90, 300)]);
        let row = period(0, 100);
        let parts = [(0, 100), (0, 25), (30, 50), (35, 60), (90, 100), (100, 200)];
        let parts = parts.map(|(from, to)| observed.part(row, period(from, to)));
        assert_eq!(parts, [1.0, 0.1, 0.0, 0.2, 0.0, 0.0]);
        assert_eq!(observed.parts(row, period(25, 60)), [period(25, 30), period(50, 60)]);
        // Nothing was observed of it, though it is there.
        assert_eq!(observed.part(period(100, 200), period(150, 400)), 0.5);
    }

    proptest! {
        /// Two adjacent windows have of a row what both together have.
        #[test]
        fn parts_of_a_row_add_up(
            from in 0_i64..1000,
            length in 1_i64..1000,
            cut in -10_i64..2100,
            mut gaps in proptest::collection::vec(-10_i64..2100, 0..9),
        ) {
            gaps.sort_unstable();
            let gaps = gaps.chunks_exact(2).map(|gap| period(gap[0], gap[1]));
            let observed = Observed::without(gaps.filter(|gap| !gap.is_empty()).collect());
            let row = period(from, from + length);
            let parts = [(-10, cut), (cut, 2100)].map(|(from, to)| observed.part(row, period(from, to)));
            prop_assert!((parts[0] + parts[1] - 1.0).abs() < 1e-12);
        }
    }
}
