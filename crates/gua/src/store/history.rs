//! Reads what was recorded, for a window of time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use probe::units::UnixMillis;
use probe::who::Source;
use rusqlite::{Connection, Row};

use super::ahead::{Beginning, SecondReader, is_long};
use super::error::StoreError;
use super::holders::HolderRow;
use super::run::{Ending, last_tick};
use super::{codes, database, lines, sample_key};
use crate::classify::{Lines, State};
use crate::ledger::{ByNumber, Event, HOUR, Identity, Kind, Period, portion};

/// What a tick of a run without an interval counts for: the Python gua's own default.
pub const DEFAULT_INTERVAL_MILLIS: i64 = 30_000;

/// A database as it is at one moment, however much is recorded meanwhile.
#[derive(Debug)]
pub struct History {
    pub(super) database: Connection,
    /// Where the spans end that are still open.
    open_end: UnixMillis,
    runs: Vec<RunRow>,
    scale: HashMap<i64, Scale>,
    /// Runs that began again before what was recorded, newest last.
    pub(super) newer: Vec<Newer>,
    /// Who was asked for before: sessions and accounts ask for the same ones many times.
    pub(super) holders: RefCell<HashMap<i64, Option<HolderRow>>>,
    /// Who may be asked for next.
    pub(super) holders_ahead: RefCell<ByNumber<i64, HolderRow>>,
    /// For one long window.
    pub(super) second: RefCell<Option<SecondReader>>,
}

/// A run as it was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: i64,
    pub host: String,
    pub driver: Option<String>,
    pub recorder: String,
    pub interval_millis: Option<i64>,
    pub started: UnixMillis,
    /// `None` while it goes on, or where it was killed.
    pub ended: Option<UnixMillis>,
    pub ending: Option<Ending>,
    /// By which its spans are judged; `None` where that cannot be told.
    pub lines: Option<Lines>,
}

/// A card as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRow {
    pub id: i64,
    pub uuid: Option<String>,
    pub number: u32,
    pub slot: Option<u32>,
    pub name: Option<String>,
    pub memory_bytes: Option<u64>,
}

/// The part of a span that lies in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<K> {
    pub key: K,
    pub period: Period,
    pub state: State,
    /// Milliseconds that it counts for: its length, but for imported ticks.
    pub counts: i64,
}

/// One identity on one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OwnerKey {
    pub card: i64,
    pub identity: i64,
}

/// What another interval makes of what a run counts.
#[derive(Debug, Clone, Copy)]
struct Scale {
    interval: i64,
    instead_of: i64,
}

/// What a run that went back in time observed anew: earlier runs do not count there.
#[derive(Debug)]
pub(super) struct Newer {
    run: i64,
    observed: Vec<Period>,
}

impl History {
    /// Opens a database for reading.
    ///
    /// # Errors
    /// When it is not ours or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(database::open_to_read(path)?)
    }

    /// The same for a window of it, which may be long.
    ///
    /// # Errors
    /// When it is not ours or cannot be read.
    pub fn open_for(path: &Path, window: Period) -> Result<Self, StoreError> {
        let database = database::open_to_read(path)?;
        let second = if is_long(window) { Beginning::of(path) } else { None };
        let history = Self::of(database)?;
        history.second.replace(second.and_then(Beginning::join));
        Ok(history)
    }

    /// Opens a database that this process records into.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open_beside_the_writer(path: &Path) -> Result<Self, StoreError> {
        Self::of(database::open_to_read_beside_the_writer(path)?)
    }

    /// Reads an open database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(database: Connection) -> Result<Self, StoreError> {
        database.execute_batch("BEGIN")?;
        let runs = runs(&database)?;
        // What was imported meanwhile is a later one.
        let last_run = runs.iter().rev().find(|run| run.ended.is_none()).map(|run| run.id);
        let open_end = last_run.map(|run| last_tick(&database, run)).transpose()?.flatten();
        let mut history = Self {
            database,
            open_end: open_end.unwrap_or(UnixMillis(i64::MIN)),
            runs,
            scale: HashMap::new(),
            newer: Vec::new(),
            holders: RefCell::default(),
            holders_ahead: RefCell::default(),
            second: RefCell::default(),
        };
        history.newer = history.runs_that_went_back()?;
        Ok(history)
    }

    /// Lets every imported tick count for this long instead of the interval of its run.
    /// Ticks of our own have measured the time they speak for, and keep it.
    pub fn count_ticks_as(&mut self, interval_millis: i64) {
        let imported = self.runs.iter().filter(|run| run.is_imported());
        let scale = |run: &RunRow| {
            let instead_of = run.interval_millis.unwrap_or(DEFAULT_INTERVAL_MILLIS);
            (run.id, Scale { interval: interval_millis, instead_of })
        };
        self.scale = imported.map(scale).collect();
    }

    /// All runs, in the order in which they were recorded.
    #[must_use]
    pub fn runs(&self) -> &[RunRow] {
        &self.runs
    }

    /// From the first to the last recorded moment; `None` where nothing is recorded.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn extent(&self) -> Result<Option<Period>, StoreError> {
        let first: Option<i64> =
            self.database.query_row("SELECT min(from_ms) FROM observed", [], |row| row.get(0))?;
        let Some(first) = first else { return Ok(None) };
        let mut ends = self.database.prepare(
            "SELECT from_ms, length_ms FROM observed
                 WHERE from_ms >= (SELECT max(from_ms) FROM observed) - ?1",
        )?;
        let ends = ends.query_map([HOUR], |row| self.end_of(row.get(0)?, row.get(1)?))?;
        let last = ends.collect::<Result<Vec<_>, _>>()?.into_iter().max();
        Ok(last.map(|last| Period::new(UnixMillis(first), last)))
    }

    /// Every card that was ever seen.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn cards(&self) -> Result<Vec<CardRow>, StoreError> {
        let mut cards = self.database.prepare(
            "SELECT id, uuid, number, slot, name, memory_bytes FROM card ORDER BY number, slot",
        )?;
        let card = |row: &Row<'_>| {
            Ok(CardRow {
                id: row.get(0)?,
                uuid: row.get(1)?,
                number: row.get(2)?,
                slot: row.get(3)?,
                name: row.get(4)?,
                memory_bytes: row.get::<_, Option<i64>>(5)?.and_then(|b| u64::try_from(b).ok()),
            })
        };
        Ok(cards.query_map([], card)?.collect::<Result<_, _>>()?)
    }

    /// Everybody who ever held a card, by number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn identities(&self) -> Result<HashMap<i64, Identity>, StoreError> {
        let mut identities = self.database.prepare("SELECT id, user, uid, source FROM identity")?;
        let numbered = |row: &Row<'_>| Ok((row.get(0)?, identity(row, 1)?));
        Ok(identities.query_map([], numbered)?.collect::<Result<_, _>>()?)
    }

    /// The times of the window in which somebody recorded, in order, without overlaps, each
    /// with its run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn observed(&self, window: Period) -> Result<Vec<Span<i64>>, StoreError> {
        let mut observed = Vec::new();
        self.spans(
            "SELECT from_ms, length_ms, counted_ms, run FROM observed
                 WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
            window,
            // Of a run there is no state to tell.
            |row| Ok((row.get(3)?, State::Active)),
            |span| {
                observed.push(span);
                Ok(())
            },
        )?;
        observed.sort_by_key(|span| span.period);
        Ok(observed)
    }

    /// Every card's states in the window, in the order of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn card_spans(
        &self,
        window: Period,
        mut each: impl FnMut(Span<i64>),
    ) -> Result<(), StoreError> {
        self.spans(
            "SELECT from_ms, length_ms, counted_ms, run, state, card FROM card_span
                 WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
            window,
            |row| Ok((row.get(5)?, codes::state(row.get(4)?))),
            |span| {
                each(span);
                Ok(())
            },
        )
    }

    /// What happened in the window, in the order of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn events(&self, window: Period) -> Result<Vec<Event>, StoreError> {
        let mut events = self.database.prepare(
            "SELECT at_ms, until_ms, kind, detail FROM event
                 WHERE at_ms < ?2 AND ifnull(until_ms, at_ms) >= ?1 ORDER BY at_ms, id",
        )?;
        let events = events.query_map((window.from.0, window.to.0), event)?;
        Ok(events.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// When the newest tick was.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn newest_tick(&self) -> Result<Option<UnixMillis>, StoreError> {
        match self.newest_run() {
            Some(run) => last_tick(&self.database, run.id),
            None => Ok(None),
        }
    }

    /// The run that goes on, else the one that ended last: what was imported later may be
    /// older.
    #[must_use]
    pub fn newest_run(&self) -> Option<&RunRow> {
        self.runs.iter().max_by_key(|run| run.ended.unwrap_or(UnixMillis(i64::MAX)))
    }

    /// How many cards the newest tick saw; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn cards_at_newest_tick(&self) -> Result<Option<u64>, StoreError> {
        let Some(run) = self.newest_run() else { return Ok(None) };
        let newest = "(SELECT id FROM tick WHERE run = ?1 ORDER BY id DESC LIMIT 1)";
        let of_tick = sample_key::is_of(newest, &self.database)?;
        let count = format!("SELECT count(card) FROM sample WHERE {of_tick}");
        let count: i64 = self.database.query_row(&count, [run.id], |row| row.get(0))?;
        Ok(u64::try_from(count).ok().filter(|count| *count > 0))
    }

    /// The last thing that happened of the kinds that are asked for.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn newest_event(&self, is_it: impl Fn(Kind) -> bool) -> Result<Option<Event>, StoreError> {
        let mut events = self.database.prepare(
            "SELECT at_ms, until_ms, kind, detail FROM event ORDER BY at_ms DESC, id DESC",
        )?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(event) = event(row)?.filter(|event| is_it(event.kind)) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// For questions of the store's own.
    pub(super) const fn connection(&self) -> &Connection {
        &self.database
    }

    /// Every row of a query for spans, cut at the window, without what counts elsewhere. The
    /// query gives when it began, its length, its count and its run first.
    pub(super) fn spans<K: Copy>(
        &self,
        query: &str,
        window: Period,
        key: impl Fn(&Row<'_>) -> rusqlite::Result<(K, State)>,
        mut each: impl FnMut(Span<K>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut query = self.database.prepare(query)?;
        // No span is longer than an hour, so none that began earlier reaches into it.
        let mut rows = query.query((window.from.0.saturating_sub(HOUR), window.to.0))?;
        while let Some(row) = rows.next()? {
            let from: i64 = row.get(0)?;
            let whole = Period::new(UnixMillis(from), self.end_of(from, row.get(1)?)?);
            let (counted, run): (Option<i64>, i64) = (row.get(2)?, row.get(3)?);
            let part = whole.overlap(&window);
            if part.is_empty() {
                continue;
            }
            let (key, state) = key(row)?;
            let mut tell = |period: Period| {
                let counts = self.counts(run, counted, whole, period);
                each(Span { key, period, state, counts })
            };
            if self.newer.is_empty() {
                tell(part)?;
            } else {
                parts_that_count(&self.newer, run, part).into_iter().try_for_each(tell)?;
            }
        }
        Ok(())
    }

    pub(super) fn end_of(&self, from: i64, length: Option<i64>) -> rusqlite::Result<UnixMillis> {
        Ok(length.map_or(self.open_end, |length| UnixMillis(from.saturating_add(length))))
    }

    /// What a part of a span counts for: its share of what the whole counts for.
    pub(super) fn counts(
        &self,
        run: i64,
        counted: Option<i64>,
        whole: Period,
        part: Period,
    ) -> i64 {
        let Some(counted) = counted else { return part.millis() };
        let counted = match self.scale.get(&run) {
            Some(scale) => portion(counted, scale.interval, scale.instead_of),
            None => counted,
        };
        portion(counted, part.millis(), whole.millis())
    }

    fn runs_that_went_back(&self) -> Result<Vec<Newer>, StoreError> {
        let mut back =
            self.database.prepare("SELECT id FROM run WHERE goes_back = 1 ORDER BY id")?;
        let back: Vec<i64> = back.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut query = self
            .database
            .prepare("SELECT from_ms, length_ms FROM observed WHERE run = ?1 ORDER BY from_ms")?;
        let mut newer = Vec::new();
        for run in back {
            let period = |row: &Row<'_>| {
                let from = row.get(0)?;
                Ok(Period::new(UnixMillis(from), self.end_of(from, row.get(1)?)?))
            };
            let observed = query.query_map([run], period)?.collect::<Result<_, _>>()?;
            newer.push(Newer { run, observed });
        }
        Ok(newer)
    }
}

impl RunRow {
    /// Whether another program recorded it.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        !self.recorder.starts_with("gua ")
    }
}

/// Whose it was, as it was written down in three columns from this one on.
pub(super) fn identity(row: &Row<'_>, first: usize) -> rusqlite::Result<Identity> {
    let source: Option<String> = row.get(first + 2)?;
    Ok(Identity {
        user: row.get(first)?,
        uid: row.get(first + 1)?,
        source: source.as_deref().and_then(Source::of_slug),
    })
}

/// What a later run has not observed anew.
pub(super) fn parts_that_count(newer: &[Newer], run: i64, period: Period) -> Vec<Period> {
    let mut parts = vec![period];
    for newer in newer.iter().filter(|newer| newer.run > run) {
        parts = parts.into_iter().flat_map(|part| part.without(&newer.observed)).collect();
    }
    parts
}

/// `None` for a kind that a later version has made: it is none of ours to tell.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<Option<Event>> {
    let kind: String = row.get(2)?;
    let Some(kind) = Kind::of_slug(&kind) else { return Ok(None) };
    Ok(Some(Event {
        at: UnixMillis(row.get(0)?),
        until: row.get::<_, Option<i64>>(1)?.map(UnixMillis),
        kind,
        detail: row.get(3)?,
    }))
}

fn runs(database: &Connection) -> Result<Vec<RunRow>, StoreError> {
    let lines = lines::of_runs(database)?;
    let mut runs = database.prepare(
        "SELECT run.id, host.name, driver, recorder, interval_ms, started_ms, ended_ms, ending
             FROM run JOIN host ON host.id = run.host ORDER BY run.id",
    )?;
    let run = |row: &Row<'_>| {
        let (id, ending): (i64, Option<String>) = (row.get(0)?, row.get(7)?);
        Ok(RunRow {
            id,
            lines: lines.get(&id).copied().unwrap_or_else(|| Some(lines::usual())),
            host: row.get(1)?,
            driver: row.get(2)?,
            recorder: row.get(3)?,
            interval_millis: row.get(4)?,
            started: UnixMillis(row.get(5)?),
            ended: row.get::<_, Option<i64>>(6)?.map(UnixMillis),
            ending: ending.as_deref().and_then(Ending::of_slug),
        })
    };
    Ok(runs.query_map([], run)?.collect::<Result<_, _>>()?)
}
