//! Totals of counters, and the outbox of remote write.
//!
//! A counter is a number here, with the texts of its labels; its meaning belongs to who writes it. Totals
//! are kept apart from the record, as they must not fall when time is pruned or recorded again.

use std::sync::Arc;

use gua_core::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::transaction::TickTransaction;

/// Total of one counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTotal {
    pub counter: i64,
    /// UUID of the card, or another text for it; empty for the host.
    pub card: Arc<str>,
    /// Text of the other labels.
    pub label: Arc<str>,
    pub value: i64,
    /// Highest value so far. Values of a span that goes on may fall by a millisecond or a joule, as
    /// parts are rounded together; what is exported must not.
    pub exported: i64,
    /// Time of the tick that changed it last.
    pub changed: UnixMillis,
}

/// A message that waits for its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPush {
    pub id: i64,
    /// Time that gives its age: it moves along with leaps of the clock.
    pub at: UnixMillis,
    pub body: Vec<u8>,
}

/// Messages that were deleted from the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DroppedPushes {
    pub rows: i64,
    pub bytes: i64,
}

impl TickTransaction<'_> {
    /// Writes a total, in place of the one that it had before.
    pub fn write_total(&mut self, total: &StoredTotal) -> Result<(), Problem> {
        let card = self.label(&total.card)?;
        let label = self.label(&total.label)?;
        self.db
            .prepare_cached(
                "INSERT INTO total (counter, card, label, value, exported, changed_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT DO UPDATE SET value = excluded.value,
                         exported = excluded.exported, changed_ms = excluded.changed_ms",
            )?
            .execute((total.counter, card, label, total.value, total.exported, total.changed.0))?;
        Ok(())
    }

    /// Deletes a total, and its texts if no other total has them.
    pub fn remove_total(&mut self, counter: i64, card: &str, label: &str) -> Result<(), Problem> {
        let ids = [self.label(card)?, self.label(label)?];
        self.db
            .prepare_cached("DELETE FROM total WHERE counter = ?1 AND card = ?2 AND label = ?3")?
            .execute((counter, ids[0], ids[1]))?;
        let mut sweep = self.db.prepare_cached(
            "DELETE FROM label WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM total WHERE ?1 IN (card, label))",
        )?;
        for (id, text) in ids.into_iter().zip([card, label]) {
            if sweep.execute([id])? > 0 {
                self.names.labels.remove(text);
            }
        }
        Ok(())
    }

    /// Returns the time at which the totals began at 0.
    pub fn counting_since(&self) -> Result<Option<UnixMillis>, Problem> {
        counting_since(self.db)
    }

    /// Adds a message to the outbox.
    pub fn add_push(&mut self, at: UnixMillis, body: &[u8]) -> Result<(), Problem> {
        self.db
            .prepare_cached("INSERT INTO push (at_ms, body) VALUES (?1, ?2)")?
            .execute((at.0, body))?;
        Ok(())
    }

    /// Deletes the messages up to an id: those that were taken.
    pub fn drop_pushes(&mut self, until: i64) -> Result<DroppedPushes, Problem> {
        let mut rows = self.db.prepare_cached(
            "SELECT count(*), ifnull(sum(length(body)), 0) FROM push WHERE id <= ?1",
        )?;
        let dropped = rows.query_row([until], |row| {
            Ok(DroppedPushes { rows: row.get(0)?, bytes: row.get(1)? })
        })?;
        if dropped.rows > 0 {
            self.db.prepare_cached("DELETE FROM push WHERE id <= ?1")?.execute([until])?;
        }
        Ok(dropped)
    }

    /// Deletes the oldest messages: those from before a time, and as many as have `excess` bytes.
    pub fn drop_oldest_pushes(
        &mut self,
        oldest: UnixMillis,
        excess: i64,
    ) -> Result<DroppedPushes, Problem> {
        let mut query =
            self.db.prepare_cached("SELECT id, at_ms, length(body) FROM push ORDER BY id")?;
        let mut rows = query.query([])?;
        let (mut dropped, mut until) = (DroppedPushes::default(), 0);
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(1)? >= oldest.0 && dropped.bytes >= excess {
                break;
            }
            until = row.get(0)?;
            dropped.rows += 1;
            dropped.bytes += row.get::<_, i64>(2)?;
        }
        drop(rows);
        if dropped.rows > 0 {
            self.db.prepare_cached("DELETE FROM push WHERE id <= ?1")?.execute([until])?;
        }
        Ok(dropped)
    }

    /// Returns the id of a text, with a new row if it has none yet.
    fn label(&mut self, text: &str) -> Result<i64, Problem> {
        if let Some(id) = self.names.labels.get(text) {
            return Ok(*id);
        }
        let mut find = self.db.prepare_cached("SELECT id FROM label WHERE text = ?1")?;
        let id = match find.query_row([text], |row| row.get(0)).optional()? {
            Some(id) => id,
            None => {
                self.db.prepare_cached("INSERT INTO label (text) VALUES (?1)")?.execute([text])?;
                self.db.last_insert_rowid()
            }
        };
        self.names.labels.insert(text.to_owned(), id);
        Ok(id)
    }
}

impl Database {
    /// Reads the totals of all counters.
    pub fn totals(&self) -> Result<Vec<StoredTotal>, StoreError> {
        self.result(read_totals(&self.connection))
    }

    /// Returns the time at which the totals began at 0; `None` before the first tick.
    pub fn counting_since(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.result(counting_since(&self.connection))
    }

    /// Returns the length of all messages.
    pub fn push_bytes(&self) -> Result<i64, StoreError> {
        let sum = "SELECT ifnull(sum(length(body)), 0) FROM push";
        let bytes = self.connection.query_row(sum, [], |row| row.get(0));
        self.result(bytes.map_err(Problem::from))
    }

    /// Reads the oldest messages after an id, up to a number of bytes but at least one.
    pub fn pushes(&self, after: i64, most_bytes: usize) -> Result<Vec<StoredPush>, StoreError> {
        self.result(read_pushes(&self.connection, after, most_bytes))
    }
}

/// Moves the times of all messages along with a leap of the clock: it makes none of them older.
pub(crate) fn shift_pushes(db: &Connection, leap_ms: i64) -> Result<(), Problem> {
    db.execute("UPDATE push SET at_ms = at_ms + ?1", [leap_ms])?;
    Ok(())
}

fn counting_since(db: &Connection) -> Result<Option<UnixMillis>, Problem> {
    let mut query = db.prepare_cached("SELECT counting_since_ms FROM store")?;
    let since: i64 = query.query_row([], |row| row.get(0))?;
    Ok((since != 0).then_some(UnixMillis(since)))
}

fn read_totals(db: &Connection) -> Result<Vec<StoredTotal>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT counter, card.text, label.text, value, exported, changed_ms FROM total
             JOIN label AS card ON card.id = total.card
             JOIN label ON label.id = total.label",
    )?;
    let totals = query.query_map([], |row| {
        Ok(StoredTotal {
            counter: row.get(0)?,
            card: row.get(1)?,
            label: row.get(2)?,
            value: row.get(3)?,
            exported: row.get(4)?,
            changed: UnixMillis(row.get(5)?),
        })
    })?;
    Ok(totals.collect::<Result<_, _>>()?)
}

fn read_pushes(db: &Connection, after: i64, most_bytes: usize) -> Result<Vec<StoredPush>, Problem> {
    let mut query =
        db.prepare_cached("SELECT id, at_ms, body FROM push WHERE id > ?1 ORDER BY id")?;
    let mut rows = query.query([after])?;
    let (mut pushes, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let body: Vec<u8> = row.get(2)?;
        bytes += body.len();
        if bytes > most_bytes && !pushes.is_empty() {
            break;
        }
        pushes.push(StoredPush { id: row.get(0)?, at: UnixMillis(row.get(1)?), body });
    }
    Ok(pushes)
}
