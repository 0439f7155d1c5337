//! What was last seen of the host and its cards.

use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::names::Names;
use crate::tick::Latest;

/// What was last seen, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSeen {
    pub at: UnixMillis,
    pub host: Option<String>,
    /// In the order in which they were written.
    pub cards: Vec<String>,
    /// What is left of partitioned GPUs.
    pub unpartitioned: Vec<String>,
}

impl Database {
    /// Reads what was last seen; `None` if nothing ever was.
    pub fn last_seen(&self) -> Result<Option<LastSeen>, StoreError> {
        self.result(read(&self.connection))
    }
}

/// Replaces what was seen before.
pub(crate) fn replace(
    db: &Connection,
    names: &mut Names,
    at: UnixMillis,
    latest: &[Latest],
) -> Result<(), Problem> {
    db.prepare_cached("DELETE FROM latest")?.execute([])?;
    for Latest { card, body } in latest {
        let card = card.as_ref().map(|card| names.card(db, card)).transpose()?;
        db.prepare_cached("INSERT INTO latest (card, at_ms, body) VALUES (?1, ?2, ?3)")?
            .execute((card, at.0, body))?;
    }
    Ok(())
}

fn read(db: &Connection) -> Result<Option<LastSeen>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT latest.card, at_ms, body, parent IS NOT NULL AND slot IS NULL FROM latest
             LEFT JOIN card ON card.id = latest.card ORDER BY latest.rowid",
    )?;
    let mut rows = query.query([])?;
    let mut seen: Option<LastSeen> = None;
    while let Some(row) = rows.next()? {
        let at = UnixMillis(row.get(1)?);
        let seen = seen.get_or_insert_with(|| LastSeen {
            at,
            host: None,
            cards: Vec::new(),
            unpartitioned: Vec::new(),
        });
        match row.get::<_, Option<i64>>(0)? {
            Some(_) if row.get(3)? => seen.unpartitioned.push(row.get(2)?),
            Some(_) => seen.cards.push(row.get(2)?),
            None => seen.host = Some(row.get(2)?),
        }
    }
    Ok(seen)
}
