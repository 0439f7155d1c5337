//! Which time was observed: what rows that are cut are divided by.

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::python::DEFAULT_INTERVAL_MS;
use crate::sums::hour_of;
use crate::usage::{WindowGap, gaps};

/// Observed time: all but the gaps. The sums of a row belong to its observed time alone.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// In order, without overlaps.
    gaps: Vec<Period>,
    /// Time of imported ticks, and what it counts for.
    imported: Vec<(Period, f64)>,
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
        Self { gaps, imported: Vec::new() }
    }

    pub(crate) fn read(database: &Database, window: Period) -> Result<Self, Problem> {
        Self::with_gaps(database, &gaps(&database.connection, full_hours(window))?)
    }

    /// Takes the gaps of a window, its first and last hour complete.
    pub(crate) fn with_gaps(database: &Database, gaps: &[WindowGap]) -> Result<Self, Problem> {
        let gaps = gaps.iter().map(|gap| gap.period).collect();
        Ok(Self { gaps, imported: imported(database)? })
    }

    /// Returns what the part of a row in a window counts for: imported ticks may count for another interval
    /// than their own.
    #[must_use]
    pub fn counted_part(&self, row: Period, window: Period) -> f64 {
        self.part(row, window) * self.weight(row)
    }

    /// Returns what each moment of a row counts for: 1, unless imported ticks count for another interval than
    /// their own.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "centuries in milliseconds fit 53 bits")]
    pub fn weight(&self, row: Period) -> f64 {
        if self.imported.is_empty() {
            return 1.0;
        }
        let (mut counted, mut imported) = (0.0, 0.0);
        for (period, weight) in &self.imported {
            let millis = period.overlap(&row).millis() as f64;
            imported += millis;
            counted += millis * weight;
        }
        let observed = observed_ms(row, self.gaps_in(row)) as f64;
        let rest = (observed - imported).max(0.0);
        (counted + rest) / (imported + rest)
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

/// Reads the time of imported ticks, and what it counts for; nothing unless it is not their own interval.
fn imported(database: &Database) -> Result<Vec<(Period, f64)>, Problem> {
    let Some(interval_ms) = database.imported_interval_ms else { return Ok(Vec::new()) };
    let runs =
        "SELECT started_ms, until_ms, ?1 * 1.0 / ifnull(interval_ms, ?2) FROM run WHERE imported";
    let mut query = database.connection.prepare_cached(runs)?;
    let runs = query.query_map((interval_ms, DEFAULT_INTERVAL_MS), |row| {
        Ok((Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?)), row.get(2)?))
    })?;
    Ok(runs.collect::<Result<_, _>>()?)
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
