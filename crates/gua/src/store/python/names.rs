//! The small numbers of what a file names: its cards, users, processes and holders.

use std::collections::HashMap;

use probe::process::Kinds;
use probe::units::Bytes;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::codes;
use super::super::error::StoreError;
use super::super::names::{write_holder, write_identity};
use super::rows::{GpuRow, ProcessRow, Text, Texts};
use super::source::Device;
use crate::ledger::Identity;

/// Numbers that were asked for before, and what is known of the cards.
#[derive(Debug)]
pub(super) struct Names {
    devices: HashMap<String, Device>,
    cards: HashMap<Text, KnownCard>,
    identities: HashMap<Option<Text>, i64>,
    holders: HashMap<HolderKey, i64>,
}

/// A card in the database.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownCard {
    pub id: i64,
    pub memory: Option<Bytes>,
    /// Where this import made it, and may say what its number is.
    number: Option<u32>,
}

/// When a process started is not known, so that another program is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct HolderKey {
    card: i64,
    pid: u32,
    identity: i64,
    program: Option<Text>,
}

impl Names {
    pub fn new(devices: HashMap<String, Device>) -> Self {
        let (cards, identities, holders) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { devices, cards, identities, holders }
    }

    /// How many cards there are.
    pub fn cards(&self) -> usize {
        self.cards.len()
    }

    pub fn card(
        &mut self,
        database: &Connection,
        row: &GpuRow,
        texts: &Texts,
    ) -> Result<KnownCard, StoreError> {
        if let Some(known) = self.cards.get_mut(&row.uuid) {
            if let (Some(number), Some(index)) = (known.number, row.index)
                && number != index
            {
                database.execute("UPDATE card SET number = ?2 WHERE id = ?1", (known.id, index))?;
                known.number = Some(index);
            }
            return Ok(*known);
        }
        let uuid = texts.text(row.uuid).unwrap_or_default();
        let device = self.devices.get(uuid).cloned().unwrap_or_default();
        let place = u32::try_from(self.cards.len()).unwrap_or(u32::MAX);
        let known = write_card(database, uuid, row.index.unwrap_or(place), &device)?;
        self.cards.insert(row.uuid, known);
        Ok(known)
    }

    pub fn identity(
        &mut self,
        database: &Connection,
        user: Option<Text>,
        texts: &Texts,
    ) -> Result<i64, StoreError> {
        if let Some(id) = self.identities.get(&user) {
            return Ok(*id);
        }
        let name = user.and_then(|user| texts.text(user)).map(str::to_owned);
        let id = write_identity(
            database,
            &Identity { user: name.map(Into::into), ..Identity::default() },
        )?;
        self.identities.insert(user, id);
        Ok(id)
    }

    pub fn holder(
        &mut self,
        database: &Connection,
        (card, identity): (i64, i64),
        row: &ProcessRow,
        texts: &Texts,
    ) -> Result<i64, StoreError> {
        let key = HolderKey { card, pid: row.pid, identity, program: row.program };
        if let Some(id) = self.holders.get(&key) {
            return Ok(*id);
        }
        let program = row.program.and_then(|program| texts.text(program));
        let process = write_process(database, row.pid, identity, program)?;
        let id = write_holder(database, process, card, kinds(row.kinds))?;
        self.holders.insert(key, id);
        Ok(id)
    }
}

fn kinds(kinds: Kinds) -> i64 {
    codes::of_kinds(kinds)
}

/// What our own recorder has written of a card is newer.
fn write_card(
    database: &Connection,
    uuid: &str,
    number: u32,
    device: &Device,
) -> Result<KnownCard, StoreError> {
    let memory = device.memory.and_then(|bytes| i64::try_from(bytes.0).ok());
    let known: Option<i64> = database
        .query_row("SELECT id FROM card WHERE uuid = ?1", [uuid], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        database.execute(
            "UPDATE card SET name = ifnull(name, ?2), memory_bytes = ifnull(memory_bytes, ?3)
                 WHERE id = ?1",
            params![id, device.name, memory],
        )?;
        return Ok(KnownCard { id, memory: device.memory, number: None });
    }
    database.execute(
        "INSERT INTO card (uuid, number, name, memory_bytes) VALUES (?1, ?2, ?3, ?4)",
        params![uuid, number, device.name, memory],
    )?;
    let id = database.last_insert_rowid();
    Ok(KnownCard { id, memory: device.memory, number: Some(number) })
}

/// Namesakes that run another program get another of the numbers that stand for a start
/// that is not known.
fn write_process(
    database: &Connection,
    pid: u32,
    identity: i64,
    program: Option<&str>,
) -> Result<i64, StoreError> {
    let mut find = database.prepare_cached(
        "SELECT id FROM process WHERE pid = ?1 AND start_ticks < 0 AND boot = ''
             AND identity = ?2 AND program IS ?3",
    )?;
    let known = find.query_row((pid, identity, program), |row| row.get(0)).optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    database.execute(
        "INSERT INTO process (boot, pid, start_ticks, program, identity)
             SELECT '', ?1, ifnull(min(start_ticks), 0) - 1, ?3, ?2 FROM process
             WHERE pid = ?1 AND start_ticks < 0 AND boot = '' AND identity = ?2",
        (pid, identity, program),
    )?;
    Ok(database.last_insert_rowid())
}
