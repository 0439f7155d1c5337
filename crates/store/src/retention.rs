//! Deletes rows by age, an hour of history at a time, and gives free pages back to the file system.

use std::collections::BTreeMap;

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, TransactionBehavior};
use serde::Serialize;

use crate::allowance::{Allowance, Kind};
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::info::serialize_time;
use crate::sums::{self, Bounds, delete_rows, hour_of, oldest_hour};

const DAY: i64 = 24 * HOUR;

/// Pages given back in one round: some milliseconds.
const MOST_PAGES: i64 = 500;

/// A recorder gives pages back if more than these are free, and more than one in [`FREE_SHARE`]: a few
/// are used again soon.
const FREE_PAGES: i64 = 256;
const FREE_SHARE: i64 = 8;

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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Pruned {
    /// Deleted rows by table. `exact` is by how many fewer the fine rows are that were summed up.
    pub rows: BTreeMap<&'static str, usize>,
    /// Free pages given back to the file system.
    pub returned_pages: i64,
    /// True if a limit was reached: there may be more to do now.
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

/// Rows of a table that are too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DueRows {
    pub rows: i64,
    #[serde(rename = "oldest", serialize_with = "serialize_time")]
    pub oldest_ms: i64,
    #[serde(rename = "newest", serialize_with = "serialize_time")]
    pub newest_ms: i64,
}

impl Database {
    /// Counts the rows that [`Database::prune_now`] would delete, by table, and deletes nothing.
    ///
    /// `exact` are the fine rows that would be summed up. Names that lose their last row, such as
    /// processes, are not counted.
    pub fn due_rows(
        &self,
        retention: &Retention,
        now: UnixMillis,
    ) -> Result<BTreeMap<&'static str, DueRows>, StoreError> {
        let count = || -> Result<_, Problem> {
            let transaction = self.connection.unchecked_transaction()?;
            due_rows(&transaction, retention, now.0)
        };
        self.result(count())
    }

    /// Sums up and deletes rows that are too old at `now`, without proof of their age, as an admin asked
    /// for it. To be repeated while the result is partial.
    ///
    /// Beside a recorder the names stay that have no rows any more: it remembers their ids.
    pub fn prune_now(
        &mut self,
        retention: &Retention,
        now: UnixMillis,
        most_rows: usize,
    ) -> Result<Pruned, StoreError> {
        let sweeps_names = self.is_exclusive();
        let mut prune = || -> Result<Pruned, Problem> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let round = Round { retention, now: now.0, most_rows, sweeps_names };
            let mut pruned = round.run(&transaction, None)?;
            if !pruned.is_partial {
                if sweeps_names {
                    let end = Bounds::read(&transaction)?.hours_from;
                    sweep_names(&transaction, end, &mut pruned)?;
                }
                pruned.returned_pages = return_pages(&transaction)?;
                pruned.is_partial = free_pages(&transaction)? > 0 && pruned.returned_pages > 0;
            }
            transaction.commit()?;
            Ok(pruned)
        };
        let pruned = prune();
        self.result(pruned)
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
    let round = Round { retention, now, most_rows, sweeps_names: true };
    let mut pruned = round.run(db, Some(allowance))?;
    let (free, pages) = (free_pages(db)?, pragma(db, "page_count")?);
    if !pruned.is_partial && free > FREE_PAGES && free > pages / FREE_SHARE {
        pruned.returned_pages = return_pages(db)?;
    }
    Ok(pruned)
}

/// Limits of one round.
struct Round<'a> {
    retention: &'a Retention,
    now: i64,
    most_rows: usize,
    sweeps_names: bool,
}

impl Round<'_> {
    /// Deletes what the allowance permits; without one, everything that is too old.
    fn run(
        &self,
        db: &Connection,
        mut allowance: Option<&mut Allowance>,
    ) -> Result<Pruned, Problem> {
        let mut pruned = Pruned::default();
        // Exact spans last: those that are old enough to be deleted need not be summed up.
        'kinds: for kind in [Kind::Quarters, Kind::Hours, Kind::Samples, Kind::Exact] {
            while let Some(hour) = oldest_due(db, self.retention, self.now, kind)? {
                if allowance.as_mut().is_some_and(|allowance| !allowance.pay_hour(kind)) {
                    pruned.is_held_back = true;
                    break;
                }
                match kind {
                    Kind::Exact => sum_exact(db, hour, &mut pruned)?,
                    Kind::Quarters => delete_fine(db, hour, &mut pruned)?,
                    Kind::Hours => self.delete_hours(db, hour, &mut pruned)?,
                    Kind::Samples => delete_samples(db, hour, &mut pruned)?,
                }
                if pruned.total() >= self.most_rows {
                    pruned.is_partial = true;
                    break 'kinds;
                }
            }
        }
        pruned.wait_ms = allowance.map_or(0, |allowance| allowance.wait_ms());
        Ok(pruned)
    }

    fn delete_hours(&self, db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
        let end = hour + HOUR;
        for table in ["card_hour", "holder_hour"] {
            pruned.count(table, delete_rows(db, table, [i64::MIN, end])?);
        }
        let bounds = Bounds::read(db)?;
        Bounds { hours_from: end, ..bounds }.write(db)?;
        for (table, _, is_old) in ENDED {
            let rows = db.execute(&format!("DELETE FROM {table} WHERE {is_old}"), [end])?;
            pruned.count(table, rows);
        }
        if self.sweeps_names && end % DAY == 0 {
            sweep_names(db, end, pruned)?;
        }
        Ok(())
    }
}

/// Tables that are kept as long as hours: table, time, and which rows are too old.
const ENDED: [(&str, &str, &str); 4] = [
    ("session", "from_ms", "from_ms < ?1 AND to_ms <= ?1"),
    ("gap", "from_ms", "from_ms < ?1 AND to_ms <= ?1"),
    ("event", "at_ms", "ifnull(until_ms, at_ms) < ?1"),
    // The newest run is never deleted, nor the newest that was recorded here.
    (
        "run",
        "started_ms",
        "until_ms < ?1 AND id NOT IN
             (SELECT max(id) FROM run UNION SELECT max(id) FROM run WHERE NOT imported)",
    ),
];

/// Times before which rows are too old: full hours.
struct Ends {
    exact: i64,
    quarters: i64,
    hours: i64,
    samples: i64,
}

impl Ends {
    /// Fine rows go only when there are hour rows in their place.
    fn new(bounds: &Bounds, retention: &Retention, now: i64) -> Self {
        let before = |age: i64| hour_of(now.saturating_sub(age.max(0)));
        Self {
            exact: before(retention.exact_ms).min(bounds.hours_until),
            quarters: before(retention.quarters_ms).min(bounds.hours_until),
            hours: before(retention.hours_ms),
            samples: before(retention.samples_ms),
        }
    }
}

/// Returns the oldest hour with rows of a kind that are too old.
fn oldest_due(
    db: &Connection,
    retention: &Retention,
    now: i64,
    kind: Kind,
) -> Result<Option<i64>, Problem> {
    let bounds = Bounds::read(db)?;
    let ends = Ends::new(&bounds, retention, now);
    let oldest = |table, column, from| oldest_hour(db, table, column, from);
    let (oldest, end) = match kind {
        Kind::Exact => {
            let from = bounds.quarters_until.max(bounds.fine_from);
            (oldest("card_span", "from_ms", from)?, ends.exact)
        }
        Kind::Quarters => (oldest("card_span", "from_ms", i64::MIN)?, ends.quarters),
        Kind::Hours => {
            // A host without cards has gaps and events alone.
            let oldest = [
                oldest("card_hour", "from_ms", i64::MIN)?,
                oldest("gap", "to_ms - 1", i64::MIN)?,
                oldest("event", "ifnull(until_ms, at_ms)", i64::MIN)?,
            ];
            (oldest.into_iter().flatten().min(), ends.hours.min(oldest_fine(db)?))
        }
        Kind::Samples => (oldest("sample", "at_ms", i64::MIN)?, ends.samples),
    };
    Ok(oldest.filter(|hour| *hour < end))
}

/// Returns the hour of the oldest fine row. Hours go only after the fine rows of their time.
fn oldest_fine(db: &Connection) -> Result<i64, Problem> {
    Ok(oldest_hour(db, "card_span", "from_ms", i64::MIN)?.unwrap_or(i64::MAX))
}

fn due_rows(
    db: &Connection,
    retention: &Retention,
    now: i64,
) -> Result<BTreeMap<&'static str, DueRows>, Problem> {
    let bounds = Bounds::read(db)?;
    let ends = Ends::new(&bounds, retention, now);
    let kept_fine = oldest_hour(db, "card_span", "from_ms", ends.quarters)?.unwrap_or(i64::MAX);
    let hours = ends.hours.min(kept_fine);
    let mut due = BTreeMap::new();
    let mut count = |name, rows: &str, at: &str, [from, end]: [i64; 2]| -> Result<(), Problem> {
        // Not every condition needs the begin, and SQLite refuses a value without a place.
        let sql = format!("SELECT count(*), min({at}), max({at}) FROM {rows} AND ?2 <= ?1");
        let found = db.query_row(&sql, (end, from.min(end)), |row| {
            Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, Option<i64>>(2)?))
        })?;
        if let (rows, Some(oldest_ms), Some(newest_ms)) = found {
            due.insert(name, DueRows { rows, oldest_ms, newest_ms });
        }
        Ok(())
    };
    for table in FINE_TABLES {
        count(table, &format!("{table} WHERE from_ms < ?1"), "from_ms", [i64::MIN, ends.quarters])?;
    }
    for table in ["card_hour", "holder_hour"] {
        count(table, &format!("{table} WHERE from_ms < ?1"), "from_ms", [i64::MIN, hours])?;
    }
    for (table, at, is_old) in ENDED {
        count(table, &format!("{table} WHERE {is_old}"), at, [i64::MIN, hours])?;
    }
    count("sample", "sample WHERE at_ms < ?1", "at_ms", [i64::MIN, ends.samples])?;
    let exact = "(SELECT from_ms FROM card_span UNION ALL SELECT from_ms FROM holder_span)
                     WHERE from_ms < ?1 AND from_ms >= ?2";
    let exact_from = bounds.quarters_until.max(bounds.fine_from).max(ends.quarters);
    count("exact", exact, "from_ms", [exact_from, ends.exact])?;
    Ok(due)
}

fn sum_exact(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    pruned.count("exact", sums::sum_quarter_hours(db, hour)?);
    let bounds = Bounds::read(db)?;
    Bounds { quarters_until: hour + HOUR, ..bounds }.write(db)
}

/// Tables of fine rows, and signs, which are of use only beside them.
const FINE_TABLES: [&str; 3] = ["card_span", "holder_span", "sign_span"];

fn delete_fine(db: &Connection, hour: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    for table in FINE_TABLES {
        pruned.count(table, delete_rows(db, table, [i64::MIN, hour + HOUR])?);
    }
    let bounds = Bounds::read(db)?;
    let quarters_until = bounds.quarters_until.max(hour + HOUR);
    Bounds { fine_from: hour + HOUR, quarters_until, ..bounds }.write(db)
}

/// Deletes holders without rows, processes without a holder, and people and workloads without a process.
fn sweep_names(db: &Connection, end: i64, pruned: &mut Pruned) -> Result<(), Problem> {
    let unused =
        "DELETE FROM holder WHERE until_ms <= ?1 AND id NOT IN (SELECT holder FROM session)";
    pruned.count("holder", db.execute(unused, [end])?);
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

/// Gives free pages at the end of the file back. Returns their number.
fn return_pages(db: &Connection) -> Result<i64, Problem> {
    let before = free_pages(db)?;
    let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({MOST_PAGES})"))?;
    let mut rows = vacuum.query([])?;
    // Each row is a page.
    while rows.next()?.is_some() {}
    Ok(before - free_pages(db)?)
}

fn free_pages(db: &Connection) -> Result<i64, Problem> {
    pragma(db, "freelist_count")
}

fn pragma(db: &Connection, name: &str) -> Result<i64, Problem> {
    Ok(db.pragma_query_value(None, name, |row| row.get(0))?)
}
