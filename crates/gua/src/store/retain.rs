//! Retention: what is too old goes, a little at a time, so that a recorder goes on meanwhile.
//!
//! Samples and ticks go by the order of their numbers, spans by the order of their times,
//! whole hours at once. Their pages are used again, so at an equal rate of recording the
//! file stops growing.

use std::time::Duration;

use probe::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use super::allowance::{Allowance, Due};
use super::counts::Counts;
use super::error::StoreError;
use super::lines;
use super::run::last_moment;
use super::sample_key;
use super::sweep::Sweep;
use super::writer::immediate;
use crate::config;
use crate::ledger::{HOUR, Period, next_hour};

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
        let config::Retention { samples, hours: spans, .. } = settled;
        Self { samples, spans }
    }
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Rows deleted, per table.
    pub deleted: Counts,
    /// True if another step has something to do.
    pub more: bool,
    /// True if rows of cards, identities or holders were deleted: ids that were remembered may
    /// be invalid.
    pub swept: bool,
    /// Rows that are too old and that the allowance does not permit to delete.
    pub held_back: Due,
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

    /// Deletes about `most_rows` rows that are too old, in one short transaction; where there is
    /// an allowance, only what it permits.
    ///
    /// # Errors
    /// When it cannot be written. It may be tried again.
    pub fn step(
        &mut self,
        database: &mut Connection,
        now: UnixMillis,
        allowance: Option<&mut Allowance>,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        // SQLite would look for samples of each tick that goes, and for spans of each holder,
        // through all of them; here it is known that there are none.
        let checks: bool = database.pragma_query_value(None, "foreign_keys", |row| row.get(0))?;
        database.pragma_update(None, "foreign_keys", false)?;
        let done = self.unchecked_step(database, now, allowance, most_rows);
        database.pragma_update(None, "foreign_keys", checks)?;
        done
    }

    fn unchecked_step(
        &mut self,
        database: &mut Connection,
        now: UnixMillis,
        allowance: Option<&mut Allowance>,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        let due = due(database, &self.keep, now)?;
        let permitted = match allowance {
            None => due,
            Some(allowance) => {
                let permitted = allowance.permit(&due);
                if !permitted.is_empty() {
                    // Before anything is deleted: a crash must not make an hour free.
                    allowance.save(database)?;
                }
                permitted
            }
        };
        let held_back = due.without(&permitted);
        let deleted = delete(database, &permitted, most_rows)?;
        if deleted.total() > 0 {
            return Ok(Step {
                more: deleted.total() >= most_rows || self.sweeps,
                deleted,
                swept: false,
                held_back,
            });
        }
        if self.sweeps && now >= self.next_sweep {
            return Ok(Step { held_back, ..self.sweep(database, now, most_rows)? });
        }
        let more = is_mostly_free(database)? && give_back(database, most_rows)?;
        Ok(Step { more, held_back, ..Step::default() })
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
        let swept = deleted.total() > 0;
        Ok(Step { deleted, more: true, swept, ..Step::default() })
    }
}

/// The moment before which rows are older than `keep`: a full hour, as spans are cut there.
fn cut(now: UnixMillis, keep: Duration) -> UnixMillis {
    let at = now.0.saturating_sub(millis(keep));
    UnixMillis(at.saturating_sub(at.rem_euclid(HOUR)))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Finds the rows that are older than what is kept.
///
/// # Errors
/// When it cannot be read.
pub fn due(database: &Connection, keep: &Keep, now: UnixMillis) -> Result<Due, StoreError> {
    let (samples, spans) = (cut(now, keep.samples), cut(now, keep.spans));
    let since = |oldest: Option<i64>, cut: UnixMillis| {
        oldest.filter(|oldest| *oldest < cut.0).map(|from| Period::new(UnixMillis(from), cut))
    };
    let oldest_sample = min(oldest_tick(database, samples.0)?, oldest(database, "policy_sign")?);
    let mut oldest_span = oldest_event(database)?;
    for table in SPANS {
        oldest_span = min(oldest_span, oldest(database, table)?);
    }
    Ok(Due { samples: since(oldest_sample, samples), spans: since(oldest_span, spans) })
}

/// All that a prune without limits would delete, names that become unused aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub due: Due,
    pub rows: Counts,
    /// The longest history that a table loses: hours in which it has rows.
    pub most_hours: i64,
    /// The end of all that is recorded.
    pub newest: Option<UnixMillis>,
}

/// Counts what a prune without limits would delete. It only reads, also an older layout.
///
/// # Errors
/// When it cannot be read.
pub fn plan(database: &Connection, keep: &Keep, now: UnixMillis) -> Result<Plan, StoreError> {
    let (mut rows, mut most_hours) = (Counts::default(), 0);
    let mut count = |table, from: &str, at: &str, keep| -> Result<(), StoreError> {
        let count =
            format!("SELECT count(*), count(DISTINCT {at} / {HOUR}) FROM {from} AND {at} < ?1");
        let (count, hours): (i64, i64) =
            database.query_row(&count, [cut(now, keep).0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.add(table, usize::try_from(count).unwrap_or(usize::MAX));
        most_hours = most_hours.max(hours);
        Ok(())
    };
    let old_tick = "tick.id < (SELECT max(id) FROM tick)";
    let of_tick = sample_key::is_of("tick.id", database)?;
    count("tick", &format!("tick WHERE {old_tick}"), "at_ms", keep.samples)?;
    count(
        "sample",
        &format!("tick JOIN sample ON {of_tick} WHERE {old_tick}"),
        "at_ms",
        keep.samples,
    )?;
    count("policy_sign", "policy_sign WHERE true", "at_ms", keep.samples)?;
    for table in SPANS {
        count(table, &format!("{table} WHERE true"), "from_ms", keep.spans)?;
    }
    count("event", &format!("event WHERE kind <> '{}'", lines::KIND), "at_ms", keep.spans)?;
    let (due, newest) = (due(database, keep, now)?, last_moment(database)?);
    // A clock far ahead puts the end of what is due far behind the last row.
    let until =
        |due: Period| Period { to: due.to.min(newest.unwrap_or(due.to)).max(due.from), ..due };
    let due = Due { samples: due.samples.map(until), spans: due.spans.map(until) };
    Ok(Plan { due, rows, most_hours, newest })
}

/// The smaller of two where there are two.
fn min(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

fn oldest(database: &Connection, table: &str) -> Result<Option<i64>, StoreError> {
    let time = if table == "policy_sign" { "at_ms" } else { "from_ms" };
    let mut oldest = database.prepare_cached(&format!("SELECT min({time}) FROM {table}"))?;
    Ok(oldest.query_row([], |row| row.get(0))?)
}

fn oldest_event(database: &Connection) -> Result<Option<i64>, StoreError> {
    let mut oldest = database
        .prepare_cached("SELECT at_ms FROM event WHERE kind <> ?1 ORDER BY at_ms LIMIT 1")?;
    Ok(oldest.query_row([lines::KIND], |row| row.get(0)).optional()?)
}

/// Deletes rows from what is permitted, about `most_rows` of them.
fn delete(
    database: &mut Connection,
    permitted: &Due,
    most_rows: usize,
) -> Result<Counts, StoreError> {
    let transaction = immediate(database)?;
    let mut deleted = Counts::default();
    if let Some(Period { to: before, .. }) = permitted.samples {
        delete_ticks(&transaction, before.0, most_rows, &mut deleted)?;
    }
    if let Some(Period { to: before, .. }) = permitted.spans {
        // What refers goes before what is referred to: a reader never sees a part without its
        // whole.
        for table in SPANS {
            let most = most_rows.saturating_sub(deleted.total());
            deleted.add(table, delete_spans(&transaction, table, before.0, most)?);
        }
        let most = most_rows.saturating_sub(deleted.total());
        deleted.add("event", delete_events(&transaction, before.0, most)?);
    }
    if let Some(Period { to: before, .. }) = permitted.samples {
        let most = most_rows.saturating_sub(deleted.total());
        deleted.add("policy_sign", delete_signs(&transaction, before.0, most)?);
    }
    transaction.commit()?;
    Ok(deleted)
}

/// The tables of spans, parts before wholes.
const SPANS: [&str; 5] = ["unseen_span", "holder_span", "owner_span", "card_span", "observed"];

/// Whole hours, so that what is left of one can be held against its ticks.
fn delete_spans(
    database: &Connection,
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

fn delete_events(database: &Connection, before: i64, most: usize) -> Result<usize, StoreError> {
    let mut delete = database.prepare_cached(
        "DELETE FROM event WHERE id IN
             (SELECT id FROM event WHERE at_ms < ?1 AND kind <> ?3 ORDER BY at_ms LIMIT ?2)",
    )?;
    Ok(delete.execute((before, limit(most), lines::KIND))?)
}

/// They are of use only with the ticks that they were seen at.
fn delete_signs(database: &Connection, before: i64, most: usize) -> Result<usize, StoreError> {
    let mut delete = database.prepare_cached(
        "DELETE FROM policy_sign WHERE at_ms < ?1 AND at_ms <= ifnull(
             (SELECT at_ms FROM policy_sign ORDER BY at_ms LIMIT 1 OFFSET ?2), ?1)",
    )?;
    Ok(delete.execute((before, limit(most)))?)
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Ids from which on ticks are in the order of time: that of the first, and those where a run
/// went back to before `before`.
fn tick_starts(database: &Connection, before: i64, newest: i64) -> Result<Vec<i64>, StoreError> {
    let mut starts = vec![0];
    let mut back = database
        .prepare_cached("SELECT id FROM run WHERE goes_back = 1 AND started_ms < ?1 ORDER BY id")?;
    for run in back.query_map([before], |row| row.get::<_, i64>(0))? {
        starts.extend(first_tick(database, run?, newest)?);
    }
    Ok(starts)
}

fn newest_tick(database: &Connection) -> Result<Option<i64>, StoreError> {
    Ok(database.query_row("SELECT max(id) FROM tick", [], |row| row.get(0))?)
}

/// The time of the oldest tick, without the newest one, which stays.
fn oldest_tick(database: &Connection, before: i64) -> Result<Option<i64>, StoreError> {
    let Some(newest) = newest_tick(database)? else { return Ok(None) };
    let mut first = database
        .prepare_cached("SELECT at_ms FROM tick WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1")?;
    let mut oldest = None;
    for start in tick_starts(database, before, newest)? {
        oldest = min(oldest, first.query_row((start, newest), |row| row.get(0)).optional()?);
    }
    Ok(oldest)
}

/// Deletes ticks and their samples, at most `most` of both together but for the last tick.
fn delete_ticks(
    database: &Connection,
    before: i64,
    most: usize,
    deleted: &mut Counts,
) -> Result<(), StoreError> {
    let Some(newest) = newest_tick(database)? else { return Ok(()) };
    for start in tick_starts(database, before, newest)? {
        delete_ticks_from(database, start, newest, before, most, deleted)?;
    }
    Ok(())
}

/// The number of the first tick of a run or a later one. Later runs have higher numbers of
/// ticks, so it is found by halving.
fn first_tick(database: &Connection, run: i64, newest: i64) -> Result<Option<i64>, StoreError> {
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
    database: &Connection,
    start: i64,
    newest: i64,
    before: i64,
    most: usize,
    deleted: &mut Counts,
) -> Result<(), StoreError> {
    let mut old = database.prepare_cached(
        "SELECT id, at_ms FROM tick WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
    )?;
    let of_tick = sample_key::is_of("?1", database)?;
    let mut delete_samples =
        database.prepare_cached(&format!("DELETE FROM sample WHERE {of_tick}"))?;
    let mut delete_tick = database.prepare_cached("DELETE FROM tick WHERE id = ?1")?;
    let left = most.saturating_sub(deleted.total());
    let old = old
        .query_map((start, newest, limit(left)), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, i64)>, _>>()?;
    for (tick, _) in old.into_iter().take_while(|(_, at)| *at < before) {
        if deleted.total() >= most {
            break;
        }
        deleted.add("sample", delete_samples.execute([tick])?);
        deleted.add("tick", delete_tick.execute([tick])?);
    }
    Ok(())
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
