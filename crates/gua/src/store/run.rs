//! Runs: stretches of recording by one program.

use probe::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;

/// What is written down when a run begins.
#[derive(Debug, Clone)]
pub struct Run {
    pub host: String,
    /// What tells one boot from another; empty where not known.
    pub boot: String,
    pub driver: Option<String>,
    /// Program and version.
    pub recorder: String,
    pub interval_millis: Option<i64>,
    pub started: UnixMillis,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was told to.
    Stopped,
    /// It was killed, or the machine went down.
    Crashed,
    /// The clock was set back, and another run goes on from there.
    ClockSetBack,
    /// It could not go on.
    Failed,
    /// All that there was to record was recorded.
    Complete,
}

impl Ending {
    pub const ALL: [Self; 5] =
        [Self::Stopped, Self::Crashed, Self::ClockSetBack, Self::Failed, Self::Complete];

    /// A stable word for the database and for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Crashed => "crashed",
            Self::ClockSetBack => "clock_set_back",
            Self::Failed => "failed",
            Self::Complete => "complete",
        }
    }

    #[must_use]
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.slug() == slug)
    }
}

/// Writes down that a run begins; gives its number.
pub(super) fn begin(database: &Connection, run: &Run) -> Result<i64, StoreError> {
    database.execute("INSERT OR IGNORE INTO host (name) VALUES (?1)", [&run.host])?;
    let goes_back = last_moment(database)?.is_some_and(|last| run.started < last);
    database.execute(
        "INSERT INTO run (host, boot, driver, recorder, interval_ms, started_ms, goes_back)
             SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM host WHERE name = ?1",
        params![
            run.host,
            run.boot,
            run.driver,
            run.recorder,
            run.interval_millis,
            run.started.0,
            goes_back
        ],
    )?;
    Ok(database.last_insert_rowid())
}

/// Writes down how a run ended.
pub(super) fn end(
    database: &Connection,
    run: i64,
    at: UnixMillis,
    ending: Ending,
) -> Result<(), StoreError> {
    database.execute(
        "UPDATE run SET ended_ms = ?2, ending = ?3 WHERE id = ?1",
        (run, at.0, ending.slug()),
    )?;
    Ok(())
}

/// Ends what a killed recorder left open: its spans at its last tick. Only who holds the
/// recorder's lock may do so.
pub(super) fn settle(database: &Connection) -> Result<(), StoreError> {
    let open: Vec<(i64, i64)> = database
        .prepare("SELECT id, started_ms FROM run WHERE ended_ms IS NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (run, started) in open {
        let last = last_tick(database, run)?.unwrap_or(UnixMillis(started));
        for table in ["observed", "card_span", "owner_span", "holder_span", "unseen_span"] {
            let settle = format!(
                "UPDATE {table} SET length_ms = ?2 - from_ms
                     WHERE length_ms IS NULL AND run = ?1 AND from_ms > ?2 - 3600000"
            );
            database.execute(&settle, (run, last.0))?;
        }
        end(database, run, last, Ending::Crashed)?;
    }
    Ok(())
}

/// When the last tick of a run was.
pub(super) fn last_tick(database: &Connection, run: i64) -> Result<Option<UnixMillis>, StoreError> {
    let mut last = database
        .prepare_cached("SELECT at_ms FROM tick WHERE run = ?1 ORDER BY id DESC LIMIT 1")?;
    Ok(last.query_row([run], |row| row.get(0)).optional()?.map(UnixMillis))
}

/// The end of all that is recorded.
///
/// # Errors
/// When it cannot be read.
pub(super) fn last_moment(database: &Connection) -> Result<Option<UnixMillis>, StoreError> {
    let spans: Option<i64> = database.query_row(
        "SELECT max(from_ms + ifnull(length_ms, 0)) FROM
             (SELECT from_ms, length_ms FROM observed ORDER BY from_ms DESC LIMIT 4)",
        [],
        |row| row.get(0),
    )?;
    Ok(spans.map(UnixMillis))
}
