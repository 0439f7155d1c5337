//! What was recorded, row by row, for other programs. Nothing is gathered up: a row is
//! handed on as it is read.

use std::path::Path;

use probe::units::UnixMillis;
use rusqlite::{Connection, Row};
use serde::Serialize;

use super::error::StoreError;
use super::run::last_tick;
use super::{codes, database, sample_key};
use crate::calendar;
use crate::classify::{Holds, State, Work};
use crate::ledger::{Part, Period};

/// A database that is being read out, as it is at one moment.
#[derive(Debug)]
pub struct Export {
    database: Connection,
    /// Where the spans end that are still open.
    open_end: i64,
}

/// Whose state a span tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    Card,
    Owner,
    Holder,
    /// Memory that no listed holder accounts for.
    Unseen,
}

/// A stretch of time in one state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanRow {
    pub kind: SpanKind,
    pub from: String,
    pub to: String,
    pub seconds: f64,
    /// What it counts for: its length, but for imported ticks.
    pub counted_seconds: f64,
    pub card_uuid: Option<String>,
    pub card_index: Option<u32>,
    pub card_slot: Option<u32>,
    pub state: &'static str,
    /// Why the state is unknown.
    pub reason: Option<&'static str>,
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub pid: Option<u32>,
    pub program: Option<String>,
    /// When the span began.
    pub memory_bytes: Option<u64>,
    pub run: i64,
    /// What its process ran for, as far as that is known.
    pub script: Option<String>,
    pub job: Option<String>,
    pub container: Option<String>,
    pub pod: Option<String>,
    pub notebook: Option<String>,
    /// How it was started, where the recorder was told to keep that.
    pub command: Option<String>,
}

/// One card at one tick.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleRow {
    pub at: String,
    pub covers_seconds: f64,
    pub card_uuid: Option<String>,
    pub card_index: Option<u32>,
    pub card_slot: Option<u32>,
    pub state: &'static str,
    pub reason: Option<&'static str>,
    pub utilization_percent: Option<f64>,
    /// Why there is no utilization.
    pub utilization_reason: Option<&'static str>,
    pub basis: Option<&'static str>,
    pub held_bytes: Option<u64>,
    pub unseen_bytes: Option<u64>,
    /// Why more may be held than is seen.
    pub hidden_reason: Option<&'static str>,
    pub holders: u32,
    pub used_bytes: Option<u64>,
    pub power_watts: Option<f64>,
    pub temperature_celsius: Option<i64>,
    pub run: i64,
}

const SPANS: [(SpanKind, &str); 4] = [
    (
        SpanKind::Card,
        "SELECT from_ms, length_ms, counted_ms, span.run, state, uuid, number, slot,
                NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
             FROM card_span AS span LEFT JOIN card ON card.id = span.card
             WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    ),
    (
        SpanKind::Owner,
        "SELECT from_ms, length_ms, counted_ms, span.run, state, uuid, number, slot,
                user, uid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
             FROM owner_span AS span LEFT JOIN card ON card.id = span.card
             LEFT JOIN identity ON identity.id = span.identity
             WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    ),
    (
        SpanKind::Holder,
        "SELECT from_ms, length_ms, counted_ms, span.run, state, uuid, number, slot,
                user, uid, pid, program, memory_kib, script, job,
                ifnull(container_name, container), ifnull(pod_name, pod), notebook, command
             FROM holder_span AS span LEFT JOIN holder ON holder.id = span.holder
             LEFT JOIN card ON card.id = holder.card
             LEFT JOIN process ON process.id = holder.process
             LEFT JOIN identity ON identity.id = process.identity
             LEFT JOIN workload ON workload.id = process.workload
             WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    ),
    (
        SpanKind::Unseen,
        "SELECT from_ms, length_ms, counted_ms, span.run, 3, uuid, number, slot,
                NULL, NULL, NULL, NULL, memory_kib, NULL, NULL, NULL, NULL, NULL, NULL
             FROM unseen_span AS span LEFT JOIN card ON card.id = span.card
             WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    ),
];

impl Export {
    /// Opens a database for reading.
    ///
    /// # Errors
    /// When it is not ours or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let database = database::open_to_read(path)?;
        database.execute_batch("BEGIN")?;
        let newest: Option<i64> =
            database.query_row("SELECT max(id) FROM run", [], |row| row.get(0))?;
        let open_end = newest.map(|run| last_tick(&database, run)).transpose()?.flatten();
        Ok(Self { database, open_end: open_end.map_or(i64::MIN, |end| end.0) })
    }

    /// The spans that begin in the window: cards, owners, holders, the unseen, each in the
    /// order of time.
    ///
    /// # Errors
    /// When it cannot be read, or what `each` says.
    pub fn spans<E: From<StoreError>>(
        &self,
        window: Period,
        mut each: impl FnMut(SpanRow) -> Result<(), E>,
    ) -> Result<(), E> {
        for (kind, query) in SPANS {
            self.rows(query, window, |row| self.span(kind, row), &mut each)?;
        }
        Ok(())
    }

    /// The samples that were taken in the window, in the order in which they were recorded.
    ///
    /// # Errors
    /// When it cannot be read, or what `each` says.
    pub fn samples<E: From<StoreError>>(
        &self,
        window: Period,
        each: impl FnMut(SampleRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let of_tick = sample_key::is_of("tick.id", &self.database)?;
        let query = format!(
            "SELECT at_ms, covers_ms, uuid, number, slot, state, utilization, utilization_why,
                    basis, held_kib, unseen_kib, hidden_why, holders, used_kib, power_mw,
                    temperature_c, run
                 FROM tick CROSS JOIN sample ON {of_tick}
                 LEFT JOIN card ON card.id = sample.card
                 WHERE at_ms >= ?1 AND at_ms < ?2 ORDER BY tick.id, sample.card"
        );
        self.rows(&query, window, sample, each)
    }

    fn rows<T, E: From<StoreError>>(
        &self,
        query: &str,
        window: Period,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut query = self.database.prepare(query).map_err(StoreError::from)?;
        let mut rows = query.query((window.from.0, window.to.0)).map_err(StoreError::from)?;
        while let Some(row) = rows.next().map_err(StoreError::from)? {
            each(read(row).map_err(StoreError::from)?)?;
        }
        Ok(())
    }

    fn span(&self, kind: SpanKind, row: &Row<'_>) -> rusqlite::Result<SpanRow> {
        let (from, length): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        let to = length.map_or(self.open_end, |length| from.saturating_add(length));
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        let counted: Option<i64> = row.get(2)?;
        let (state, reason) = part(codes::part(row.get(4)?));
        Ok(SpanRow {
            kind,
            from: moment(from),
            to: moment(to),
            seconds: period.seconds(),
            counted_seconds: counted.map_or_else(|| period.seconds(), thousandths),
            card_uuid: row.get(5)?,
            card_index: row.get(6)?,
            card_slot: row.get(7)?,
            state,
            reason,
            user: row.get(8)?,
            uid: row.get(9)?,
            pid: row.get(10)?,
            program: row.get(11)?,
            memory_bytes: row.get::<_, Option<i64>>(12)?.and_then(bytes),
            run: row.get(3)?,
            script: row.get(13)?,
            job: row.get(14)?,
            container: row.get(15)?,
            pod: row.get(16)?,
            notebook: row.get(17)?,
            command: row.get(18)?,
        })
    }
}

/// The word for what somebody on a card did, or held where that follows from the card.
const fn part(part: Part) -> (&'static str, Option<&'static str>) {
    match part {
        Part::Judged(state) => (word(state), reason(state)),
        Part::Holds(Holds::Much, Work::AsTheCard) => ("holding", None),
        Part::Holds(Holds::Little, Work::AsTheCard) => ("holding-little", None),
        Part::Holds(Holds::Untold, Work::AsTheCard) => ("holding-untold", None),
        Part::Holds(_, Work::Works) => ("active", None),
        Part::Holds(Holds::Much, Work::Idle) => ("idle-held", None),
        Part::Holds(Holds::Little, Work::Idle) => ("truly-idle", None),
        Part::Holds(Holds::Untold, Work::Idle) => ("idle-untold", None),
    }
}

fn sample(row: &Row<'_>) -> rusqlite::Result<SampleRow> {
    let state = codes::state(row.get(5)?);
    let why = |column| -> rusqlite::Result<_> {
        Ok(row.get::<_, Option<i64>>(column)?.map(|code| codes::why(code).slug()))
    };
    let kib =
        |column| -> rusqlite::Result<_> { Ok(row.get::<_, Option<i64>>(column)?.and_then(bytes)) };
    Ok(SampleRow {
        at: moment(row.get(0)?),
        covers_seconds: thousandths(row.get(1)?),
        card_uuid: row.get(2)?,
        card_index: row.get(3)?,
        card_slot: row.get(4)?,
        state: word(state),
        reason: reason(state),
        utilization_percent: row.get::<_, Option<u32>>(6)?.map(|work| f64::from(work) / 100.0),
        utilization_reason: why(7)?,
        basis: row.get::<_, Option<i64>>(8)?.and_then(codes::basis),
        held_bytes: kib(9)?,
        unseen_bytes: kib(10)?,
        hidden_reason: why(11)?,
        holders: row.get(12)?,
        used_bytes: kib(13)?,
        power_watts: row.get::<_, Option<i64>>(14)?.map(thousandths),
        temperature_celsius: row.get(15)?,
        run: row.get(16)?,
    })
}

/// The word for a stretch of time: what is free now was idle then.
const fn word(state: State) -> &'static str {
    match state {
        State::TrulyIdle => "truly-idle",
        other => other.word(),
    }
}

const fn reason(state: State) -> Option<&'static str> {
    match state {
        State::Unknown(why) => Some(why.slug()),
        State::Active | State::IdleHeld | State::TrulyIdle => None,
    }
}

/// ISO 8601 in UTC, with milliseconds. What no calendar has stays a number.
fn moment(millis: i64) -> String {
    match calendar::timestamp(UnixMillis(millis)) {
        Some(at) => format!("{at:.3}"),
        None => millis.to_string(),
    }
}

fn bytes(kib: i64) -> Option<u64> {
    u64::try_from(kib).ok()?.checked_mul(1024)
}

#[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
fn thousandths(amount: i64) -> f64 {
    amount as f64 / 1000.0
}
