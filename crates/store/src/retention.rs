//! Deletes rows by age, an hour of history at a time.

use std::collections::BTreeMap;

use gua_core::period::HOUR;
use rusqlite::Connection;

use crate::allowance::{Allowance, Kind};
use crate::error::Problem;
use crate::sums::{self, Bounds, delete_rows, hour_of, oldest_hour};

const DAY: i64 = 24 * HOUR;

/// How long rows of each kind are kept, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Exact spans, before they become quarter hours.
    pub exact_ms: i64,
    pub quarters_ms: i64,
    /// Hours, sessions, gaps and events.
    pub hours_ms: i64,
    /// Samples for plots.
    pub samples_ms: i64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { exact_ms: 2 * DAY, quarters_ms: 30 * DAY, hours_ms: 400 * DAY, samples_ms: 7 * DAY }
    }
}

/// What one round of pruning did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Deleted rows by table.
    pub rows: BTreeMap<&'static str, usize>,
    /// True if the limit of rows was reached: there may be more to delete now.
    pub is_partial: bool,
    /// True if rows are too old and may not be deleted yet.
    pub is_held_back: bool,
    /// Recording that is needed after a leap of the clock before anything is deleted.
    pub wait_ms: i64,
}

impl Pruned {
    /// Returns the number of deleted rows.
    #[must_use]
    pub fn total(&self) -> usize {
        self.rows.values().sum()
    }

    fn count(&mut self, table: &'static str, rows: usize) {
        if rows > 0 {
            *self.rows.entry(table).or_default() += rows;
        }
    }
}

/// Sums up and deletes rows that are too old at `now`, as far as the allowance permits. Stops after the
/// hour in which `most_rows` is reached.
pub(crate) fn prune(
    db: &Connection,
    retention: &Retention,
    now: i64,
    allowance: &mut Allowance,
    most_rows: usize,
) -> Result<Pruned, Problem> {
    let mut pruned = Pruned::default();
    for kind in [Kind::Exact, Kind::Quarters, Kind::Hours, Kind::Samples] {
        while let Some(hour) = oldest_due(db, retention, now, kind)? {
            if !allowance.pay_hour(kind) {
                pruned.is_held_back = true;
                break;
            }
            match kind {
                Kind::Exact => sum_exact(db, hour, &mut pruned)?,
                Kind::Quarters => delete_fine(db, hour, &mut pruned)?,
                Kind::Hours => delete_hours(db, hour, &mut pruned)?,
                Kind::Samples => delete_samples(db, hour, &mut pruned)?,
            }
            if pruned.total() >= most_rows {
                pruned.is_partial = true;
                return Ok(pruned);
            }
        }
    }
    pruned.wait_ms = allowance.wait_ms();
    Ok(pruned)
}

/// Returns the oldest hour with rows of a kind that are too old. Fine rows go only when there are hour
/// rows in their place, and hour rows only after the fine ones.
fn oldest_due(
    db: &Connection,
    retention: &Retention,
    now: i64,
    kind: Kind,
) -> Result<Option<i64>, Problem> {
    let bounds = Bounds::read(db)?;
    let before = |age: i64| hour_of(now.saturating_sub(age.max(0)));
    let (table, column, from, end) = match kind {
        Kind::Exact => {
            let end = before(retention.exact_ms).min(bounds.hours_until);
            ("card_span", "from_ms", bounds.quarters_until.max(bounds.fine_from), end)
        }
        Kind::Quarters => {
            let end = before(retention.quarters_ms).min(bounds.hours_until);
            ("card_span", "from_ms", i64::MIN, end)
        }
        Kind::Hours => {
            let end = before(retention.hours_ms).min(bounds.fine_from);
            ("card_hour", "from_ms", i64::MIN, end)
        }
        Kind::Samples => ("sample", "at_ms", i64::MIN, before(retention.samples_ms)),
    };
    Ok(oldest_hour(db, table, column, from)?.filter(|hour| *hour < end))
}

fn sum_exact(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    pruned.count("exact", sums::sum_quarter_hours(db, hour)?);
    let bounds = Bounds::read(db)?;
    Bounds { quarters_until: hour + HOUR, ..bounds }.write(db)
}

fn delete_fine(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    for table in ["card_span", "holder_span", "sign_span"] {
        pruned.count(table, delete_rows(db, table, [i64::MIN, hour + HOUR])?);
    }
    let bounds = Bounds::read(db)?;
    let quarters_until = bounds.quarters_until.max(hour + HOUR);
    Bounds { fine_from: hour + HOUR, quarters_until, ..bounds }.write(db)
}

fn delete_hours(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    let end = hour + HOUR;
    for table in ["card_hour", "holder_hour"] {
        pruned.count(table, delete_rows(db, table, [i64::MIN, end])?);
    }
    let bounds = Bounds::read(db)?;
    Bounds { hours_from: end, ..bounds }.write(db)?;
    let mut delete = |table, condition: &str| -> Result<(), Problem> {
        let rows = db.execute(&format!("DELETE FROM {table} WHERE {condition}"), [end])?;
        pruned.count(table, rows);
        Ok(())
    };
    delete("session", "to_ms <= ?1")?;
    delete("gap", "to_ms <= ?1")?;
    delete("event", "ifnull(until_ms, at_ms) < ?1")?;
    // The newest run is never deleted, nor the newest that was recorded here.
    delete(
        "run",
        "until_ms < ?1 AND id NOT IN
             (SELECT max(id) FROM run UNION SELECT max(id) FROM run WHERE NOT imported)",
    )?;
    if end % DAY == 0 {
        delete("holder", "until_ms <= ?1 AND id NOT IN (SELECT holder FROM session)")?;
        sweep_names(db, pruned)?;
    }
    Ok(())
}

/// Deletes processes without a holder, and people and workloads without a process.
fn sweep_names(db: &Connection, pruned: &mut Pruned) -> Result<(), Problem> {
    let unused = [
        ("process", "holder WHERE process IS NOT NULL UNION SELECT process FROM sign_span"),
        ("workload", "process WHERE workload IS NOT NULL"),
        ("person", "process"),
    ];
    for (table, users) in unused {
        let sql = format!("DELETE FROM {table} WHERE id NOT IN (SELECT {table} FROM {users})");
        pruned.count(table, db.execute(&sql, [])?);
    }
    Ok(())
}

fn delete_samples(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    let deleted = db.execute("DELETE FROM sample WHERE at_ms < ?1", [hour + HOUR])?;
    pruned.count("sample", deleted);
    Ok(())
}
