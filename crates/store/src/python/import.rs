//! A file into an open database, or into memory.

use std::path::Path;
use std::time::Duration;

use gua_core::units::UnixMillis;
use gua_core::{Period, State};
use rusqlite::{Connection, TransactionBehavior, params};

use super::RECORDER;
use super::convert::{Converter, Tally, Wanted};
use super::source::{Order, Source};
use super::ticks::{CARD_COLUMNS, PROCESS_COLUMNS, Ticks};
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::retention::Retention;
use crate::sums::{self, Bounds, hour_of};
use crate::usage::union;

/// Ticks between two reports of progress.
const TICKS_PER_REPORT: u64 = 2048;

/// Pages that an import keeps in memory, in KiB: many rows are written at once.
const CACHE_KIB: i64 = 32 * 1024;

/// Progress of an import.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub rows: u64,
    /// About so many rows there are.
    pub total: u64,
}

/// What was imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Samples of cards.
    pub card_rows: u64,
    pub process_rows: u64,
    pub ticks: u64,
    pub cards: usize,
    /// Runs of the Python gua.
    pub runs: usize,
    /// `None` if nothing was recorded.
    pub period: Option<Period>,
    pub times: StateTimes,
    pub unusable: Unusable,
}

/// Time of cards in milliseconds, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StateTimes {
    pub active_ms: i64,
    pub idle_held_ms: i64,
    pub free_ms: i64,
    pub unknown_ms: i64,
}

/// Rows that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unusable {
    /// Without a time, or with one that cannot be read.
    pub without_time: u64,
    /// With an absurd value.
    pub absurd: u64,
    /// Of a card that has a row at that tick already.
    pub twice: u64,
    /// Of a process whose card has no row at that tick.
    pub without_card: u64,
}

impl Unusable {
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.without_time + self.absurd + self.twice + self.without_card
    }
}

impl StateTimes {
    pub(super) const fn add(&mut self, state: State, millis: i64) {
        let time = match state {
            State::Active => &mut self.active_ms,
            State::IdleHeld => &mut self.idle_held_ms,
            State::TrulyIdle => &mut self.free_ms,
            State::Unknown(_) => &mut self.unknown_ms,
        };
        *time = time.saturating_add(millis);
    }
}

/// Imports a file into a database in one transaction. Fails if part of its time is recorded already.
pub fn import(
    file: &Path,
    into: &mut Database,
    progress: &mut dyn FnMut(Progress),
) -> Result<Imported, StoreError> {
    let source = Source::open(file)?;
    let cache = into.connection.pragma_update(None, "cache_size", -CACHE_KIB);
    into.result(cache.map_err(Problem::from))?;
    write(&source, into, (None, None), progress)
}

/// Reads a file into a database in memory that holds only a window. With an interval, each tick counts for
/// that.
pub fn open_converted(
    file: &Path,
    window: Period,
    interval: Option<Duration>,
) -> Result<Database, StoreError> {
    let source = Source::open(file)?;
    let mut database = Database::in_memory()?;
    let interval = interval.and_then(|interval| i64::try_from(interval.as_millis()).ok());
    write(&source, &mut database, (Some(window), interval), &mut |_| ())?;
    database.source_extent = source.result(source.extent())?;
    Ok(database)
}

fn write(
    source: &Source,
    into: &mut Database,
    options: (Option<Period>, Option<i64>),
    progress: &mut dyn FnMut(Progress),
) -> Result<Imported, StoreError> {
    for order in [Order::Stored, Order::Sorted] {
        let path = into.path().to_owned();
        let result = |result: Result<_, Problem>| result.map_err(|problem| problem.at(&path));
        let begin = into.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = result(begin.map_err(Problem::from))?;
        let import = Import { source, db: &transaction, path: &path, options };
        if let Some(imported) = import.run(order, progress)? {
            transaction.commit().map_err(|error| Problem::from(error).at(&path))?;
            return Ok(imported);
        }
        // Nothing of it was committed; sorting takes longer.
    }
    Err(Problem::NotWhole.at(into.path()))
}

/// An import within a transaction.
struct Import<'a> {
    source: &'a Source,
    db: &'a Connection,
    path: &'a Path,
    /// Window and interval.
    options: (Option<Period>, Option<i64>),
}

impl Import<'_> {
    /// Returns `None` if the rows are not in this order.
    fn run(
        &self,
        order: Order,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<Imported>, StoreError> {
        let Self { source, db, options: (window, interval_ms), .. } = *self;
        let bounds = self.result(Bounds::read(db))?;
        let before = self.result(totals(db, &bounds))?;
        let retention = Retention::default();
        let last = source.result(source.extent())?.map_or(0, |extent| extent.to.0);
        let end = window.map_or(last, |window| window.to.0.min(last));
        let exact_from = hour_of(end.saturating_sub(retention.exact_ms));
        let wanted = Wanted {
            window,
            interval_ms,
            fine_from: bounds.fine_from,
            exact_from: exact_from.max(bounds.quarters_until),
            samples_from: end.saturating_sub(retention.samples_ms),
        };
        let is_first = self.result(has_no_rows(db, [bounds.quarters_until, exact_from]))?;

        let prepare = |table, columns: &[&str]| {
            let query = source.result(source.rows(table, columns, window, order))?;
            source.result(source.database.prepare(&query))
        };
        let mut cards = prepare("gpu_sample", &CARD_COLUMNS)?;
        let mut processes = prepare("proc_sample", &PROCESS_COLUMNS)?;
        let total = source.result(source.row_count("gpu_sample"))?
            + source.result(source.row_count("proc_sample"))?;
        let (cards, processes) =
            (source.result(cards.query([]))?, source.result(processes.query([]))?);
        let mut ticks = source.result(Ticks::new(cards, processes, source.joins_runs()))?;
        let facts = source.result(source.facts())?;
        let recorded = self.result(recorded(db))?;
        let mut converter = self.result(Converter::new(db, facts, recorded, wanted))?;
        let mut count = 0_u64;
        while source.result(ticks.advance())? {
            if order == Order::Stored && ticks.is_disordered() {
                return Ok(None);
            }
            self.result(converter.add(&ticks))?;
            count += 1;
            if count.is_multiple_of(TICKS_PER_REPORT) {
                progress(Progress { rows: ticks.rows_read(), total });
            }
        }
        if order == Order::Stored && ticks.is_disordered() {
            return Ok(None);
        }
        let (tally, card_count, runs) = self.result(converter.finish())?;
        let quarters_until = if is_first { wanted.exact_from } else { bounds.quarters_until };
        self.result(sum_up(db, &bounds, &tally, quarters_until))?;
        self.result(verify(db, &bounds, &tally, before))?;
        let imported = Imported {
            card_rows: tally.card_rows,
            process_rows: tally.process_rows,
            ticks: tally.ticks,
            cards: card_count,
            runs,
            period: tally.period,
            times: tally.times,
            unusable: ticks.unusable,
        };
        self.result(write_event(db, &imported))?;
        Ok(Some(imported))
    }

    /// Names the file that is written in an error, unless it names another one.
    fn result<T>(&self, result: Result<T, Problem>) -> Result<T, StoreError> {
        result.map_err(|problem| problem.at(self.path))
    }
}

/// Returns true if no fine row begins in a range.
fn has_no_rows(db: &Connection, [from, to]: [i64; 2]) -> Result<bool, Problem> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM card_span WHERE from_ms >= ?1 AND from_ms < ?2)";
    Ok(from < to && db.query_row(sql, [from, to], |row| row.get(0))?)
}

/// Returns the times in which somebody has recorded, in order.
fn recorded(db: &Connection) -> Result<Vec<Period>, Problem> {
    let mut query = db.prepare("SELECT started_ms, until_ms FROM run")?;
    let runs = query
        .query_map([], |row| Ok(Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?))))?;
    let runs: Vec<Period> = runs.collect::<Result<_, _>>()?;
    Ok(union(runs.into_iter().filter(|run| !run.is_empty()).collect()))
}

/// Makes the hour rows of the hours that were added to.
fn sum_up(
    db: &Connection,
    before: &Bounds,
    tally: &Tally,
    quarters_until: i64,
) -> Result<(), Problem> {
    let Some(period) = tally.period else { return Ok(()) };
    before.go_back(db, period.from.0)?;
    sums::sum_hours(db, UnixMillis(before.hours_until.max(period.to.0)))?;
    let hours_from = before.hours_from.min(hour_of(period.from.0));
    Bounds { quarters_until, hours_from, ..Bounds::read(db)? }.write(db)
}

/// Returns the times of all cards by state, and the shares of holders in them.
fn totals(db: &Connection, bounds: &Bounds) -> Result<[i64; 5], Problem> {
    let sum = |kind: &str, expression: &str| -> Result<i64, Problem> {
        let sql = format!(
            "SELECT ifnull(sum({expression}), 0) FROM (
                 SELECT * FROM {kind}_span WHERE from_ms >= ?1
                 UNION ALL SELECT * FROM {kind}_hour WHERE from_ms < ?1)"
        );
        Ok(db.query_row(&sql, [bounds.fine_from], |row| row.get(0))?)
    };
    let shares = "active_share_ms + low_use_share_ms + unused_share_ms + unknown_share_ms";
    Ok([
        sum("card", "active_ms")?,
        sum("card", "idle_held_ms")?,
        sum("card", "free_ms")?,
        sum("card", "unknown_ms")?,
        sum("holder", shares)?,
    ])
}

/// Compares what was written with what was read.
fn verify(
    db: &Connection,
    bounds: &Bounds,
    tally: &Tally,
    before: [i64; 5],
) -> Result<(), Problem> {
    let StateTimes { active_ms, idle_held_ms, free_ms, unknown_ms } = tally.times;
    let mut expected = [active_ms, idle_held_ms, free_ms, unknown_ms, tally.shared_ms];
    expected.iter_mut().zip(before).for_each(|(sum, before)| *sum = sum.saturating_add(before));
    if totals(db, bounds)? == expected { Ok(()) } else { Err(Problem::NotWhole) }
}

fn write_event(db: &Connection, imported: &Imported) -> Result<(), Problem> {
    let Some(period) = imported.period else { return Ok(()) };
    let mut detail = format!("{} samples of {RECORDER} were imported.", imported.card_rows);
    if imported.unusable.total() > 0 {
        detail.push_str(&format!(" {} rows could not be used.", imported.unusable.total()));
    }
    db.execute(
        "INSERT INTO event (at_ms, until_ms, kind, detail) VALUES (?1, ?2, 'import', ?3)",
        params![period.from.0, period.to.0, detail],
    )?;
    Ok(())
}
