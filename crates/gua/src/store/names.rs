//! The small numbers of cards, identities, processes and holders.

use std::collections::HashMap;
use std::sync::Arc;

use probe::card::CardFacts;
use probe::units::Bytes;
use probe::who::{Source, Who};
use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;
use super::{codes, workload};
use crate::classify::Holds;
use crate::ledger::{CardEntry, Crew, HolderEntry, Holding, Identity, ProcessKey};

/// Numbers that were asked for before. What a failed transaction had given out must be
/// forgotten with [`Names::forget`].
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Few, and the same ones at every tick.
    cards: Vec<KnownCard>,
    /// One a card, the last that was there.
    crews: Vec<KnownCrew>,
    identities: HashMap<Identity, i64>,
    workloads: HashMap<(Arc<Who>, Option<Arc<str>>), i64>,
    holders: HashMap<(ProcessKey, i64), KnownHolder>,
}

#[derive(Debug)]
struct KnownCard {
    id: i64,
    facts: Arc<CardFacts>,
    memory: Option<Bytes>,
}

#[derive(Debug)]
struct KnownCrew {
    card: i64,
    crew: Arc<Crew>,
    numbers: Arc<CrewNumbers>,
}

/// Everybody on a card by number, with how much each of them holds.
#[derive(Debug, Default)]
pub(super) struct CrewNumbers {
    /// By card and identity.
    pub owners: Vec<((i64, i64), Holds)>,
    pub holders: Vec<(i64, Holding)>,
}

#[derive(Debug)]
struct KnownHolder {
    id: i64,
    identity: Identity,
    has_workload: bool,
    seen: bool,
}

impl KnownHolder {
    fn is(&self, entry: &HolderEntry) -> bool {
        self.identity == entry.identity && (self.has_workload || entry.workload.is_none())
    }
}

impl Names {
    /// Forgets everything; it is asked for again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Forgets the holders that were not asked for since the last call.
    pub fn forget_the_gone(&mut self) {
        // Those who stay are asked for again, one by one, by the next tick.
        self.crews.clear();
        self.workloads.clear();
        self.holders.retain(|_, known| std::mem::take(&mut known.seen));
    }

    pub fn card(&mut self, database: &Connection, entry: &CardEntry) -> Result<i64, StoreError> {
        let CardEntry { facts, measures, .. } = entry;
        let is_it = |known: &KnownCard| {
            Arc::ptr_eq(&known.facts, facts)
                && (measures.total.is_none() || measures.total == known.memory)
        };
        if let Some(known) = self.cards.iter().find(|known| is_it(known)) {
            return Ok(known.id);
        }
        let id = write_card(database, facts, measures.total)?;
        self.cards.retain(|known| known.id != id);
        self.cards.push(KnownCard { id, facts: Arc::clone(facts), memory: measures.total });
        Ok(id)
    }

    /// Everybody on a card. As long as it is the same crew, nobody is looked up.
    pub fn crew(
        &mut self,
        database: &Connection,
        boot: &str,
        card: i64,
        crew: &Arc<Crew>,
    ) -> Result<Arc<CrewNumbers>, StoreError> {
        let is_it = |known: &KnownCrew| known.card == card && Arc::ptr_eq(&known.crew, crew);
        if let Some(known) = self.crews.iter().find(|known| is_it(known)) {
            return Ok(Arc::clone(&known.numbers));
        }
        let numbers = Arc::new(self.numbers(database, boot, card, crew)?);
        self.crews.retain(|known| known.card != card);
        let known = KnownCrew { card, crew: Arc::clone(crew), numbers: Arc::clone(&numbers) };
        self.crews.push(known);
        Ok(numbers)
    }

    fn numbers(
        &mut self,
        database: &Connection,
        boot: &str,
        card: i64,
        crew: &Crew,
    ) -> Result<CrewNumbers, StoreError> {
        let mut numbers = CrewNumbers::default();
        for owner in &crew.owners {
            let identity = self.identity(database, &owner.identity)?;
            numbers.owners.push(((card, identity), owner.holds));
        }
        for holder in &crew.holders {
            let id = self.holder(database, boot, card, holder)?;
            numbers.holders.push((id, Holding::of(holder)));
        }
        Ok(numbers)
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
            && known.is(entry)
        {
            known.seen = true;
            return Ok(known.id);
        }
        let identity = self.identity(database, &entry.identity)?;
        let process = self.process(database, boot, identity, entry)?;
        let id = write_holder(database, process, card, codes::of_kinds(entry.kinds))?;
        let known = KnownHolder {
            id,
            identity: entry.identity.clone(),
            has_workload: entry.workload.is_some(),
            seen: true,
        };
        self.holders.insert((entry.process, card), known);
        Ok(id)
    }

    /// A process, with what it runs for as soon as that is known.
    fn process(
        &mut self,
        database: &Connection,
        boot: &str,
        identity: i64,
        entry: &HolderEntry,
    ) -> Result<i64, StoreError> {
        let (process, has_workload) = write_process(database, boot, identity, entry)?;
        if let Some(who) = entry.workload.as_ref().filter(|_| !has_workload) {
            let workload = self.workload(database, who, entry.command.as_ref())?;
            database
                .prepare_cached("UPDATE process SET workload = ?2 WHERE id = ?1")?
                .execute((process, workload))?;
        }
        Ok(process)
    }

    /// Processes that are started together run for the same thing, mostly.
    fn workload(
        &mut self,
        database: &Connection,
        who: &Arc<Who>,
        command: Option<&Arc<str>>,
    ) -> Result<i64, StoreError> {
        let key = (Arc::clone(who), command.cloned());
        if let Some(id) = self.workloads.get(&key) {
            return Ok(*id);
        }
        let id = workload::write(database, who, command.map(|command| &**command))?;
        self.workloads.insert(key, id);
        Ok(id)
    }
}

/// What cannot be read now does not replace what is known.
fn write_card(
    database: &Connection,
    facts: &CardFacts,
    memory: Option<Bytes>,
) -> Result<i64, StoreError> {
    let (number, slot) = (facts.index, facts.instance.as_ref().map(|instance| instance.slot));
    let (uuid, name) = (facts.uuid.as_ref().known(), facts.name.as_ref().known());
    let memory = memory.and_then(|bytes| i64::try_from(bytes.0).ok());
    let found = match uuid {
        Some(uuid) => database
            .prepare_cached("SELECT id FROM card WHERE uuid = ?1")?
            .query_row([uuid], |row| row.get(0)),
        // A card that could never be asked is known by its place.
        None => database
            .prepare_cached(
                "SELECT id FROM card WHERE uuid IS NULL AND number = ?1 AND slot IS ?2",
            )?
            .query_row((number, slot), |row| row.get(0)),
    };
    if let Some(id) = found.optional()? {
        if uuid.is_none() {
            return Ok(id);
        }
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
    let Identity { user, uid, source } = identity;
    let source = source.map(Source::slug);
    let mut find = database.prepare_cached(
        "SELECT id FROM identity WHERE ifnull(user, '') = ifnull(?1, '')
             AND ifnull(uid, -1) = ifnull(?2, -1) AND ifnull(source, '') = ifnull(?3, '')",
    )?;
    if let Some(id) = find.query_row((user, uid, source), |row| row.get(0)).optional()? {
        return Ok(id);
    }
    database.execute(
        "INSERT INTO identity (user, uid, source) VALUES (?1, ?2, ?3)",
        (user, uid, source),
    )?;
    Ok(database.last_insert_rowid())
}

/// The number of a process, and whether it is known what it runs for.
fn write_process(
    database: &Connection,
    boot: &str,
    identity: i64,
    entry: &HolderEntry,
) -> Result<(i64, bool), StoreError> {
    let ticks = entry.process.start_ticks.and_then(|ticks| i64::try_from(ticks).ok()).unwrap_or(-1);
    let key = params![entry.process.pid, ticks, boot, identity];
    let mut find = database.prepare_cached(
        "SELECT id, workload IS NOT NULL FROM process
             WHERE pid = ?1 AND start_ticks = ?2 AND boot = ?3 AND identity = ?4",
    )?;
    let found = find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some(found) = found {
        return Ok(found);
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
    Ok((database.last_insert_rowid(), false))
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
