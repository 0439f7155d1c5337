//! Reads a window by adding: hour rows, and fine rows at its edges.

use std::collections::{BTreeMap, HashMap};

use gua_core::period::HOUR;
use gua_core::span::GapReason;
use gua_core::units::UnixMillis;
use gua_core::{Period, Reason};
use rusqlite::Connection;

use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::observed::{Observed, full_hours};
use crate::rows::{CardRow, CardTimes, HolderRow, HolderTimes};
use crate::sums::{Bounds, hour_of};
use crate::tables::{self, Age};

/// Sums of a window, in `f64`: nothing is rounded before it is printed.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSums {
    /// The window as asked for, ended where the record is final.
    pub window: Period,
    /// By the id of the card.
    pub cards: BTreeMap<i64, CardSums>,
    /// By the id of the holder.
    pub holders: BTreeMap<i64, HolderSums>,
    /// Time that was not observed, in order.
    pub gaps: Vec<WindowGap>,
}

/// Sums of a card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardSums {
    pub times: CardTimes<f64>,
    /// Unknown time in milliseconds, by its reason.
    pub unknown_ms: HashMap<Reason, f64>,
    /// Part of `other_j` of unknown time.
    pub unknown_j: f64,
}

/// Sums of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HolderSums {
    pub times: HolderTimes<f64>,
    /// Most memory in any row that the window touches.
    pub peak_mib: i64,
}

/// Time of a window that was not observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowGap {
    pub period: Period,
    /// `None` if the recorder did not run.
    pub reason: Option<GapReason>,
}

/// Finest rows that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Exact spans and quarter hours, as far as they are kept; hours before that.
    Fine,
    /// Hours, and fine rows at the edges of the window.
    Hours,
}

impl Grain {
    /// Limits hour rows to those that are read.
    pub(crate) const fn limit(self, bounds: Bounds) -> Bounds {
        let hours_until = match self {
            Self::Fine => bounds.fine_from,
            Self::Hours => bounds.hours_until,
        };
        Bounds { hours_until, ..bounds }
    }
}

impl Database {
    /// Reads the rows of a window in order of time, cards before holders. Only the given period of a row
    /// lies in the window.
    pub fn each_row(
        &self,
        window: Period,
        grain: Grain,
        mut card: impl FnMut(&CardRow, Period),
        mut holder: impl FnMut(&HolderRow, Period),
    ) -> Result<(), StoreError> {
        let mut read = || -> Result<(), Problem> {
            let db = &self.connection;
            for (age, part) in parts(&grain.limit(Bounds::read(db)?), window) {
                tables::each_card_row(db, age, age.range(part), |row| {
                    let inside = row.period.overlap(&part);
                    if !inside.is_empty() {
                        card(&row, inside);
                    }
                    Ok(())
                })?;
                tables::each_holder_row(db, age, age.range(part), |row| {
                    let inside = row.period.overlap(&part);
                    if !inside.is_empty() {
                        holder(&row, inside);
                    }
                    Ok(())
                })?;
            }
            Ok(())
        };
        self.at_once(|| self.result(read()))
    }

    /// Adds up what cards and holders did in a window.
    pub fn usage(&self, window: Period) -> Result<WindowSums, StoreError> {
        self.at_once(|| self.result(read(self, window)))
    }

    /// Adds up what holders did, each in a period of its own.
    pub fn holder_sums(&self, periods: &[(i64, Period)]) -> Result<Vec<HolderSums>, StoreError> {
        self.at_once(|| self.result(read_holder_sums(self, periods)))
    }

    /// Reads the time of a window that was not observed, in order: gaps, and time without a run.
    pub fn gaps(&self, window: Period) -> Result<Vec<WindowGap>, StoreError> {
        self.result(gaps(&self.connection, window))
    }

    /// Returns the time up to which the record of the newest run is final.
    pub fn final_until(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.result(final_until(&self.connection))
    }
}

/// An import may end later: "now" belongs to the run that goes on.
fn final_until(db: &Connection) -> Result<Option<UnixMillis>, Problem> {
    let newest = "SELECT until_ms FROM run
         ORDER BY imported, iif(imported, until_ms, id) DESC LIMIT 1";
    let mut query = db.prepare_cached(newest)?;
    let mut rows = query.query([])?;
    rows.next()?.map(|row| Ok(UnixMillis(row.get(0)?))).transpose()
}

fn read(database: &Database, window: Period) -> Result<WindowSums, Problem> {
    let db = &database.connection;
    let until = final_until(db)?.unwrap_or(window.from);
    let window = Period::new(window.from, window.to.min(until).max(window.from));
    let mut gaps = gaps(db, full_hours(window))?;
    let observed = Observed::with_gaps(database, &gaps)?;
    gaps.iter_mut().for_each(|gap| gap.period = gap.period.overlap(&window));
    gaps.retain(|gap| !gap.period.is_empty());
    let mut sums = WindowSums { window, cards: BTreeMap::new(), holders: BTreeMap::new(), gaps };
    for (age, part) in parts(&Bounds::read(db)?, window) {
        sums.add(db, &observed, age, part)?;
    }
    Ok(sums)
}

/// Returns the parts of a window and the rows that each is read from: hour rows for complete hours, fine
/// rows at the edges while they exist.
pub(crate) fn parts(bounds: &Bounds, window: Period) -> Vec<(Age, Period)> {
    let [from, to] = [window.from.0, window.to.0];
    // Without fine rows, the hour in which the window begins is cut; so is the one in which it ends.
    let first = if from < bounds.fine_from { from } else { hour_of(from.saturating_add(HOUR - 1)) };
    let last = if to < bounds.fine_from { to } else { hour_of(to).min(bounds.hours_until) };
    let parts = if first < last {
        vec![(Age::Fine, [from, first]), (Age::Hours, [first, last]), (Age::Fine, [last, to])]
    } else {
        vec![(Age::Fine, [from, to])]
    };
    let parts = parts
        .into_iter()
        .map(|(age, [from, to])| (age, Period::new(UnixMillis(from), UnixMillis(to))));
    parts.filter(|(_, period)| !period.is_empty()).collect()
}

impl WindowSums {
    fn add(
        &mut self,
        db: &Connection,
        observed: &Observed,
        age: Age,
        part: Period,
    ) -> Result<(), Problem> {
        let range = age.range(part);
        tables::each_card_row(db, age, range, |row| {
            let inside = observed.counted_part(row.period, part);
            if inside > 0.0 {
                let sums = self.cards.entry(row.card).or_default();
                sums.times.add_part(&row.times, inside);
                if row.reason != codes::KNOWN {
                    #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
                    let [unknown, joules] =
                        [row.times.unknown_ms, row.times.other_j].map(|it| it as f64 * inside);
                    sums.unknown_j += joules;
                    *sums.unknown_ms.entry(codes::reason(row.reason)).or_default() += unknown;
                }
            }
            Ok(())
        })?;
        tables::each_holder_row(db, age, range, |row| {
            let inside = observed.counted_part(row.period, part);
            if inside > 0.0 {
                self.holders.entry(row.holder).or_default().add(&row, inside);
            }
            Ok(())
        })
    }
}

/// Adds up what holders did, in one pass over the rows of each age.
fn read_holder_sums(
    database: &Database,
    periods: &[(i64, Period)],
) -> Result<Vec<HolderSums>, Problem> {
    let db = &database.connection;
    let bounds = Bounds::read(db)?;
    let all = periods.iter().map(|(_, period)| *period);
    let all = all.reduce(|one, other| Period::new(one.from.min(other.from), one.to.max(other.to)));
    let Some(all) = all else { return Ok(Vec::new()) };
    let observed = Observed::read(database, all)?;
    let mut sums = vec![HolderSums::default(); periods.len()];
    for age in [Age::Fine, Age::Hours] {
        let mut wanted: HashMap<i64, Vec<(usize, Period)>> = HashMap::new();
        let mut range = [i64::MAX, i64::MIN];
        for (place, (holder, period)) in periods.iter().enumerate() {
            for (_, part) in parts(&bounds, *period).into_iter().filter(|(of, _)| *of == age) {
                wanted.entry(*holder).or_default().push((place, part));
                let [from, to] = age.range(part);
                range = [range[0].min(from), range[1].max(to)];
            }
        }
        tables::each_holder_row(db, age, range, |row| {
            for (place, part) in wanted.get(&row.holder).into_iter().flatten() {
                let inside = observed.counted_part(row.period, *part);
                if inside > 0.0 {
                    sums[*place].add(&row, inside);
                }
            }
            Ok(())
        })?;
    }
    Ok(sums)
}

impl HolderSums {
    /// Adds a part of a row, from 0 to 1.
    fn add(&mut self, row: &HolderRow, part: f64) {
        self.times.add_part(&row.times, part);
        self.peak_mib = self.peak_mib.max(row.peak_mib);
    }
}

/// Returns the time of a window that was not observed: gaps of the host, and time without a run.
pub(crate) fn gaps(db: &Connection, window: Period) -> Result<Vec<WindowGap>, Problem> {
    let mut recorded = periods(db, "SELECT started_ms, until_ms, NULL FROM run", window)?;
    recorded.sort_by_key(|(period, _)| *period);
    let mut stored = periods(db, "SELECT from_ms, to_ms, reason FROM gap", window)?;
    stored.sort_by_key(|(period, _)| *period);
    let mut gaps = Vec::new();
    let mut done = window.from;
    // A gap that a later one or a run overlaps is counted once.
    for (period, reason) in &stored {
        let period = Period::new(period.from.max(done), period.to);
        if !period.is_empty() {
            done = period.to;
            let reason = reason.filter(|code| *code != codes::NO_RECORDER);
            gaps.push(WindowGap { period, reason: reason.map(codes::gap_reason) });
        }
    }
    let mut known: Vec<Period> = recorded.iter().map(|(period, _)| *period).collect();
    known.extend(gaps.iter().map(|gap| gap.period));
    let without_run = window.without(&union(known)).into_iter();
    gaps.extend(without_run.map(|period| WindowGap { period, reason: None }));
    gaps.sort_by_key(|gap| gap.period);
    Ok(gaps)
}

fn periods(
    db: &Connection,
    select: &str,
    window: Period,
) -> Result<Vec<(Period, Option<i64>)>, Problem> {
    let mut query = db.prepare_cached(select)?;
    let rows = query.query_map([], |row| {
        let period = Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?));
        Ok((period.overlap(&window), row.get(2)?))
    })?;
    let rows: Vec<(Period, Option<i64>)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().filter(|(period, _)| !period.is_empty()).collect())
}

/// Joins periods that overlap or touch.
pub(crate) fn union(mut periods: Vec<Period>) -> Vec<Period> {
    periods.sort_unstable();
    let mut joined: Vec<Period> = Vec::new();
    for period in periods {
        match joined.last_mut() {
            Some(last) if period.from <= last.to => last.to = last.to.max(period.to),
            _ => joined.push(period),
        }
    }
    joined
}
