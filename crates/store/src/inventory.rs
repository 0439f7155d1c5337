//! Reads cards and holders by their ids.

use std::collections::BTreeMap;

use gua_core::Slices;
use gua_core::identity::Source;
use gua_core::process::Kinds;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::workload::{self, Workload};
use gua_core::identity::Person;

/// Facts about a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCard {
    pub uuid: Option<String>,
    pub index: u32,
    pub slot: Option<u32>,
    pub parent_uuid: Option<String>,
    pub name: Option<String>,
    pub memory_mib: Option<i64>,
    pub slices: Slices,
}

impl StoredCard {
    /// Returns true if it is what is left of a GPU beside its MIG instances.
    #[must_use]
    pub const fn is_unpartitioned(&self) -> bool {
        self.parent_uuid.is_some() && self.slot.is_none()
    }
}

/// Facts about a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHolder {
    pub card: i64,
    /// `None` for memory that no listed process holds.
    pub process: Option<StoredProcess>,
    pub kinds: Kinds,
}

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProcess {
    pub pid: u32,
    /// Start in clock ticks since boot; `None` where it could not be read.
    pub start_ticks: Option<u64>,
    pub started: Option<UnixMillis>,
    pub program: Option<String>,
    pub person: Person,
    pub workload: Option<Workload>,
}

impl Database {
    /// Reads all cards by their ids.
    pub fn cards(&self) -> Result<BTreeMap<i64, StoredCard>, StoreError> {
        self.result(read_cards(&self.connection))
    }

    /// Reads a holder; `None` if there is none with this id.
    pub fn holder(&self, id: i64) -> Result<Option<StoredHolder>, StoreError> {
        self.result(read_holder(&self.connection, id))
    }
}

fn read_cards(db: &Connection) -> Result<BTreeMap<i64, StoredCard>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT id, uuid, number, slot, parent, name, memory_mib, slices, slices_of FROM card",
    )?;
    let cards = query.query_map([], |row| {
        let card = StoredCard {
            uuid: row.get(1)?,
            index: row.get(2)?,
            slot: row.get(3)?,
            parent_uuid: row.get(4)?,
            name: row.get(5)?,
            memory_mib: row.get(6)?,
            slices: Slices { part: row.get(7)?, of: row.get(8)? },
        };
        Ok((row.get(0)?, card))
    })?;
    Ok(cards.collect::<Result<_, _>>()?)
}

fn read_holder(db: &Connection, id: i64) -> Result<Option<StoredHolder>, Problem> {
    let mut query = db.prepare_cached("SELECT card, kinds, process FROM holder WHERE id = ?1")?;
    let found = query
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?)))
        .optional()?;
    let Some((card, kinds, process)) = found else { return Ok(None) };
    let process = process.map(|process| read_process(db, process)).transpose()?;
    Ok(Some(StoredHolder { card, process, kinds: codes::kinds(kinds) }))
}

fn read_process(db: &Connection, id: i64) -> Result<StoredProcess, Problem> {
    let mut query = db.prepare_cached(
        "SELECT pid, started_ms, program, user, uid, source, workload, start_ticks FROM process
             JOIN person ON person.id = process.person WHERE process.id = ?1",
    )?;
    let (mut process, workload) = query.query_row([id], |row| {
        let source: Option<String> = row.get(5)?;
        let person = Person {
            user: row.get(3)?,
            uid: row.get(4)?,
            source: source.as_deref().and_then(Source::of_slug),
        };
        let process = StoredProcess {
            pid: row.get(0)?,
            start_ticks: u64::try_from(row.get::<_, i64>(7)?).ok(),
            started: row.get::<_, Option<i64>>(1)?.map(UnixMillis),
            program: row.get(2)?,
            person,
            workload: None,
        };
        Ok((process, row.get::<_, Option<i64>>(6)?))
    })?;
    if let Some(workload) = workload {
        process.workload = workload::read(db, workload)?;
    }
    Ok(process)
}
