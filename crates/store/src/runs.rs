//! Stretches of recording, and what happened meanwhile.

use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Thresholds};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::tick::{Event, Run};

/// A run as it is stored.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub id: i64,
    pub run: Run,
    pub is_imported: bool,
    /// Time up to which it is final.
    pub until: UnixMillis,
    /// Time of the last tick.
    pub last_tick: UnixMillis,
    pub polls: i64,
    /// Calls of the driver.
    pub calls: i64,
    /// True if it began before the end of what was recorded.
    pub goes_back: bool,
    /// Word for the reason; `None` while it goes on, or after a crash.
    pub ending: Option<String>,
}

impl StoredRun {
    #[must_use]
    pub const fn period(&self) -> Period {
        Period::new(self.run.started, self.until)
    }
}

impl Database {
    /// Reads all runs, from the first to the newest.
    pub fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        self.result(read_runs(&self.connection))
    }

    /// Reads the time of the last tick of the newest run; `None` if nothing was recorded but only imported.
    pub fn last_tick(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.result(read_last_tick(&self.connection))
    }

    /// Reads the events that overlap a window, in order of time.
    pub fn events(&self, window: Period) -> Result<Vec<Event>, StoreError> {
        self.result(read_events(&self.connection, window))
    }
}

fn read_runs(db: &Connection) -> Result<Vec<StoredRun>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT run.id, host.name, boot.uuid, driver, recorder, rule, imported, active_centipercent,
             worked_centipercent, held_kib, interval_ms, started_ms, until_ms, tick_ms, polls, calls,
             goes_back, ending
             FROM run JOIN host ON host.id = run.host JOIN boot ON boot.id = run.boot ORDER BY run.id",
    )?;
    let runs = query.query_map([], read_run)?;
    Ok(runs.collect::<Result<_, _>>()?)
}

fn read_last_tick(db: &Connection) -> Result<Option<UnixMillis>, Problem> {
    let mut query =
        db.prepare_cached("SELECT tick_ms FROM run WHERE NOT imported ORDER BY id DESC LIMIT 1")?;
    Ok(query.query_row([], |row| Ok(UnixMillis(row.get(0)?))).optional()?)
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let percent = |place| Ok::<_, rusqlite::Error>(Percent(row.get::<_, f64>(place)? / 100.0));
    let held_kib = row.get::<_, u32>(9)?;
    Ok(StoredRun {
        id: row.get(0)?,
        run: Run {
            host: row.get(1)?,
            boot: row.get(2)?,
            driver: row.get(3)?,
            recorder: row.get(4)?,
            rule: row.get(5)?,
            thresholds: Thresholds {
                active: percent(7)?,
                worked: percent(8)?,
                held: Bytes(u64::from(held_kib) << 10),
                ..Thresholds::default()
            },
            interval_ms: row.get(10)?,
            started: UnixMillis(row.get(11)?),
        },
        is_imported: row.get(6)?,
        until: UnixMillis(row.get(12)?),
        last_tick: UnixMillis(row.get(13)?),
        polls: row.get(14)?,
        calls: row.get(15)?,
        goes_back: row.get(16)?,
        ending: row.get(17)?,
    })
}

fn read_events(db: &Connection, window: Period) -> Result<Vec<Event>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT at_ms, until_ms, kind, detail FROM event
             WHERE at_ms < ?2 AND ifnull(until_ms, at_ms) >= ?1 ORDER BY at_ms, id",
    )?;
    let events = query.query_map((window.from.0, window.to.0), |row| {
        Ok(Event {
            at: UnixMillis(row.get(0)?),
            until: row.get::<_, Option<i64>>(1)?.map(UnixMillis),
            kind: row.get(2)?,
            detail: row.get(3)?,
        })
    })?;
    Ok(events.collect::<Result<_, _>>()?)
}
