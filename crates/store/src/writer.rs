//! Writes ticks: each in one transaction. What the writer remembers advances only after COMMIT.

use std::collections::HashMap;

use gua_core::span::Gap;
use gua_core::units::{Percent, UnixMillis};
use gua_core::{Period, Span};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::allowance::Allowance;
use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::names::{self, Names};
use crate::rows::SpanRows;
use crate::sums::{self, Bounds};
use crate::tick::{CardSample, Event, Run, Tick};
use crate::transaction::TickTransaction;
use crate::trim;
use crate::{latest, retention, sessions, signs, tables, totals};

/// Monotonic recording after which the allowance for pruning is saved.
const SAVE_ALLOWANCE_MS: i64 = 60_000;

/// The only writer of a database.
#[derive(Debug)]
pub struct Writer {
    database: Database,
    run: Run,
    names: Names,
    state: RunState,
}

/// State in memory after a tick, valid once it is committed.
#[derive(Debug, Clone)]
struct RunState {
    /// Row ids of the run and its boot; `None` before the first tick.
    ids: Option<RunIds>,
    /// End of what earlier runs recorded.
    recorded_until: i64,
    cards: HashMap<i64, CardState>,
    allowance: Allowance,
    /// Leap of the clock before the first tick.
    leap_ms: i64,
    unsaved_ms: i64,
    /// True once it was noted that some time cannot be recorded again.
    is_loss_noted: bool,
}

#[derive(Debug, Clone, Copy)]
struct RunIds {
    run: i64,
    boot: i64,
}

/// What this run has written of a card.
#[derive(Debug, Clone, Default)]
struct CardState {
    until: i64,
    /// Closed spans of the newest half minute as one row, and those of them that have rows.
    half_minute: Option<HalfMinute>,
}

#[derive(Debug, Clone)]
struct HalfMinute {
    sum: SpanRows,
    spans: usize,
}

impl Writer {
    /// Begins a run. Nothing is written before its first tick.
    pub fn begin(database: Database, run: Run) -> Result<Self, StoreError> {
        let begin = || -> Result<RunState, Problem> {
            let db = &database.connection;
            let recorded_until = recorded_until(db)?;
            let mut allowance = Allowance::load(db, recorded_until)?;
            let leap_ms = allowance.record(run.started, 0);
            Ok(RunState {
                leap_ms,
                ids: None,
                recorded_until,
                cards: HashMap::new(),
                allowance,
                unsaved_ms: SAVE_ALLOWANCE_MS,
                is_loss_noted: false,
            })
        };
        let state = database.result(begin())?;
        Ok(Self { database, run, names: Names::default(), state })
    }

    #[must_use]
    pub const fn database(&self) -> &Database {
        &self.database
    }

    /// Writes a tick: all of it, or nothing.
    pub fn tick(&mut self, tick: &Tick<'_>) -> Result<(), StoreError> {
        self.tick_with(tick, |_| Ok(()))
    }

    /// Writes a tick and, in the same transaction, what `more` writes.
    pub fn tick_with(
        &mut self,
        tick: &Tick<'_>,
        more: impl FnOnce(&mut TickTransaction<'_>) -> Result<(), Problem>,
    ) -> Result<(), StoreError> {
        let mut state = self.state.clone();
        let result = self.write(&mut state, tick, more);
        match result {
            Ok(()) => self.state = state,
            Err(_) => self.names.forget(),
        }
        self.database.result(result)
    }

    /// Writes something between two ticks. The run must have begun.
    pub fn write_between(
        &mut self,
        write: impl FnOnce(&mut TickTransaction<'_>) -> Result<(), Problem>,
    ) -> Result<(), StoreError> {
        let between = || -> Result<(), Problem> {
            let Some(ids) = self.state.ids else { return Ok(()) };
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.database.connection.transaction_with_behavior(behavior)?;
            write(&mut TickTransaction {
                db: &transaction,
                names: &mut self.names,
                boot: ids.boot,
            })?;
            Ok(transaction.commit()?)
        };
        let result = between();
        if result.is_err() {
            self.names.forget();
        }
        self.database.result(result)
    }

    fn write(
        &mut self,
        state: &mut RunState,
        tick: &Tick<'_>,
        more: impl FnOnce(&mut TickTransaction<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.database.connection.transaction_with_behavior(behavior)?;
        let db = &transaction;
        let ids = match state.ids {
            Some(ids) => ids,
            None => begin_run(db, &self.run)?,
        };
        state.ids = Some(ids);
        for process in tick.processes {
            self.names.process(db, ids.boot, process)?;
        }
        let bounds = make_room(db, tick)?;
        let mut spans = SpanWriter { db, names: &mut self.names, ids, bounds, state };
        tick.closed.iter().try_for_each(|span| spans.write(span, true))?;
        tick.open.iter().try_for_each(|span| spans.write(span, false))?;
        tick.gaps.iter().chain(&tick.open_gap).try_for_each(|gap| spans.write_gap(gap))?;
        tick.events.iter().try_for_each(|event| write_event(db, ids.run, event))?;
        for sample in tick.samples {
            let card = self.names.card(db, &sample.card)?;
            write_sample(db, tick.at, card, sample)?;
        }
        for update in tick.sessions {
            sessions::write(db, &mut self.names, ids.boot, update)?;
        }
        if let Some(latest) = tick.latest {
            latest::replace(db, &mut self.names, tick.at, latest)?;
        }
        let leap_ms = std::mem::take(&mut state.leap_ms)
            .saturating_add(state.allowance.record(tick.at, tick.recorded_ms));
        if leap_ms != 0 {
            totals::shift_pushes(db, leap_ms)?;
        }
        more(&mut TickTransaction { db, names: &mut self.names, boot: ids.boot })?;
        db.prepare_cached(
            "UPDATE run SET until_ms = max(until_ms, ?2), tick_ms = ?3, polls = ?4, calls = ?5
                 WHERE id = ?1",
        )?
        .execute((ids.run, tick.until.0, tick.at.0, tick.polls, tick.calls))?;
        if sums::sum_hours(db, tick.until)? {
            // Those of processes that are gone are not needed any more.
            self.names.forget();
        }
        state.unsaved_ms = state.unsaved_ms.saturating_add(tick.recorded_ms);
        if leap_ms != 0 || state.unsaved_ms >= SAVE_ALLOWANCE_MS {
            state.allowance.save(db)?;
            state.unsaved_ms = 0;
        }
        Ok(transaction.commit()?)
    }

    /// Sums up and deletes rows that are older than `retention` keeps them, at most `most_rows` and as
    /// far as recorded time proves their age.
    pub fn prune(
        &mut self,
        retention: &retention::Retention,
        most_rows: usize,
    ) -> Result<retention::Pruned, StoreError> {
        let mut allowance = self.state.allowance.clone();
        let now = allowance.last();
        let mut prune = || -> Result<retention::Pruned, Problem> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.database.connection.transaction_with_behavior(behavior)?;
            let pruned = retention::prune(&transaction, retention, now, &mut allowance, most_rows)?;
            allowance.save(&transaction)?;
            transaction.commit()?;
            Ok(pruned)
        };
        let pruned = prune();
        if pruned.is_ok() {
            self.state.allowance = allowance;
            self.names.forget();
        }
        self.database.result(pruned)
    }

    /// Returns the recording that is needed after a leap of the clock before anything is deleted.
    #[must_use]
    pub const fn prune_wait_ms(&self) -> i64 {
        self.state.allowance.wait_ms()
    }

    /// Returns the database of a run that does not end in order, as after a crash.
    #[must_use]
    pub fn into_database(self) -> Database {
        self.database
    }

    /// Ends the run with a word for the reason. Returns the database.
    pub fn end(self, ending: &str) -> Result<Database, StoreError> {
        if let Some(ids) = self.state.ids {
            let update = "UPDATE run SET ending = ?2 WHERE id = ?1";
            let result = self.database.connection.execute(update, (ids.run, ending));
            self.database.result(result.map_err(Problem::from))?;
        }
        Ok(self.database)
    }
}

/// Writes the spans of one tick.
struct SpanWriter<'a> {
    db: &'a Connection,
    names: &'a mut Names,
    ids: RunIds,
    bounds: Bounds,
    state: &'a mut RunState,
}

impl SpanWriter<'_> {
    fn write(&mut self, span: &Span, is_closed: bool) -> Result<(), Problem> {
        let card = self.names.card(self.db, &span.card)?;
        let boot = self.ids.boot;
        let holders = span
            .holders
            .iter()
            .map(|time| self.names.holder(self.db, boot, card, time.holder, span.period.to.0));
        let holders: Vec<i64> = holders.collect::<Result<_, _>>()?;
        if span.period.from.0 < self.state.recorded_until && !self.trim(card, span.period)? {
            return Ok(());
        }
        let rows = SpanRows::new(span, card, &holders);
        let known = self.state.cards.entry(card).or_default();
        known.until = known.until.max(span.period.to.0);
        if is_closed {
            known.write_closed(self.db, rows)
        } else {
            tables::write_rows(self.db, &rows)
        }
    }

    /// Makes room for time that earlier runs have recorded. Returns false if that time cannot be
    /// recorded again, because it has only hour rows.
    fn trim(&mut self, card: i64, period: Period) -> Result<bool, Problem> {
        if period.from.0 < self.bounds.fine_from {
            self.note_loss(period.from)?;
            return Ok(false);
        }
        // What this run has written before is not cut.
        let until = self.state.cards.get(&card).map_or(i64::MIN, |known| known.until);
        let out = Period::new(period.from.max(UnixMillis(until)), period.to);
        if !out.is_empty() {
            trim::cut_card(self.db, card, out)?;
            trim::cut_gaps(self.db, out)?;
        }
        Ok(true)
    }

    /// Writes a gap. What earlier runs observed of that time stays, and is no gap: a clock that is wrong for
    /// a moment and is set back and ahead again must not cost the record of the time between.
    fn write_gap(&self, gap: &Gap) -> Result<(), Problem> {
        if gap.period.from.0 >= self.state.recorded_until {
            return write_gap(self.db, gap);
        }
        let observed = trim::observed_before(self.db, self.ids.run, gap.period)?;
        for period in gap.period.without(&observed) {
            trim::cut_gaps(self.db, period)?;
            write_gap(self.db, &Gap { period, ..*gap })?;
        }
        Ok(())
    }

    /// Notes once that some time cannot be recorded again.
    fn note_loss(&mut self, at: UnixMillis) -> Result<(), Problem> {
        if self.state.is_loss_noted {
            return Ok(());
        }
        self.state.is_loss_noted = true;
        let detail = "The clock was set back to a time of which only hours are kept. They stay, and \
                      nothing is recorded for that time.";
        let kind = "not-recorded".to_owned();
        let event = Event { at, until: None, kind, detail: detail.to_owned() };
        write_event(self.db, self.ids.run, &event)
    }
}

impl CardState {
    /// Writes a span that has ended. The third one of a half minute makes one row of all.
    fn write_closed(&mut self, db: &Connection, rows: SpanRows) -> Result<(), Problem> {
        match &mut self.half_minute {
            Some(half_minute) if half_minute.sum.shares_half_minute_with(&rows) => {
                let first = half_minute.sum.clone();
                half_minute.sum.extend(&rows);
                half_minute.spans += 1;
                if half_minute.spans == 2 {
                    return tables::write_rows(db, &rows);
                }
                // The second span, if it has a row yet, and this one as it was open.
                delete_rows_within(db, &half_minute.sum, first.card.period.from.0)?;
                tables::write_rows(db, &half_minute.sum)
            }
            _ => {
                tables::write_rows(db, &rows)?;
                self.half_minute = Some(HalfMinute { sum: rows, spans: 1 });
                Ok(())
            }
        }
    }
}

/// Deletes the rows of a sum's parts but the first, whose key is the sum's.
fn delete_rows_within(db: &Connection, sum: &SpanRows, first: i64) -> Result<(), Problem> {
    let to = sum.card.period.to.0;
    db.prepare_cached("DELETE FROM card_span WHERE from_ms > ?1 AND from_ms < ?2 AND card = ?3")?
        .execute((first, to, sum.card.card))?;
    let mut delete = db.prepare_cached(
        "DELETE FROM holder_span WHERE from_ms > ?1 AND from_ms < ?2 AND holder = ?3",
    )?;
    for row in &sum.holders {
        delete.execute((first, to, row.holder))?;
    }
    Ok(())
}

/// Deletes the hour rows of hours that a tick adds time to: after the clock was set back. They are
/// made again from fine rows.
fn make_room(db: &Connection, tick: &Tick<'_>) -> Result<Bounds, Problem> {
    let bounds = Bounds::read(db)?;
    let earliest = tick.closed.iter().chain(tick.open).map(|span| span.period.from.0).min();
    match earliest {
        Some(earliest) if earliest < bounds.hours_until => bounds.go_back(db, earliest),
        _ => Ok(bounds),
    }
}

/// Writes the row of a run.
fn begin_run(db: &Connection, run: &Run) -> Result<RunIds, Problem> {
    let host = names::named(db, "host", "name", &run.host)?;
    let boot = names::named(db, "boot", "uuid", &run.boot)?;
    // The run before, and not the latest: one whose clock was far ahead stays in the future.
    let newest = "SELECT until_ms FROM run WHERE NOT imported ORDER BY id DESC LIMIT 1";
    let until: Option<i64> = db.query_row(newest, [], |row| row.get(0)).optional()?;
    let goes_back = until.is_some_and(|until| run.started.0 < until);
    sessions::end_other_boots(db, boot)?;
    if goes_back {
        sessions::cut_from(db, run.started.0)?;
        signs::cut_from(db, run.started.0)?;
    }
    trim::end_clock_gaps(db, run.started.0)?;
    let held = i64::try_from(run.thresholds.held.0 >> 10).unwrap_or(i64::MAX);
    db.execute(
        "INSERT INTO run (host, boot, driver, recorder, rule, imported, active_centipercent,
             worked_centipercent, held_kib, interval_ms, started_ms, until_ms, tick_ms, polls, calls,
             goes_back) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?10, ?10, 0, 0, ?11)",
        params![
            host,
            boot,
            run.driver,
            run.recorder,
            run.rule,
            centipercent(run.thresholds.active),
            centipercent(run.thresholds.worked),
            held,
            run.interval_ms,
            run.started.0,
            goes_back
        ],
    )?;
    let ids = RunIds { run: db.last_insert_rowid(), boot };
    db.execute(
        "UPDATE store SET counting_since_ms = ?1 WHERE counting_since_ms = 0",
        [run.started.0],
    )?;
    if goes_back {
        let event = Event {
            at: run.started,
            until: until.map(UnixMillis),
            kind: "clock-set-back".to_owned(),
            detail: "The run begins before the end of what was recorded. Time recorded again \
                     replaces the earlier record."
                .to_owned(),
        };
        write_event(db, ids.run, &event)?;
    }
    Ok(ids)
}

/// Returns the end of the time that was recorded. After a crash a run ends at its last tick.
fn recorded_until(db: &Connection) -> Result<i64, Problem> {
    let newest = "SELECT max(until_ms) FROM run";
    let until: Option<i64> = db.query_row(newest, [], |row| row.get(0)).optional()?.flatten();
    Ok(until.unwrap_or(i64::MIN))
}

fn write_gap(db: &Connection, gap: &Gap) -> Result<(), Problem> {
    db.prepare_cached("INSERT OR REPLACE INTO gap (from_ms, to_ms, reason) VALUES (?1, ?2, ?3)")?
        .execute((gap.period.from.0, gap.period.to.0, codes::from_gap_reason(gap.reason)))?;
    Ok(())
}

fn write_event(db: &Connection, run: i64, event: &Event) -> Result<(), Problem> {
    let until = event.until.map(|until| until.0);
    db.prepare_cached(
        "INSERT INTO event (run, at_ms, until_ms, kind, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((run, event.at.0, until, &event.kind, &event.detail))?;
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
pub(crate) fn write_sample(
    db: &Connection,
    at: UnixMillis,
    card: i64,
    sample: &CardSample,
) -> Result<(), Problem> {
    if let Some(total) = sample.memory_total {
        names::write_card_memory(db, card, total)?;
    }
    db.prepare_cached("INSERT OR REPLACE INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![
            at.0,
            card,
            sample.utilization.map(|percent| percent.0.round() as i64),
            sample.memory.and_then(|memory| i64::try_from(memory.0 >> 20).ok()),
            sample.power.map(|power| power.0.saturating_add(500) / 1000),
            sample.temperature.map(|temperature| temperature.0)
        ],
    )?;
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
fn centipercent(percent: Percent) -> i64 {
    (percent.0 * 100.0).round() as i64
}
