//! Reads and writes rows of cards and holders, fine ones and hours.

use std::sync::OnceLock;

use gua_core::Period;
use gua_core::period::HOUR;
use rusqlite::{Connection, params_from_iter};

use crate::error::Problem;
use crate::rows::{
    CardRow, CardTimes, HolderRow, HolderTimes, QUARTER_HOUR, SpanRows, read_period,
};

/// Age of rows: the tables that hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// Exact spans and quarter hours.
    Fine,
    Hours,
}

impl Age {
    pub const fn card_table(self) -> &'static str {
        match self {
            Self::Fine => "card_span",
            Self::Hours => "card_hour",
        }
    }

    /// Returns between which begins the rows lie that may overlap a period.
    pub fn range(self, period: Period) -> [i64; 2] {
        let longest = if self == Self::Hours { HOUR } else { QUARTER_HOUR };
        [period.from.0.div_euclid(longest) * longest, period.to.0]
    }

    pub const fn holder_table(self) -> &'static str {
        match self {
            Self::Fine => "holder_span",
            Self::Hours => "holder_hour",
        }
    }
}

/// Returns the columns of durations, integrals and energy, each as `format` has it with `{}` replaced.
pub(crate) fn columns(names: &[&str], format: &str) -> String {
    let columns: Vec<_> = names.iter().map(|name| format.replace("{}", name)).collect();
    columns.join(", ")
}

pub(crate) fn write_card_row(db: &Connection, age: Age, row: &CardRow) -> Result<(), Problem> {
    // Made once, as many rows are written.
    static INSERTS: [OnceLock<String>; 2] = [const { OnceLock::new() }; 2];
    let sql = INSERTS[age as usize].get_or_init(|| {
        let names = &CardTimes::<i64>::COLUMNS;
        insert(age.card_table(), &["from_ms", "length_ms", "card", "reason"], names)
    });
    let key = [row.period.from.0, row.period.millis(), row.card, row.reason];
    let values = key.into_iter().chain(row.times.values());
    db.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

pub(crate) fn write_holder_row(db: &Connection, age: Age, row: &HolderRow) -> Result<(), Problem> {
    static INSERTS: [OnceLock<String>; 2] = [const { OnceLock::new() }; 2];
    let sql = INSERTS[age as usize].get_or_init(|| {
        let names = &HolderTimes::<i64>::COLUMNS;
        insert(age.holder_table(), &["from_ms", "length_ms", "holder", "peak_mib"], names)
    });
    let key = [row.period.from.0, row.period.millis(), row.holder, row.peak_mib];
    let values = key.into_iter().chain(row.times.values());
    db.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

fn insert(table: &str, key: &[&str], times: &[&str]) -> String {
    let names = [key, times].concat();
    let values = vec!["?"; names.len()].join(", ");
    format!("INSERT OR REPLACE INTO {table} ({}) VALUES ({values})", names.join(", "))
}

/// Writes a card's fine row and its holders', in place of rows with the same key.
pub(crate) fn write_rows(db: &Connection, rows: &SpanRows) -> Result<(), Problem> {
    write_card_row(db, Age::Fine, &rows.card)?;
    rows.holders.iter().try_for_each(|row| write_holder_row(db, Age::Fine, row))
}

pub(crate) fn delete_card_row(db: &Connection, row: &CardRow) -> Result<(), Problem> {
    db.prepare_cached("DELETE FROM card_span WHERE from_ms = ?1 AND card = ?2 AND reason = ?3")?
        .execute((row.period.from.0, row.card, row.reason))?;
    Ok(())
}

pub(crate) fn delete_holder_row(db: &Connection, row: &HolderRow) -> Result<(), Problem> {
    db.prepare_cached("DELETE FROM holder_span WHERE from_ms = ?1 AND holder = ?2")?
        .execute((row.period.from.0, row.holder))?;
    Ok(())
}

/// Calls `each` with the rows of cards that begin in [`from`, `to`), in the order of time.
pub(crate) fn each_card_row(
    db: &Connection,
    age: Age,
    [from, to]: [i64; 2],
    mut each: impl FnMut(CardRow) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let sql = format!(
        "SELECT from_ms, length_ms, card, reason, {} FROM {} WHERE from_ms >= ?1 AND from_ms < ?2",
        columns(&CardTimes::<i64>::COLUMNS, "{}"),
        age.card_table()
    );
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query((from, to))?;
    while let Some(row) = rows.next()? {
        let period = read_period(row.get(0)?, row.get(1)?);
        let times = CardTimes::read(row, 4)?;
        each(CardRow { period, card: row.get(2)?, reason: row.get(3)?, times })?;
    }
    Ok(())
}

/// Calls `each` with the rows of holders that begin in [`from`, `to`), in the order of time.
pub(crate) fn each_holder_row(
    db: &Connection,
    age: Age,
    [from, to]: [i64; 2],
    mut each: impl FnMut(HolderRow) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let sql = format!(
        "SELECT from_ms, length_ms, holder, peak_mib, {} FROM {}
             WHERE from_ms >= ?1 AND from_ms < ?2",
        columns(&HolderTimes::<i64>::COLUMNS, "{}"),
        age.holder_table()
    );
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query((from, to))?;
    while let Some(row) = rows.next()? {
        let period = read_period(row.get(0)?, row.get(1)?);
        let times = HolderTimes::read(row, 4)?;
        each(HolderRow { period, holder: row.get(2)?, peak_mib: row.get(3)?, times })?;
    }
    Ok(())
}
