//! Retention: what is too old goes, a little at a time, so that a recorder goes on meanwhile.
//!
//! Samples and ticks go by the order of their numbers, spans by the order of their times,
//! whole hours at once. Their pages are used again, so at an equal rate of recording the
//! file stops growing.

use std::time::Duration;

use probe::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::error::StoreError;
use super::lines;
use super::sample_key;
use super::sweep::Sweep;
use super::writer::immediate;
use crate::config;
use crate::ledger::{HOUR, next_hour};

const DAY: Duration = Duration::from_secs(86_400);

/// A file that is free to more than a share of one in so many is made smaller.
const FREE_SHARE: i64 = 8;
/// Fewer free pages than these are not worth a write.
const FREE_PAGES: i64 = 256;

/// For how long what was recorded is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    pub samples: Duration,
    pub spans: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        config::Retention::default().into()
    }
}

impl From<config::Retention> for Keep {
    /// As it was settled: where samples were to outlast spans, that was said then.
    fn from(settled: config::Retention) -> Self {
        let config::Retention { samples, spans } = settled;
        Self { samples, spans }
    }
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Rows.
    pub deleted: usize,
    /// Whether there is more to do at once.
    pub more: bool,
    /// Whether numbers of cards, identities or holders were given up: who remembers some
    /// must ask anew.
    pub swept: bool,
}

/// Takes out what is too old, step by step.
#[derive(Debug)]
pub struct Retention {
    keep: Keep,
    sweeps: bool,
    sweep: Option<Sweep>,
    next_sweep: UnixMillis,
}

impl Retention {
    /// For who holds the recorder's lock: names that nothing refers to any more go too,
    /// once a day.
    #[must_use]
    pub const fn new(keep: Keep) -> Self {
        Self { keep, sweeps: true, sweep: None, next_sweep: UnixMillis(i64::MIN) }
    }

    /// For who works beside a recorder. A recorder remembers the numbers of names, so only
    /// itself may give them up.
    #[must_use]
    pub const fn beside_a_recorder(keep: Keep) -> Self {
        Self { keep, sweeps: false, sweep: None, next_sweep: UnixMillis(i64::MIN) }
    }

    /// Takes out at most so many rows, in one short transaction.
    ///
    /// # Errors
    /// When it cannot be written. It may be tried again.
    pub fn step(
        &mut self,
        database: &mut Connection,
        now: UnixMillis,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        // SQLite would look for samples of each tick that goes, and for spans of each holder,
        // through all of them; here it is known that there are none.
        let checks: bool = database.pragma_query_value(None, "foreign_keys", |row| row.get(0))?;
        database.pragma_update(None, "foreign_keys", false)?;
        let done = self.unchecked_step(database, now, most_rows);
        database.pragma_update(None, "foreign_keys", checks)?;
        done
    }

    fn unchecked_step(
        &mut self,
        database: &mut Connection,
        now: UnixMillis,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        let deleted = delete_old(database, now, &self.keep, most_rows)?;
        if deleted > 0 {
            return Ok(Step { deleted, more: deleted >= most_rows || self.sweeps, swept: false });
        }
        if self.sweeps && now >= self.next_sweep {
            return self.sweep(database, now, most_rows);
        }
        let more = is_mostly_free(database)? && give_back(database, most_rows)?;
        Ok(Step { more, ..Step::default() })
    }

    fn sweep(
        &mut self,
        database: &mut Connection,
        now: UnixMillis,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        let mut sweep = match self.sweep.take() {
            Some(sweep) if sweep.is_of_now(database)? => sweep,
            _ => Sweep::begin(database)?,
        };
        let (deleted, is_done) = sweep.step(database, most_rows)?;
        if is_done {
            self.next_sweep = UnixMillis(now.0.saturating_add(millis(DAY)));
        } else {
            self.sweep = Some(sweep);
        }
        Ok(Step { deleted, more: true, swept: deleted > 0 })
    }
}

/// The moment before which something kept so long goes: a full hour, as spans are cut there.
fn cut(now: UnixMillis, keep: Duration) -> i64 {
    let at = now.0.saturating_sub(millis(keep));
    at.saturating_sub(at.rem_euclid(HOUR))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn delete_old(
    database: &mut Connection,
    now: UnixMillis,
    keep: &Keep,
    most_rows: usize,
) -> Result<usize, StoreError> {
    let transaction = immediate(database)?;
    let mut deleted = delete_ticks(&transaction, cut(now, keep.samples), most_rows)?;
    let before = cut(now, keep.spans);
    // What refers goes before what is referred to: a reader never sees a part without its
    // whole.
    for table in SPANS {
        deleted += delete_spans(&transaction, table, before, most_rows.saturating_sub(deleted))?;
    }
    deleted += delete_events(&transaction, before, most_rows.saturating_sub(deleted))?;
    let before = cut(now, keep.samples);
    deleted += delete_signs(&transaction, before, most_rows.saturating_sub(deleted))?;
    transaction.commit()?;
    Ok(deleted)
}

/// The tables of spans, parts before wholes.
const SPANS: [&str; 5] = ["unseen_span", "holder_span", "owner_span", "card_span", "observed"];

/// Whole hours, so that what is left of one can be held against its ticks.
fn delete_spans(
    database: &Transaction<'_>,
    table: &str,
    before: i64,
    most: usize,
) -> Result<usize, StoreError> {
    let mut first = database.prepare_cached(&format!("SELECT min(from_ms) FROM {table}"))?;
    let mut delete = database.prepare_cached(&format!("DELETE FROM {table} WHERE from_ms < ?1"))?;
    let mut deleted = 0;
    while deleted < most {
        let first: Option<i64> = first.query_row([], |row| row.get(0))?;
        let Some(first) = first.filter(|first| *first < before) else { break };
        deleted += delete.execute([next_hour(UnixMillis(first)).0.min(before)])?;
    }
    Ok(deleted)
}

fn delete_events(
    database: &Transaction<'_>,
    before: i64,
    most: usize,
) -> Result<usize, StoreError> {
    let mut delete = database.prepare_cached(
        "DELETE FROM event WHERE id IN
             (SELECT id FROM event WHERE at_ms < ?1 AND kind <> ?3 ORDER BY at_ms LIMIT ?2)",
    )?;
    Ok(delete.execute((before, limit(most), lines::KIND))?)
}

/// They are of use only with the ticks that they were seen at.
fn delete_signs(database: &Transaction<'_>, before: i64, most: usize) -> Result<usize, StoreError> {
    let mut delete = database.prepare_cached(
        "DELETE FROM policy_sign WHERE at_ms < ?1 AND at_ms <= ifnull(
             (SELECT at_ms FROM policy_sign ORDER BY at_ms LIMIT 1 OFFSET ?2), ?1)",
    )?;
    Ok(delete.execute((before, limit(most)))?)
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Ticks in the order of their numbers are in the order of time, but where a run went back:
/// there the order begins anew.
fn delete_ticks(database: &Transaction<'_>, before: i64, most: usize) -> Result<usize, StoreError> {
    let newest: Option<i64> =
        database.query_row("SELECT max(id) FROM tick", [], |row| row.get(0))?;
    let Some(newest) = newest else { return Ok(0) };
    let mut starts = vec![0];
    let mut back = database
        .prepare_cached("SELECT id FROM run WHERE goes_back = 1 AND started_ms < ?1 ORDER BY id")?;
    for run in back.query_map([before], |row| row.get::<_, i64>(0))? {
        starts.extend(first_tick(database, run?, newest)?);
    }
    let mut deleted = 0;
    for start in starts {
        deleted += delete_ticks_from(database, start, newest, before, most - deleted)?;
        if deleted >= most {
            return Ok(most);
        }
    }
    Ok(deleted)
}

/// The number of the first tick of a run or a later one. Later runs have higher numbers of
/// ticks, so it is found by halving.
fn first_tick(
    database: &Transaction<'_>,
    run: i64,
    newest: i64,
) -> Result<Option<i64>, StoreError> {
    let mut next =
        database.prepare_cached("SELECT id, run FROM tick WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let (mut low, mut high) = (0, newest + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, i64)> =
            next.query_row([middle], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match found {
            Some((id, other)) if other < run => low = id + 1,
            _ => high = middle,
        }
    }
    let found = next.query_row([low], |row| row.get(0)).optional()?;
    Ok(found)
}

/// The newest tick stays: open spans end there, and its number must not be given again.
fn delete_ticks_from(
    database: &Transaction<'_>,
    start: i64,
    newest: i64,
    before: i64,
    most: usize,
) -> Result<usize, StoreError> {
    let mut old = database.prepare_cached(
        "SELECT id, at_ms FROM tick WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
    )?;
    let of_tick = sample_key::is_of("?1", database)?;
    let mut delete_samples =
        database.prepare_cached(&format!("DELETE FROM sample WHERE {of_tick}"))?;
    let mut delete_tick = database.prepare_cached("DELETE FROM tick WHERE id = ?1")?;
    let old = old
        .query_map((start, newest, limit(most)), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, i64)>, _>>()?;
    let mut deleted = 0;
    for (tick, _) in old.into_iter().take_while(|(_, at)| *at < before) {
        if deleted >= most {
            break;
        }
        deleted += delete_samples.execute([tick])?;
        deleted += delete_tick.execute([tick])?;
    }
    Ok(deleted.min(most))
}

fn is_mostly_free(database: &Connection) -> Result<bool, StoreError> {
    let (free, all) = (pragma(database, "freelist_count")?, pragma(database, "page_count")?);
    Ok(free > FREE_PAGES && free > all / FREE_SHARE)
}

/// Gives so many free pages back to the file system, from the end of the file; whether
/// there are more.
///
/// # Errors
/// When it cannot be written.
pub fn give_back(database: &Connection, most_pages: usize) -> Result<bool, StoreError> {
    let before = pragma(database, "freelist_count")?;
    let mut vacuum = database.prepare(&format!("PRAGMA incremental_vacuum({most_pages})"))?;
    let mut rows = vacuum.query([])?;
    // Each row is a page: it goes on only while it is asked.
    while rows.next()?.is_some() {}
    let left = pragma(database, "freelist_count")?;
    Ok(left > 0 && left < before)
}

/// How large the file is, without its log.
///
/// # Errors
/// When it cannot be read.
pub fn size_bytes(database: &Connection) -> Result<u64, StoreError> {
    let bytes = pragma(database, "page_count")?.saturating_mul(pragma(database, "page_size")?);
    Ok(bytes.unsigned_abs())
}

fn pragma(database: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(database.pragma_query_value(None, name, |row| row.get(0))?)
}
