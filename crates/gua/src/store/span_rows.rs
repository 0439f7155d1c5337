//! Spans as rows: one is inserted when it begins, and gets its length when it ends.

use probe::units::UnixMillis;
use rusqlite::{Connection, Statement};

use super::codes;
use super::error::StoreError;
use crate::classify::{Holds, Kib, State};
use crate::ledger::{Change, Holding};

pub(super) fn observed(
    database: &Connection,
    run: i64,
    changes: &[Change<(), ()>],
) -> Result<(), StoreError> {
    write(
        database,
        "INSERT INTO observed (from_ms, run) VALUES (?1, ?2)",
        "UPDATE observed SET length_ms = ?1 WHERE from_ms = ?2 AND run = ?3",
        changes,
        |insert, (), from, ()| insert.execute((from.0, run)),
        |update, (), from, length| update.execute((length, from.0, run)),
    )
}

pub(super) fn cards(
    database: &Connection,
    run: i64,
    changes: &[Change<i64, State>],
) -> Result<(), StoreError> {
    write(
        database,
        "INSERT INTO card_span (from_ms, card, run, state) VALUES (?1, ?2, ?3, ?4)",
        "UPDATE card_span SET length_ms = ?1 WHERE from_ms = ?2 AND card = ?3 AND run = ?4",
        changes,
        |insert, card, from, state| insert.execute((from.0, card, run, codes::of_state(state))),
        |update, card, from, length| update.execute((length, from.0, card, run)),
    )
}

pub(super) fn owners(
    database: &Connection,
    run: i64,
    changes: &[Change<(i64, i64), Holds>],
) -> Result<(), StoreError> {
    write(
        database,
        "INSERT INTO owner_span (from_ms, card, identity, run, state) VALUES (?1, ?2, ?3, ?4, ?5)",
        "UPDATE owner_span SET length_ms = ?1
             WHERE from_ms = ?2 AND card = ?3 AND identity = ?4 AND run = ?5",
        changes,
        |insert, (card, identity), from, holds| {
            insert.execute((from.0, card, identity, run, codes::of_holds(holds)))
        },
        |update, (card, identity), from, length| {
            update.execute((length, from.0, card, identity, run))
        },
    )
}

/// With the memory that each holder has when its span begins.
pub(super) fn holders(
    database: &Connection,
    run: i64,
    changes: &[Change<i64, Holding>],
) -> Result<(), StoreError> {
    write(
        database,
        "INSERT INTO holder_span (from_ms, holder, run, state, memory_kib)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        "UPDATE holder_span SET length_ms = ?1 WHERE from_ms = ?2 AND holder = ?3 AND run = ?4",
        changes,
        |insert, holder, from, Holding { holds, work, memory }| {
            let memory = memory.and_then(kib);
            insert.execute((from.0, holder, run, codes::of_holder(holds, work), memory))
        },
        |update, holder, from, length| update.execute((length, from.0, holder, run)),
    )
}

pub(super) fn unseen(
    database: &Connection,
    run: i64,
    changes: &[Change<i64, Kib>],
) -> Result<(), StoreError> {
    write(
        database,
        "INSERT INTO unseen_span (from_ms, card, run, memory_kib) VALUES (?1, ?2, ?3, ?4)",
        "UPDATE unseen_span SET length_ms = ?1 WHERE from_ms = ?2 AND card = ?3 AND run = ?4",
        changes,
        |insert, card, from, memory| {
            insert.execute((from.0, card, run, kib(memory).unwrap_or(i64::MAX)))
        },
        |update, card, from, length| update.execute((length, from.0, card, run)),
    )
}

/// Memory as the database keeps it.
pub(super) fn kib(memory: Kib) -> Option<i64> {
    i64::try_from(memory.0).ok()
}

fn write<K: Copy, S: Copy>(
    database: &Connection,
    insert: &str,
    update: &str,
    changes: &[Change<K, S>],
    begins: impl Fn(&mut Statement<'_>, K, UnixMillis, S) -> rusqlite::Result<usize>,
    ends: impl Fn(&mut Statement<'_>, K, UnixMillis, i64) -> rusqlite::Result<usize>,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut insert = database.prepare_cached(insert)?;
    let mut update = database.prepare_cached(update)?;
    for change in changes {
        match *change {
            Change::Begins { key, from, state } => begins(&mut insert, key, from, state)?,
            Change::Ends { key, from, to } => ends(&mut update, key, from, to.0 - from.0)?,
        };
    }
    Ok(())
}
