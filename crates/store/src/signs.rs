//! Signs that a process works, besides its classified time.

use gua_core::Period;
use gua_core::process::ProcessId;
use gua_core::sign::SignSpan;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::transaction::TickTransaction;

impl TickTransaction<'_> {
    /// Writes a sign, in place of the same one while it lasted.
    pub fn write_sign(&mut self, span: &SignSpan) -> Result<(), Problem> {
        let process = self.process(span.process)?;
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO sign_span (from_ms, process, sign, to_ms)
                     VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((span.from.0, process, codes::from_sign(span.sign), span.to.map(|to| to.0)))?;
        Ok(())
    }
}

impl Database {
    /// Reads the signs that overlap a window, in order of time.
    pub fn signs(&self, window: Period) -> Result<Vec<SignSpan>, StoreError> {
        self.result(read(&self.connection, window))
    }
}

/// Cuts signs where a run begins that records their time again. One that lasts ends with its run.
pub(crate) fn cut_from(db: &Connection, at: i64) -> Result<(), Problem> {
    db.execute("DELETE FROM sign_span WHERE from_ms >= ?1", [at])?;
    db.execute(
        "UPDATE sign_span SET to_ms = ?1 WHERE ?1 < ifnull(to_ms,
             (SELECT until_ms FROM run WHERE from_ms BETWEEN started_ms AND until_ms
                 ORDER BY id DESC LIMIT 1))",
        [at],
    )?;
    Ok(())
}

fn read(db: &Connection, window: Period) -> Result<Vec<SignSpan>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT pid, start_ticks, uid, sign, from_ms, to_ms FROM sign_span
             JOIN process ON process.id = sign_span.process
             JOIN person ON person.id = process.person
             WHERE from_ms < ?2 AND (to_ms IS NULL OR to_ms >= ?1) ORDER BY from_ms, process.id",
    )?;
    let signs = query.query_map((window.from.0, window.to.0), |row| {
        let sign = codes::sign(row.get(3)?);
        Ok(SignSpan {
            process: ProcessId {
                pid: row.get(0)?,
                start_ticks: u64::try_from(row.get::<_, i64>(1)?).ok(),
                uid: row.get(2)?,
            },
            sign,
            from: UnixMillis(row.get(4)?),
            to: row.get::<_, Option<i64>>(5)?.map(UnixMillis),
        })
    })?;
    Ok(signs.collect::<Result<_, _>>()?)
}
