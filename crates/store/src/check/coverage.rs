//! Compares rows of cards with the time that was recorded: runs without their gaps.

use std::collections::HashSet;

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::error::Problem;

/// Time of a row that may lie outside: the edges of a gap and of a span are mapped to the wall clock on
/// their own.
const MOST_OUTSIDE_MS: i64 = 1000;

/// Time without rows that needs no gap: cards may change between two polls.
const MOST_UNCOVERED_MS: i64 = 10_000;

/// Time that was recorded, and what of it the rows cover so far.
pub(super) struct Coverage {
    /// In order, each on its own.
    runs: Vec<Period>,
    /// Runs without their gaps, in order and joined.
    recorded: Vec<Period>,
    /// Imported runs, in order and joined.
    imported: Vec<Period>,
    /// Time of several runs, because the clock was set back.
    again: Vec<Period>,
    /// End of the rows of all cards.
    covered_until: Option<i64>,
    /// Run of the newest row, and its cards.
    run: Option<Period>,
    cards: HashSet<i64>,
}

impl Coverage {
    pub fn read(db: &Connection) -> Result<Self, Problem> {
        let mut runs = periods(db, "SELECT started_ms, until_ms FROM run")?;
        runs.sort_unstable();
        let again = overlaps(&runs);
        let mut gaps = periods(db, "SELECT from_ms, to_ms FROM gap")?;
        gaps.sort_unstable();
        let gaps = join(&gaps);
        let recorded = join(&runs).into_iter().flat_map(|run| run.without(&gaps)).collect();
        let mut imported = periods(db, "SELECT started_ms, until_ms FROM run WHERE imported")?;
        imported.sort_unstable();
        Ok(Self {
            runs,
            recorded,
            imported: join(&imported),
            again,
            covered_until: None,
            run: None,
            cards: HashSet::new(),
        })
    }

    /// Returns true if time lies in a run, its ends included.
    pub fn is_in_run(&self, at: i64) -> bool {
        self.runs.iter().any(|run| run.from.0 <= at && at <= run.to.0)
    }

    /// Returns true if an imported run covers a part of a period.
    pub fn overlaps_import(&self, period: Period) -> bool {
        let first = self.imported.partition_point(|run| run.to <= period.from);
        self.imported.get(first).is_some_and(|run| run.from < period.to)
    }

    /// Returns true if several runs recorded a part of a period.
    pub fn is_recorded_again(&self, period: Period) -> bool {
        self.again.iter().any(|again| !again.overlap(&period).is_empty())
    }

    /// Returns what is wrong with the observed time of a row.
    pub fn check_observed(&self, period: Period, observed_ms: i64) -> Option<String> {
        let recorded = self.recorded_ms(period);
        let is_too_long = observed_ms > recorded.saturating_add(MOST_OUTSIDE_MS);
        is_too_long.then(|| {
            format!(
                "has {observed_ms} ms, of which runs without their gaps have only {recorded} ms"
            )
        })
    }

    /// Adds a row. Returns what is wrong with the time before it, if no card has a row there.
    ///
    /// One card may leave the driver's list. Several of one run do not leave it together.
    pub fn check_before(&mut self, card: i64, period: Period) -> Option<(i64, String)> {
        let from = period.from.0;
        let before = self.covered_until.unwrap_or(from);
        self.covered_until = Some(before.max(period.to.0));
        let is_in = |run: &&Period| run.from.0 <= from && from <= run.to.0;
        let run =
            self.run.as_ref().filter(is_in).or_else(|| self.runs.iter().rfind(is_in)).copied();
        let missing = self.recorded_ms(Period::new(UnixMillis(before), period.from));
        let is_within = run.is_some_and(|run| run.from.0 < before);
        let are_several = run == self.run && self.cards.len() > 1;
        let is_again = self.is_recorded_again(Period::new(UnixMillis(before), period.from));
        let is_wrong = missing > MOST_UNCOVERED_MS && is_within && are_several && !is_again;
        if self.run != run {
            self.cards.clear();
        }
        self.run = run;
        self.cards.insert(card);
        is_wrong
            .then(|| (before, format!("no card has a row for {missing} ms, and no gap says why")))
    }

    fn recorded_ms(&self, period: Period) -> i64 {
        let first = self.recorded.partition_point(|recorded| recorded.to <= period.from);
        let overlapping =
            self.recorded[first..].iter().take_while(|recorded| recorded.from < period.to);
        overlapping.map(|recorded| recorded.overlap(&period).millis()).sum()
    }
}

fn periods(db: &Connection, select: &str) -> Result<Vec<Period>, Problem> {
    let mut query = db.prepare(select)?;
    let periods = query
        .query_map([], |row| Ok(Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?))))?;
    Ok(periods.collect::<Result<_, _>>()?)
}

/// Returns the time that several of some periods, which are in order, have in common.
fn overlaps(periods: &[Period]) -> Vec<Period> {
    let mut until = UnixMillis(i64::MIN);
    let overlap = |period: &Period| {
        let overlap = Period::new(period.from, period.to.min(until));
        until = until.max(period.to);
        overlap
    };
    periods.iter().map(overlap).filter(|overlap| !overlap.is_empty()).collect()
}

/// Joins periods in order that overlap or touch.
fn join(periods: &[Period]) -> Vec<Period> {
    let mut joined: Vec<Period> = Vec::new();
    for period in periods {
        match joined.last_mut() {
            Some(last) if period.from <= last.to => last.to = last.to.max(period.to),
            _ => joined.push(*period),
        }
    }
    joined
}
