//! Writes ticks as runs, rows, sessions and samples.

use std::collections::HashMap;

use gua_core::period::HOUR;
use gua_core::session::{SHORTEST_SESSION_MS, SessionBuilder, SessionUpdate};
use gua_core::units::UnixMillis;
use gua_core::{Period, Span, State, Thresholds};
use rusqlite::{Connection, params};

use super::classify::{self, Held};
use super::import::StateTimes;
use super::names::{FileNames, KnownCard};
use super::open_row::{OpenRow, Place};
use super::source::SourceFacts;
use super::ticks::{CardReading, ProcessReading, Texts, Ticks};
use super::timeline::{TickTime, Timeline};
use super::{DEFAULT_INTERVAL_MS, HELD_MIB, RECORDER, RULE};
use crate::error::Problem;
use crate::names::named;
use crate::rows::{QUARTER_HOUR, SpanRows, read_period};
use crate::sessions;
use crate::tables::Age;

/// Ticks after which the sessions that ended are written.
const TICKS_PER_WRITE: u64 = 1024;

/// What is written of a file, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// `None` for all of it.
    pub window: Option<Period>,
    /// Replaces the intervals of the runs.
    pub interval_ms: Option<i64>,
    /// Before this there are hour rows only.
    pub fine_from: i64,
    /// Before this each row is a quarter hour.
    pub exact_from: i64,
    pub samples_from: i64,
}

/// Sums of the ticks that were read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub times: StateTimes,
    /// Shares of holders in those times.
    pub shared_ms: i64,
    pub ticks: u64,
    pub card_rows: u64,
    pub process_rows: u64,
    pub period: Option<Period>,
}

/// Converts ticks in the order of time.
pub(super) struct Converter<'d> {
    db: &'d Connection,
    wanted: Wanted,
    host: i64,
    boot: i64,
    driver: Option<String>,
    intervals: HashMap<i64, i64>,
    timeline: Timeline,
    /// The newest stretch of each run.
    runs: HashMap<Option<i64>, Stretch>,
    names: FileNames,
    rows: HashMap<i64, OpenRow>,
    sessions: SessionBuilder,
    /// Ticks so far.
    count: u64,
    tally: Tally,
}

/// Ticks of a run without a gap.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    id: i64,
    until: UnixMillis,
    last_tick: UnixMillis,
    ticks: i64,
}

/// Interval of a tick.
#[derive(Debug, Clone, Copy)]
struct Interval {
    /// Time for which the tick counts.
    counts_ms: i64,
    /// Longest time in which it lies.
    distance_ms: i64,
    stored_ms: Option<i64>,
}

impl<'d> Converter<'d> {
    /// Begins beside what is recorded already.
    pub fn new(
        db: &'d Connection,
        facts: SourceFacts,
        recorded: Vec<Period>,
        wanted: Wanted,
    ) -> Result<Self, Problem> {
        let boot = named(db, "boot", "uuid", "")?;
        Ok(Self {
            db,
            wanted,
            host: named(db, "host", "name", &facts.host)?,
            boot,
            driver: facts.driver,
            intervals: facts.intervals,
            timeline: Timeline::new(recorded),
            runs: HashMap::new(),
            names: FileNames::new(boot, facts.devices),
            rows: HashMap::new(),
            sessions: SessionBuilder::new(&Thresholds::default()),
            count: 0,
            tally: Tally::default(),
        })
    }

    /// Adds the next tick. Fails if it is in time that is recorded already.
    pub fn add(&mut self, ticks: &Ticks<'_>) -> Result<(), Problem> {
        let interval = self.interval(ticks.run());
        let time = self.timeline.add(ticks.at(), ticks.run(), interval.distance_ms);
        let time = time.map_err(Problem::AlreadyRecorded)?;
        let window = self.wanted.window;
        if !time.is_adjacent {
            self.write_rows()?;
        }
        let is_wanted = window.is_none_or(|window| !time.period.overlap(&window).is_empty());
        self.add_to_run(ticks, time, interval)?;
        if is_wanted {
            self.tally.ticks += 1;
            self.tally.process_rows += ticks.processes.len() as u64;
            let from = self.tally.period.map_or(time.period.from, |period| period.from);
            self.tally.period = Some(Period::new(from, time.period.to));
        }
        for reading in &ticks.cards {
            let card = self.names.card(self.db, reading, &ticks.texts)?;
            let processes = ticks.processes.iter().filter(|process| process.uuid == reading.uuid);
            let counts = read_period(time.period.from.0, interval.counts_ms);
            let (mut span, held) = self.span(&card, reading, processes, (counts, &ticks.texts))?;
            if is_wanted {
                self.add_row(card.id, time, &span, &held)?;
                self.write_sample(ticks.at(), card.id, reading)?;
            }
            span.period = time.period;
            self.sessions.add(&span);
        }
        self.count += 1;
        if self.count.is_multiple_of(TICKS_PER_WRITE) {
            let updates = self.sessions.take_updates(&[], time.period.to);
            self.write_sessions(&updates)?;
        }
        Ok(())
    }

    /// Writes what is open. Returns the sums, and the numbers of cards and runs.
    pub fn finish(mut self) -> Result<(Tally, usize, usize), Problem> {
        self.write_rows()?;
        for run in self.runs.values() {
            end_run(self.db, run)?;
        }
        let updates = self.sessions.finish();
        self.write_sessions(&updates)?;
        Ok((self.tally, self.names.card_count(), self.runs.len()))
    }

    fn interval(&self, run: Option<i64>) -> Interval {
        let own = run.and_then(|run| self.intervals.get(&run)).copied();
        let wanted = self.wanted.interval_ms;
        Interval {
            counts_ms: wanted.or(own).unwrap_or(DEFAULT_INTERVAL_MS),
            distance_ms: own.or(wanted).unwrap_or(DEFAULT_INTERVAL_MS),
            stored_ms: wanted.or(own),
        }
    }

    /// Adds a tick to the stretch of its run, or begins another one after a gap.
    fn add_to_run(
        &mut self,
        ticks: &Ticks<'_>,
        time: TickTime,
        interval: Interval,
    ) -> Result<(), Problem> {
        let (until, last_tick) = (time.period.to, ticks.at());
        if let Some(run) = self.runs.get_mut(&ticks.run()) {
            if time.goes_on {
                *run = Stretch { until, last_tick, ticks: run.ticks + 1, ..*run };
                return Ok(());
            }
            end_run(self.db, run)?;
        }
        self.db
            .prepare_cached(
                "INSERT INTO run (host, boot, driver, recorder, rule, imported, active_centipercent,
                     worked_centipercent, held_kib, interval_ms, started_ms, until_ms, tick_ms, polls,
                     calls, goes_back, ending)
                     VALUES (?1, ?2, ?3, ?4, ?5, 1, 1000, 1000, ?6, ?7, ?8, ?9, ?10, 1, 0, 0, 'imported')",
            )?
            .execute(params![
                self.host,
                self.boot,
                self.driver,
                RECORDER,
                RULE,
                HELD_MIB * 1024,
                interval.stored_ms,
                time.period.from.0,
                until.0,
                last_tick.0
            ])?;
        let run = Stretch { id: self.db.last_insert_rowid(), until, last_tick, ticks: 1 };
        self.runs.insert(ticks.run(), run);
        Ok(())
    }

    /// Classifies a card for the time that a tick counts. Returns its holders as well.
    fn span<'p>(
        &mut self,
        card: &KnownCard,
        reading: &CardReading,
        processes: impl Iterator<Item = &'p ProcessReading>,
        (counts, texts): (Period, &Texts),
    ) -> Result<(Span, Vec<Held>), Problem> {
        let mut held: Vec<Held> = Vec::new();
        let (mut listed_mib, mut are_all_known) = (0_i64, true);
        for process in processes {
            listed_mib = listed_mib.saturating_add(process.mib.unwrap_or(0));
            are_all_known &= process.mib.is_some();
            let holder = self.names.process(self.db, card.id, process, texts)?;
            // A process that is listed twice, for computing and for drawing, is one holder.
            match held.iter_mut().find(|known| known.holder == holder) {
                Some(known) => known.mib = known.mib.max(process.mib),
                None => held.push(Held { holder, is_process: true, mib: process.mib }),
            }
        }
        let state = classify::state(reading.percent, listed_mib);
        let remainder = classify::remainder_mib(reading, card.memory_mib, listed_mib);
        let unlisted = remainder.filter(|mib| are_all_known && *mib > HELD_MIB);
        if let Some(mib) = unlisted.filter(|_| state != State::TrulyIdle) {
            let holder = self.names.unlisted(self.db, card.id)?;
            held.push(Held { holder, is_process: false, mib: Some(mib) });
        }
        let span = classify::span(&card.facts, reading, state, (counts, &held, remainder));
        Ok((span, held))
    }

    fn write_rows(&mut self) -> Result<(), Problem> {
        self.rows.drain().try_for_each(|(_, row)| row.write(self.db))
    }

    fn add_row(
        &mut self,
        card: i64,
        time: TickTime,
        span: &Span,
        held: &[Held],
    ) -> Result<(), Problem> {
        self.tally.add(span);
        let ids: Vec<i64> = held.iter().map(|it| it.holder).collect();
        let mut rows = SpanRows::new(span, card, &ids);
        rows.card.period = time.row;
        rows.holders.iter_mut().for_each(|row| row.period = time.row);
        let from = time.row.from.0;
        let (age, length) = match from < self.wanted.fine_from {
            true => (Age::Hours, HOUR),
            false => (Age::Fine, QUARTER_HOUR),
        };
        let is_exact = from >= self.wanted.exact_from;
        let place = Place { age, begin: from.div_euclid(length) * length, is_exact };
        let next = OpenRow { place, state: span.state, rows };
        match self.rows.get_mut(&card).filter(|row| row.includes(&next)) {
            Some(row) => row.rows.extend(&next.rows),
            None => {
                if let Some(row) = self.rows.insert(card, next) {
                    row.write(self.db)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the sessions that have ended, are long enough and overlap the window.
    fn write_sessions(&self, updates: &[SessionUpdate]) -> Result<(), Problem> {
        let window = self.wanted.window;
        for update in updates {
            let SessionUpdate::Ended(session) = update else { continue };
            let is_outside = window.is_some_and(|it| session.period.overlap(&it).is_empty());
            let holder = session.process.start_ticks.and_then(|id| i64::try_from(id).ok());
            if let Some(holder) = holder.filter(|_| !is_outside)
                && session.period.millis() >= SHORTEST_SESSION_MS
            {
                sessions::write_row(self.db, holder, session, false)?;
            }
        }
        Ok(())
    }

    fn write_sample(
        &self,
        at: UnixMillis,
        card: i64,
        reading: &CardReading,
    ) -> Result<(), Problem> {
        if at.0 < self.wanted.samples_from {
            return Ok(());
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 100")]
        let utilization = reading.percent.map(|percent| percent.round() as i64);
        self.db
            .prepare_cached("INSERT OR IGNORE INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![
                at.0,
                card,
                utilization,
                reading.used_mib,
                reading.power_w,
                reading.temperature_c
            ])?;
        Ok(())
    }
}

impl Tally {
    fn add(&mut self, span: &Span) {
        let counts_ms = span.period.millis();
        self.card_rows += 1;
        self.times.add(span.state, counts_ms);
        if span.state != State::TrulyIdle && !span.holders.is_empty() {
            self.shared_ms = self.shared_ms.saturating_add(counts_ms);
        }
    }
}

fn end_run(db: &Connection, run: &Stretch) -> Result<(), Problem> {
    db.prepare_cached("UPDATE run SET until_ms = ?2, tick_ms = ?3, polls = ?4 WHERE id = ?1")?
        .execute((run.id, run.until.0, run.last_tick.0, run.ticks))?;
    Ok(())
}
