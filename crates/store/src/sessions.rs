//! Sessions: stretches in which one process held a card without using it.

use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::process::ProcessId;
use gua_core::session::SHORTEST_SESSION_MS;
use gua_core::span::HolderId;
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Period, Reading, Reason, Session, SessionUpdate, Slices};
use rusqlite::{Connection, Row, params};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::names::Names;

/// A session as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredSession {
    /// Row id of the holder.
    pub holder: i64,
    pub period: Period,
    /// True if it goes on: then it ends where the newest run is final.
    pub is_open: bool,
    pub is_begin_seen: bool,
    /// Part of the period in which nothing is known. The process was idle in the rest.
    pub doubt_ms: i64,
    pub unused_share_ms: i64,
    pub idle_beside_ms: i64,
    /// MiB × seconds.
    pub memory: i64,
    pub peak_mib: Option<i64>,
}

/// End of open sessions: they are as long as the newest run that is not imported.
const OPEN_UNTIL: &str = "(SELECT until_ms FROM run WHERE NOT imported ORDER BY id DESC LIMIT 1)";

impl Database {
    /// Reads the sessions of at least five minutes that overlap a window, in order of time.
    pub fn sessions(&self, window: Period) -> Result<Vec<StoredSession>, StoreError> {
        self.result(read(&self.connection, window))
    }

    /// Reads the sessions that go on, of processes of a boot: also those that are short yet.
    pub fn open_sessions(&self, boot: &str) -> Result<Vec<Session>, StoreError> {
        self.result(read_open(&self.connection, boot))
    }
}

/// Writes a session while it lasts. One that ended too early is deleted.
pub(crate) fn write(
    db: &Connection,
    names: &mut Names,
    boot: i64,
    update: &SessionUpdate,
) -> Result<(), Problem> {
    let (session, is_open) = match update {
        SessionUpdate::Open(session) => (session, true),
        SessionUpdate::Ended(session) => (session, false),
    };
    let Period { from, to } = session.period;
    let card = names.card(db, &session.card)?;
    let holder = names.holder(db, boot, card, HolderId::Process(session.process), to.0)?;
    if !is_open && session.period.millis() < SHORTEST_SESSION_MS {
        db.prepare_cached("DELETE FROM session WHERE from_ms = ?1 AND holder = ?2")?
            .execute((from.0, holder))?;
        return Ok(());
    }
    write_row(db, holder, session, is_open)
}

/// Writes the row of a session.
pub(crate) fn write_row(
    db: &Connection,
    holder: i64,
    session: &Session,
    is_open: bool,
) -> Result<(), Problem> {
    let Period { from, to } = session.period;
    #[expect(clippy::cast_possible_truncation, reason = "rounded; a cast saturates")]
    let memory = session.memory.round() as i64;
    db.prepare_cached(
        "INSERT OR REPLACE INTO session (from_ms, holder, to_ms, begin_seen, doubt_ms,
             unused_share_ms, idle_beside_ms, memory, peak_mib)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        from.0,
        holder,
        (!is_open).then_some(to.0),
        session.is_begin_seen,
        session.doubt_ms,
        session.unused_share_ms,
        session.idle_beside_ms,
        memory,
        session.peak.and_then(|peak| i64::try_from(peak.0 >> 20).ok())
    ])?;
    Ok(())
}

/// Ends the sessions of processes of other boots: they ended with it, where the last run is final.
pub(crate) fn end_other_boots(db: &Connection, boot: i64) -> Result<(), Problem> {
    let sessions = "to_ms IS NULL AND holder IN (
            SELECT holder.id FROM holder JOIN process ON process.id = holder.process
            WHERE process.boot != ?1)";
    db.execute(
        &format!("DELETE FROM session WHERE {sessions} AND {OPEN_UNTIL} - from_ms < ?2"),
        (boot, SHORTEST_SESSION_MS),
    )?;
    db.execute(&format!("UPDATE session SET to_ms = {OPEN_UNTIL} WHERE {sessions}"), [boot])?;
    Ok(())
}

/// Cuts sessions where a run begins that records their time again. Their sums shrink in proportion.
pub(crate) fn cut_from(db: &Connection, at: i64) -> Result<(), Problem> {
    db.execute("DELETE FROM session WHERE from_ms >= ?1", [at])?;
    db.execute(
        &format!(
            "UPDATE session SET to_ms = ?1,
                 (doubt_ms, unused_share_ms, idle_beside_ms, memory) = (
                     SELECT CAST(round(doubt_ms * part) AS INTEGER),
                         CAST(round(unused_share_ms * part) AS INTEGER),
                         CAST(round(idle_beside_ms * part) AS INTEGER),
                         CAST(round(memory * part) AS INTEGER)
                     FROM (SELECT CAST(?1 - from_ms AS REAL)
                         / (ifnull(to_ms, {OPEN_UNTIL}) - from_ms) AS part))
                 WHERE ifnull(to_ms, {OPEN_UNTIL}) > ?1"
        ),
        [at],
    )?;
    db.execute(
        "DELETE FROM session WHERE to_ms = ?1 AND to_ms - from_ms < ?2",
        (at, SHORTEST_SESSION_MS),
    )?;
    Ok(())
}

fn read(db: &Connection, window: Period) -> Result<Vec<StoredSession>, Problem> {
    let mut query = db.prepare_cached(&format!(
        "SELECT holder, from_ms, until_ms, is_open, begin_seen, doubt_ms, unused_share_ms,
             idle_beside_ms, memory, peak_mib
             FROM (SELECT *, to_ms IS NULL AS is_open, ifnull(to_ms, {OPEN_UNTIL}) AS until_ms
                 FROM session WHERE from_ms < ?2)
             WHERE until_ms > ?1 AND until_ms - from_ms >= ?3 ORDER BY from_ms, holder"
    ))?;
    let window = (window.from.0, window.to.0, SHORTEST_SESSION_MS);
    let sessions = query.query_map(window, |row| {
        Ok(StoredSession {
            holder: row.get(0)?,
            period: Period::new(UnixMillis(row.get(1)?), UnixMillis(row.get(2)?)),
            is_open: row.get(3)?,
            is_begin_seen: row.get(4)?,
            doubt_ms: row.get(5)?,
            unused_share_ms: row.get(6)?,
            idle_beside_ms: row.get(7)?,
            memory: row.get(8)?,
            peak_mib: row.get(9)?,
        })
    })?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

fn read_open(db: &Connection, boot: &str) -> Result<Vec<Session>, Problem> {
    let mut query = db.prepare_cached(&format!(
        "SELECT session.from_ms, {OPEN_UNTIL}, begin_seen, doubt_ms, unused_share_ms, idle_beside_ms,
             memory, peak_mib, pid, start_ticks, person.uid, card.uuid, number, slot, parent,
             slices, slices_of
             FROM session JOIN holder ON holder.id = session.holder
             JOIN card ON card.id = holder.card JOIN process ON process.id = holder.process
             JOIN person ON person.id = process.person JOIN boot ON boot.id = process.boot
             WHERE to_ms IS NULL AND boot.uuid = ?1 ORDER BY session.from_ms, session.holder"
    ))?;
    let sessions = query.query_map([boot], |row| {
        Ok(Session {
            card: Arc::new(read_card(row)?),
            process: ProcessId {
                pid: row.get(8)?,
                start_ticks: u64::try_from(row.get::<_, i64>(9)?).ok(),
                uid: row.get(10)?,
            },
            period: Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?)),
            is_begin_seen: row.get(2)?,
            doubt_ms: row.get(3)?,
            unused_share_ms: row.get(4)?,
            idle_beside_ms: row.get(5)?,
            memory: row.get(6)?,
            peak: row.get::<_, Option<u32>>(7)?.map(|mib| Bytes::from_mib(mib.into())),
        })
    })?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

/// Reads what a card is known by.
fn read_card(row: &Row<'_>) -> rusqlite::Result<CardFacts> {
    let text = |place| {
        let text: Option<String> = row.get(place)?;
        Ok::<_, rusqlite::Error>(text.map_or(Reading::Unknown(Reason::NotAsked), Reading::Known))
    };
    let slot: Option<u32> = row.get(13)?;
    let parent_uuid = text(14)?;
    let slices = Slices { part: row.get(15)?, of: row.get(16)? };
    let instance = slot.map(|slot| InstanceFacts {
        slot: Some(slot),
        gpu_instance: Reading::Unknown(Reason::NotAsked),
        parent_uuid,
        slices,
    });
    let facts = CardFacts::unread(row.get(12)?, Reason::NotAsked);
    Ok(CardFacts { uuid: text(11)?, instance, ..facts })
}
