//! The small numbers of cards, identities, processes and holders.

use std::collections::HashMap;

use probe::Reading;
use probe::card::CardFacts;
use rusqlite::{Connection, OptionalExtension, params};

use super::codes;
use super::error::StoreError;
use crate::ledger::{CardEntry, HolderEntry, Identity, ProcessKey};

/// Numbers that were asked for before. What a failed transaction had given out must be
/// forgotten with [`Names::forget`].
#[derive(Debug, Default)]
pub(super) struct Names {
    cards: HashMap<CardKey, KnownCard>,
    identities: HashMap<Identity, i64>,
    holders: HashMap<(ProcessKey, i64), KnownHolder>,
}

/// A card that could never be asked is known by its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CardKey {
    Uuid(String),
    Place(u32, Option<u32>),
}

impl CardKey {
    fn of(facts: &CardFacts) -> Self {
        match &facts.uuid {
            Reading::Known(uuid) => Self::Uuid(uuid.clone()),
            Reading::Unknown(_) => Self::Place(facts.index, slot(facts)),
        }
    }
}

fn slot(facts: &CardFacts) -> Option<u32> {
    facts.instance.as_ref().map(|instance| instance.slot)
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownCard {
    id: i64,
    described: Described,
}

/// What may change about a card.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Described {
    number: u32,
    slot: Option<u32>,
    name: Option<String>,
    memory: Option<u64>,
}

#[derive(Debug)]
struct KnownHolder {
    id: i64,
    identity: Identity,
    seen: bool,
}

impl Names {
    /// Forgets everything; it is asked for again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Forgets the holders that were not asked for since the last call.
    pub fn forget_the_gone(&mut self) {
        self.holders.retain(|_, known| std::mem::take(&mut known.seen));
    }

    pub fn card(&mut self, database: &Connection, entry: &CardEntry) -> Result<i64, StoreError> {
        let described = Described {
            number: entry.facts.index,
            slot: slot(&entry.facts),
            name: entry.facts.name.clone().known(),
            memory: entry.measures.total.map(|bytes| bytes.0),
        };
        let key = CardKey::of(&entry.facts);
        match self.cards.get(&key) {
            // What cannot be read now does not replace what is known.
            Some(known) if described.adds_nothing_to(&known.described) => Ok(known.id),
            _ => {
                let id = write_card(database, &key, &described)?;
                self.cards.insert(key, KnownCard { id, described });
                Ok(id)
            }
        }
    }

    pub fn identity(
        &mut self,
        database: &Connection,
        identity: &Identity,
    ) -> Result<i64, StoreError> {
        if let Some(id) = self.identities.get(identity) {
            return Ok(*id);
        }
        let id = write_identity(database, identity)?;
        self.identities.insert(identity.clone(), id);
        Ok(id)
    }

    /// The holder on a card. A process may change its identity, and is another then.
    pub fn holder(
        &mut self,
        database: &Connection,
        boot: &str,
        card: i64,
        entry: &HolderEntry,
    ) -> Result<i64, StoreError> {
        if let Some(known) = self.holders.get_mut(&(entry.process, card))
            && known.identity == entry.identity
        {
            known.seen = true;
            return Ok(known.id);
        }
        let identity = self.identity(database, &entry.identity)?;
        let process = write_process(database, boot, identity, entry)?;
        let id = write_holder(database, process, card, codes::of_kinds(entry.kinds))?;
        let known = KnownHolder { id, identity: entry.identity.clone(), seen: true };
        self.holders.insert((entry.process, card), known);
        Ok(id)
    }
}

impl Described {
    fn adds_nothing_to(&self, known: &Self) -> bool {
        self.number == known.number
            && self.slot == known.slot
            && (self.name.is_none() || self.name == known.name)
            && (self.memory.is_none() || self.memory == known.memory)
    }
}

fn write_card(
    database: &Connection,
    key: &CardKey,
    described: &Described,
) -> Result<i64, StoreError> {
    let Described { number, slot, name, memory } = described;
    let (uuid, found) = match key {
        CardKey::Uuid(uuid) => {
            let mut find = database.prepare_cached("SELECT id FROM card WHERE uuid = ?1")?;
            (Some(uuid), find.query_row([uuid], |row| row.get(0)).optional()?)
        }
        CardKey::Place(number, slot) => {
            let mut find = database.prepare_cached(
                "SELECT id FROM card WHERE uuid IS NULL AND number = ?1 AND slot IS ?2",
            )?;
            (None, find.query_row((number, slot), |row| row.get(0)).optional()?)
        }
    };
    let memory = memory.and_then(|bytes| i64::try_from(bytes).ok());
    if let Some(id) = found {
        database.execute(
            "UPDATE card SET number = ?2, slot = ?3, name = ifnull(?4, name),
                 memory_bytes = ifnull(?5, memory_bytes) WHERE id = ?1",
            params![id, number, slot, name, memory],
        )?;
        return Ok(id);
    }
    database.execute(
        "INSERT INTO card (uuid, number, slot, name, memory_bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![uuid, number, slot, name, memory],
    )?;
    Ok(database.last_insert_rowid())
}

pub(super) fn write_identity(
    database: &Connection,
    identity: &Identity,
) -> Result<i64, StoreError> {
    let Identity { user, uid } = identity;
    let mut find = database.prepare_cached(
        "SELECT id FROM identity WHERE ifnull(user, '') = ifnull(?1, '')
             AND ifnull(uid, -1) = ifnull(?2, -1)",
    )?;
    if let Some(id) = find.query_row((user, uid), |row| row.get(0)).optional()? {
        return Ok(id);
    }
    database.execute("INSERT INTO identity (user, uid) VALUES (?1, ?2)", (user, uid))?;
    Ok(database.last_insert_rowid())
}

fn write_process(
    database: &Connection,
    boot: &str,
    identity: i64,
    entry: &HolderEntry,
) -> Result<i64, StoreError> {
    let ticks = entry.process.start_ticks.and_then(|ticks| i64::try_from(ticks).ok()).unwrap_or(-1);
    let key = params![entry.process.pid, ticks, boot, identity];
    let mut find = database.prepare_cached(
        "SELECT id FROM process WHERE pid = ?1 AND start_ticks = ?2 AND boot = ?3
             AND identity = ?4",
    )?;
    if let Some(id) = find.query_row(key, |row| row.get(0)).optional()? {
        return Ok(id);
    }
    database.execute(
        "INSERT INTO process (pid, start_ticks, boot, identity, started_ms, program)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            entry.process.pid,
            ticks,
            boot,
            identity,
            entry.started.map(|started| started.0),
            entry.program
        ],
    )?;
    Ok(database.last_insert_rowid())
}

pub(super) fn write_holder(
    database: &Connection,
    process: i64,
    card: i64,
    kinds: i64,
) -> Result<i64, StoreError> {
    let mut find =
        database.prepare_cached("SELECT id FROM holder WHERE process = ?1 AND card = ?2")?;
    if let Some(id) = find.query_row((process, card), |row| row.get(0)).optional()? {
        return Ok(id);
    }
    database.execute(
        "INSERT INTO holder (process, card, kinds) VALUES (?1, ?2, ?3)",
        (process, card, kinds),
    )?;
    Ok(database.last_insert_rowid())
}
