//! What the rules have come to: how long each holder is idle, what else told that it works, and
//! what was done, which is added to and never changed.

use probe::Why;
use probe::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::deed_kind::DeedKind;
use super::error::StoreError;
use super::writer::immediate;
use super::{History, codes};
use crate::ledger::Period;

/// One holder that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRow {
    pub pid: u32,
    pub start_ticks: Option<u64>,
    pub rule: Option<String>,
    /// What the rule did then.
    pub action: Option<String>,
    /// Of all that the rule said.
    pub digest: Option<i64>,
    pub idle_millis: i64,
    pub missed_millis: i64,
    pub notices: i64,
    pub told_at_millis: i64,
}

/// All of them, at one tick.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    pub rows: Vec<WatchRow>,
    /// The time that ticks had spoken for.
    pub clock_millis: i64,
    /// When it was written down; `None` where it never was.
    pub at: Option<UnixMillis>,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    pub at: UnixMillis,
    pub clock_millis: i64,
    pub kind: DeedKind,
    pub pid: Option<u32>,
    pub start_ticks: Option<u64>,
    pub uid: Option<u32>,
    pub user: Option<String>,
    pub program: Option<String>,
    pub rule: Option<String>,
    /// In a sentence.
    pub detail: String,
    /// As JSON.
    pub evidence: String,
}

/// What told, besides the SMs, that a process works or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignCode {
    Quiet,
    Encoder,
    Decoder,
    Cpu,
    Unknown(Why),
}

impl SignCode {
    const fn code(self) -> i64 {
        match self {
            Self::Quiet => 0,
            Self::Encoder => 1,
            Self::Decoder => 2,
            Self::Cpu => 3,
            Self::Unknown(why) => codes::of_why(why),
        }
    }

    fn of(code: i64) -> Self {
        match code {
            0 => Self::Quiet,
            1 => Self::Encoder,
            2 => Self::Decoder,
            3 => Self::Cpu,
            code => Self::Unknown(codes::why(code)),
        }
    }
}

/// A sign of a process, from this tick of the newest run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignRow {
    pub at: UnixMillis,
    pub run: i64,
    pub pid: u32,
    /// `None` where it is not known.
    pub start_ticks: Option<u64>,
    pub sign: SignCode,
}

/// Writes down where everybody stands, in the place of what stood there, and what was done.
///
/// # Errors
/// When it cannot be written; then nothing is.
pub fn write_policy(
    database: &mut Connection,
    boot: &str,
    watched: Option<&Watched>,
    signs: &[SignRow],
    deeds: &[Deed],
) -> Result<(), StoreError> {
    if watched.is_none() && signs.is_empty() && deeds.is_empty() {
        return Ok(());
    }
    let transaction = immediate(database)?;
    if let Some(watched) = watched {
        write_watches(&transaction, boot, watched)?;
    }
    for sign in signs {
        write_sign(&transaction, sign)?;
    }
    for deed in deeds {
        write_deed(&transaction, deed)?;
    }
    Ok(transaction.commit()?)
}

fn write_watches(database: &Connection, boot: &str, watched: &Watched) -> Result<(), StoreError> {
    database.execute("DELETE FROM policy_state", [])?;
    let mut insert = database.prepare_cached(
        "INSERT INTO policy_state (pid, start_ticks, boot, rule, action, digest, idle_ms,
             missed_ms, notices, told_at_ms, clock_ms, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let at = watched.at.map_or(0, |at| at.0);
    // A row without a process keeps the clock.
    let clock = WatchRow {
        pid: 0,
        start_ticks: None,
        rule: None,
        action: None,
        digest: None,
        idle_millis: 0,
        missed_millis: 0,
        notices: 0,
        told_at_millis: 0,
    };
    for row in std::iter::once(&clock).chain(&watched.rows) {
        insert.execute(params![
            row.pid,
            ticks(row.start_ticks),
            boot,
            row.rule,
            row.action,
            row.digest,
            row.idle_millis,
            row.missed_millis,
            row.notices,
            row.told_at_millis,
            watched.clock_millis,
            at
        ])?;
    }
    Ok(())
}

fn write_sign(database: &Connection, sign: &SignRow) -> Result<(), StoreError> {
    let mut insert = database.prepare_cached(
        "INSERT OR REPLACE INTO policy_sign (at_ms, pid, start_ticks, run, sign)
             VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let SignRow { at, run, pid, start_ticks, sign } = *sign;
    insert.execute(params![at.0, pid, ticks(start_ticks), run, sign.code()])?;
    Ok(())
}

fn write_deed(database: &Connection, deed: &Deed) -> Result<(), StoreError> {
    let mut insert = database.prepare_cached(
        "INSERT INTO policy_log (at_ms, clock_ms, kind, pid, start_ticks, uid, user, program, rule,
             detail, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    insert.execute(params![
        deed.at.0,
        deed.clock_millis,
        deed.kind.slug(),
        deed.pid,
        deed.start_ticks.map(|start| ticks(Some(start))),
        deed.uid,
        deed.user,
        deed.program,
        deed.rule,
        deed.detail,
        deed.evidence
    ])?;
    Ok(())
}

/// As the table of processes has it: negative where it is not known.
fn ticks(start: Option<u64>) -> i64 {
    start.and_then(|start| i64::try_from(start).ok()).unwrap_or(-1)
}

/// Where everybody stood when that was last written down, in this boot.
///
/// # Errors
/// When it cannot be read.
pub fn read_watched(database: &Connection, boot: &str) -> Result<Watched, StoreError> {
    let clock = database
        .query_row("SELECT clock_ms, at_ms FROM policy_state WHERE pid = 0", [], |row| {
            Ok((row.get(0)?, UnixMillis(row.get(1)?)))
        })
        .optional()?;
    let Some((clock_millis, at)) = clock else { return Ok(Watched::default()) };
    let mut rows = database.prepare(
        "SELECT pid, start_ticks, rule, action, digest, idle_ms, missed_ms, notices, told_at_ms
             FROM policy_state WHERE pid > 0 AND boot = ?1 ORDER BY pid, start_ticks",
    )?;
    let rows = rows.query_map([boot], watch)?.collect::<Result<_, _>>()?;
    Ok(Watched { rows, clock_millis, at: Some(at) })
}

fn watch(row: &Row<'_>) -> rusqlite::Result<WatchRow> {
    Ok(WatchRow {
        pid: row.get(0)?,
        start_ticks: u64::try_from(row.get::<_, i64>(1)?).ok(),
        rule: row.get(2)?,
        action: row.get(3)?,
        digest: row.get(4)?,
        idle_millis: row.get(5)?,
        missed_millis: row.get(6)?,
        notices: row.get(7)?,
        told_at_millis: row.get(8)?,
    })
}

/// What was done after a moment of the rules' own clock, in the order in which it was.
///
/// # Errors
/// When it cannot be read.
pub fn deeds_since_clock(database: &Connection, clock: i64) -> Result<Vec<Deed>, StoreError> {
    deeds(database, "clock_ms > ?1", [clock])
}

impl History {
    /// What was done in a time, in the order in which it was.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn deeds(&self, window: Period) -> Result<Vec<Deed>, StoreError> {
        let window = (window.from.0, window.to.0);
        deeds(self.connection(), "at_ms >= ?1 AND at_ms < ?2", window)
    }

    /// What was done in the hour before a moment of the rules' own clock.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn deeds_of_the_last_hour(&self, clock_millis: i64) -> Result<Vec<Deed>, StoreError> {
        deeds_since_clock(self.connection(), clock_millis.saturating_sub(crate::ledger::HOUR))
    }

    /// Where everybody stood when that was last written down, in this boot.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn watched(&self, boot: &str) -> Result<Watched, StoreError> {
        read_watched(self.connection(), boot)
    }

    /// The signs in a time, and those that stood when it began, in the order of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn signs(&self, window: Period) -> Result<Vec<SignRow>, StoreError> {
        let mut rows = self.connection().prepare(
            "SELECT at_ms, run, pid, start_ticks, sign FROM policy_sign
                 WHERE at_ms >= ?1 AND at_ms < ?2 ORDER BY at_ms, run",
        )?;
        // Every hour all of them are written down anew.
        let from = window.from.0.saturating_sub(2 * crate::ledger::HOUR);
        let rows = rows.query_map((from, window.to.0), |row| {
            Ok(SignRow {
                at: UnixMillis(row.get(0)?),
                run: row.get(1)?,
                pid: row.get(2)?,
                start_ticks: u64::try_from(row.get::<_, i64>(3)?).ok(),
                sign: SignCode::of(row.get(4)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn deeds(
    database: &Connection,
    condition: &str,
    between: impl rusqlite::Params,
) -> Result<Vec<Deed>, StoreError> {
    let mut rows = database.prepare(&format!(
        "SELECT at_ms, clock_ms, kind, pid, start_ticks, uid, user, program, rule, detail, evidence
             FROM policy_log WHERE {condition} ORDER BY id"
    ))?;
    let deed = |row: &Row<'_>| {
        Ok(Deed {
            at: UnixMillis(row.get(0)?),
            clock_millis: row.get(1)?,
            kind: DeedKind::of(row.get(2)?),
            pid: row.get(3)?,
            start_ticks: row.get::<_, Option<i64>>(4)?.and_then(|it| u64::try_from(it).ok()),
            uid: row.get(5)?,
            user: row.get(6)?,
            program: row.get(7)?,
            rule: row.get(8)?,
            detail: row.get(9)?,
            evidence: row.get(10)?,
        })
    };
    Ok(rows.query_map(between, deed)?.collect::<Result<_, _>>()?)
}
