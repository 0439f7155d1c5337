//! Sums of fine rows: hours as soon as they are complete, and quarter hours in place of old exact spans.

use std::collections::BTreeMap;

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::error::Problem;
use crate::rows::{CardRow, CardTimes, HolderRow, HolderTimes, QUARTER_HOUR, read_period};
use crate::tables::{self, Age};

/// Times between which rows of each age exist, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub hours_from: i64,
    pub hours_until: i64,
    /// Fine rows exist from here on: a full hour.
    pub fine_from: i64,
    /// Fine rows before this are quarter hours.
    pub quarters_until: i64,
}

impl Bounds {
    pub fn read(db: &Connection) -> Result<Self, Problem> {
        let mut query = db.prepare_cached(
            "SELECT hours_from_ms, hours_until_ms, fine_from_ms, quarters_until_ms FROM store",
        )?;
        Ok(query.query_row([], |row| {
            Ok(Self {
                hours_from: row.get(0)?,
                hours_until: row.get(1)?,
                fine_from: row.get(2)?,
                quarters_until: row.get(3)?,
            })
        })?)
    }

    pub fn write(&self, db: &Connection) -> Result<(), Problem> {
        db.prepare_cached(
            "UPDATE store SET hours_from_ms = ?1, hours_until_ms = ?2, fine_from_ms = ?3,
                 quarters_until_ms = ?4",
        )?
        .execute((
            self.hours_from,
            self.hours_until,
            self.fine_from,
            self.quarters_until,
        ))?;
        Ok(())
    }

    /// Deletes the hour rows from the hour of `at` on, as far as there are fine rows to make them again.
    pub fn go_back(mut self, db: &Connection, at: i64) -> Result<Self, Problem> {
        let hour = hour_of(at).max(self.fine_from);
        if hour < self.hours_until {
            for table in [Age::Hours.card_table(), Age::Hours.holder_table()] {
                db.execute(&format!("DELETE FROM {table} WHERE from_ms >= ?1"), [hour])?;
            }
            self.hours_until = hour;
            self.quarters_until = self.quarters_until.min(hour);
            self.write(db)?;
        }
        Ok(self)
    }
}

/// Makes the rows of all hours that are complete. Returns true if there were any.
pub(crate) fn sum_hours(db: &Connection, until: UnixMillis) -> Result<bool, Problem> {
    let mut bounds = Bounds::read(db)?;
    let end = hour_of(until.0);
    if end <= bounds.hours_until {
        return Ok(false);
    }
    let mut next = oldest_hour(db, "card_span", "from_ms", bounds.hours_until)?;
    while let Some(hour) = next.filter(|hour| *hour < end) {
        let sums = Sums::read(db, Age::Fine, [hour, hour + HOUR], HOUR)?;
        sums.write(db, Age::Hours, HOUR)?;
        let mut seen =
            db.prepare_cached("UPDATE holder SET until_ms = max(until_ms, ?2) WHERE id = ?1")?;
        for (_, holder) in sums.holders.keys() {
            seen.execute((holder, hour + HOUR))?;
        }
        next = oldest_hour(db, "card_span", "from_ms", hour + HOUR)?;
    }
    bounds.hours_until = end;
    bounds.write(db)?;
    Ok(true)
}

/// Replaces the exact spans of an hour by quarter hours. Returns by how many rows there are fewer.
pub(crate) fn sum_quarter_hours(db: &Connection, hour: i64) -> Result<usize, Problem> {
    let range = [hour, hour + HOUR];
    let sums = Sums::read(db, Age::Fine, range, QUARTER_HOUR)?;
    let deleted = delete_rows(db, Age::Fine.card_table(), range)?
        + delete_rows(db, Age::Fine.holder_table(), range)?;
    sums.write(db, Age::Fine, QUARTER_HOUR)?;
    Ok(deleted.saturating_sub(sums.cards.len() + sums.holders.len()))
}

/// Deletes the rows of a table that begin in a range. Returns their number.
pub(crate) fn delete_rows(
    db: &Connection,
    table: &str,
    [from, to]: [i64; 2],
) -> Result<usize, Problem> {
    let sql = format!("DELETE FROM {table} WHERE from_ms >= ?1 AND from_ms < ?2");
    Ok(db.prepare_cached(&sql)?.execute((from, to))?)
}

/// Returns the hour of the oldest row of a table from a time on.
pub(crate) fn oldest_hour(
    db: &Connection,
    table: &str,
    column: &str,
    from: i64,
) -> Result<Option<i64>, Problem> {
    let sql = format!("SELECT min({column}) FROM {table} WHERE {column} >= ?1");
    let oldest: Option<i64> = db.prepare_cached(&sql)?.query_row([from], |row| row.get(0))?;
    Ok(oldest.map(hour_of))
}

/// Returns the full hour at or before a time.
pub(crate) const fn hour_of(at: i64) -> i64 {
    at.div_euclid(HOUR).saturating_mul(HOUR)
}

/// Sums of rows by the begin of their stretch.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// By begin, card and reason.
    pub cards: BTreeMap<(i64, i64, i64), CardTimes>,
    /// By begin and holder, with the peak of memory.
    pub holders: BTreeMap<(i64, i64), (HolderTimes, i64)>,
}

impl Sums {
    /// Adds up the rows of a range in stretches of `length`.
    pub fn read(db: &Connection, age: Age, range: [i64; 2], length: i64) -> Result<Self, Problem> {
        let mut sums = Self::default();
        let begin = |at: UnixMillis| at.0.div_euclid(length) * length;
        tables::each_card_row(db, age, range, |row| {
            let key = (begin(row.period.from), row.card, row.reason);
            sums.cards.entry(key).or_default().add(&row.times);
            Ok(())
        })?;
        tables::each_holder_row(db, age, range, |row| {
            let (times, peak) =
                sums.holders.entry((begin(row.period.from), row.holder)).or_default();
            times.add(&row.times);
            *peak = row.peak_mib.max(*peak);
            Ok(())
        })?;
        Ok(sums)
    }

    fn write(&self, db: &Connection, age: Age, length: i64) -> Result<(), Problem> {
        for ((from, card, reason), times) in &self.cards {
            let period = read_period(*from, length);
            let row = CardRow { period, card: *card, reason: *reason, times: *times };
            tables::write_card_row(db, age, &row)?;
        }
        for ((from, holder), (times, peak_mib)) in &self.holders {
            let period = read_period(*from, length);
            let row = HolderRow { period, holder: *holder, times: *times, peak_mib: *peak_mib };
            tables::write_holder_row(db, age, &row)?;
        }
        Ok(())
    }
}
