//! Ids of hosts, boots, cards, people, workloads, processes and holders.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::Slices;
use gua_core::card::CardFacts;
use gua_core::identity::{Source, Who};
use gua_core::process::{Kinds, ProcessId};
use gua_core::span::HolderId;
use gua_core::units::Bytes;
use rusqlite::{Connection, OptionalExtension, params};

use crate::codes;
use crate::error::Problem;
use crate::tick::ProcessEntry;
use crate::workload;
use gua_core::identity::Person;

/// Ids that were looked up before. After a rollback they must be forgotten: some may not exist.
#[derive(Debug, Default)]
pub(crate) struct Names {
    cards: Vec<(Arc<CardFacts>, i64)>,
    processes: HashMap<ProcessId, KnownProcess>,
    workloads: HashMap<(Arc<Who>, Option<Arc<str>>), i64>,
    holders: HashMap<(HolderId, i64), i64>,
    /// Texts of the labels of totals.
    pub labels: HashMap<String, i64>,
}

#[derive(Debug)]
struct KnownProcess {
    id: i64,
    person: Person,
    kinds: Kinds,
    has_workload: bool,
}

impl Names {
    /// Forgets all ids. They are looked up again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the id of a card: by UUID, or by index and slot where that cannot be read.
    pub fn card(&mut self, db: &Connection, facts: &Arc<CardFacts>) -> Result<i64, Problem> {
        let known = self.cards.iter().find(|(known, _)| Arc::ptr_eq(known, facts));
        if let Some((_, id)) = known {
            return Ok(*id);
        }
        let id = write_card(db, facts)?;
        self.cards.retain(|(_, known)| *known != id);
        self.cards.push((Arc::clone(facts), id));
        Ok(id)
    }

    /// Returns the id of a process that was stored before.
    pub fn process_id(&self, process: ProcessId) -> Option<i64> {
        self.processes.get(&process).map(|known| known.id)
    }

    /// Stores what is known of a process by now.
    pub fn process(
        &mut self,
        db: &Connection,
        boot: i64,
        entry: &ProcessEntry,
    ) -> Result<i64, Problem> {
        if let Some(known) = self.processes.get(&entry.id) {
            let is_same = entry.person.is_unread() || entry.person == known.person;
            let is_same = is_same && entry.kinds == known.kinds;
            if is_same && (known.has_workload || entry.workload.is_none()) {
                return Ok(known.id);
            }
        }
        let (id, mut has_workload) = write_process(db, boot, entry)?;
        if let Some(who) = entry.workload.as_ref().filter(|_| !has_workload) {
            let workload = self.workload(db, who, entry.command.as_ref())?;
            db.prepare_cached("UPDATE process SET workload = ?2 WHERE id = ?1")?
                .execute((id, workload))?;
            has_workload = true;
        }
        let person = entry.person.clone();
        let known = KnownProcess { id, person, kinds: entry.kinds, has_workload };
        let before = self.processes.insert(entry.id, known);
        if before.is_some_and(|before| before.id != id || before.kinds != entry.kinds) {
            self.holders.retain(|(holder, _), _| *holder != HolderId::Process(entry.id));
        }
        Ok(id)
    }

    /// Returns the id of a holder on a card. `until_ms` is the end of a row that it has.
    pub fn holder(
        &mut self,
        db: &Connection,
        boot: i64,
        card: i64,
        holder: HolderId,
        until_ms: i64,
    ) -> Result<i64, Problem> {
        if let Some(id) = self.holders.get(&(holder, card)) {
            return Ok(*id);
        }
        let (process, kinds) = match holder {
            HolderId::Unlisted => (None, Kinds::default()),
            HolderId::Process(id) => {
                let process = match self.processes.get(&id) {
                    Some(known) => known.id,
                    None => self.process(db, boot, &ProcessEntry::unread(id))?,
                };
                let kinds = self.processes.get(&id).map_or_else(Kinds::default, |it| it.kinds);
                (Some(process), kinds)
            }
        };
        let id = write_holder(db, process, card, codes::from_kinds(kinds), until_ms)?;
        self.holders.insert((holder, card), id);
        Ok(id)
    }

    fn workload(
        &mut self,
        db: &Connection,
        who: &Arc<Who>,
        command: Option<&Arc<str>>,
    ) -> Result<i64, Problem> {
        let key = (Arc::clone(who), command.cloned());
        if let Some(id) = self.workloads.get(&key) {
            return Ok(*id);
        }
        let id = workload::write(db, who, command.map(|command| &**command))?;
        self.workloads.insert(key, id);
        Ok(id)
    }
}

/// Returns the id of a name in `host` or `boot`.
pub(crate) fn named(
    db: &Connection,
    table: &str,
    column: &str,
    name: &str,
) -> Result<i64, Problem> {
    db.execute(&format!("INSERT OR IGNORE INTO {table} ({column}) VALUES (?1)"), [name])?;
    let select = format!("SELECT id FROM {table} WHERE {column} = ?1");
    Ok(db.query_row(&select, [name], |row| row.get(0))?)
}

/// Stores the memory of a card.
pub(crate) fn write_card_memory(db: &Connection, card: i64, total: Bytes) -> Result<(), Problem> {
    let mib = i64::try_from(total.0 >> 20).ok();
    db.prepare_cached("UPDATE card SET memory_mib = ?2 WHERE id = ?1 AND memory_mib IS NOT ?2")?
        .execute((card, mib))?;
    Ok(())
}

/// Stores a card. A fact that cannot be read now does not replace a known one.
fn write_card(db: &Connection, facts: &CardFacts) -> Result<i64, Problem> {
    let (slot, Slices { part, of }) = (facts.slot(), facts.slices());
    let parent = facts.instance.as_ref().and_then(|it| it.parent_uuid.as_ref().known());
    let (uuid, name) = (facts.uuid.as_ref().known(), facts.name.as_ref().known());
    let found: Option<i64> = match uuid {
        Some(uuid) => db.query_row("SELECT id FROM card WHERE uuid = ?1", [uuid], |row| row.get(0)),
        None => db.query_row(
            "SELECT id FROM card WHERE uuid IS NULL AND number = ?1 AND slot IS ?2",
            (facts.index, slot),
            |row| row.get(0),
        ),
    }
    .optional()?;
    if let Some(id) = found {
        db.execute(
            "UPDATE card SET number = ?2, slot = ?3, parent = ifnull(?4, parent),
                 name = ifnull(?5, name), slices = ?6, slices_of = ?7 WHERE id = ?1",
            params![id, facts.index, slot, parent, name, part, of],
        )?;
        return Ok(id);
    }
    db.execute(
        "INSERT INTO card (uuid, number, slot, parent, name, slices, slices_of)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![uuid, facts.index, slot, parent, name, part, of],
    )?;
    Ok(db.last_insert_rowid())
}

/// Returns the id of a person.
pub(crate) fn write_person(db: &Connection, person: &Person) -> Result<i64, Problem> {
    let key = (&person.user, person.uid, person.source.map(Source::slug));
    let mut find = db.prepare_cached(
        "SELECT id FROM person WHERE ifnull(user, '') = ifnull(?1, '')
             AND ifnull(uid, -1) = ifnull(?2, -1) AND ifnull(source, '') = ifnull(?3, '')",
    )?;
    if let Some(id) = find.query_row(key, |row| row.get(0)).optional()? {
        return Ok(id);
    }
    db.prepare_cached("INSERT INTO person (user, uid, source) VALUES (?1, ?2, ?3)")?
        .execute(key)?;
    Ok(db.last_insert_rowid())
}

/// Returns the id of a process, and whether it has a workload. After setuid it is another process.
fn write_process(db: &Connection, boot: i64, entry: &ProcessEntry) -> Result<(i64, bool), Problem> {
    let ticks = entry.id.start_ticks.and_then(|ticks| i64::try_from(ticks).ok()).unwrap_or(-1);
    let started = entry.started.map(|started| started.0);
    let person = write_person(db, &entry.person)?;
    if let Some((id, has_workload)) = find_process(db, boot, ticks, person, entry)? {
        db.prepare_cached(
            "UPDATE process SET started_ms = ifnull(started_ms, ?2), program = ifnull(program, ?3)
                 WHERE id = ?1",
        )?
        .execute((id, started, &entry.program))?;
        return Ok((id, has_workload));
    }
    db.prepare_cached(
        "INSERT INTO process (pid, start_ticks, boot, person, started_ms, program)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![entry.id.pid, ticks, boot, person, started, entry.program])?;
    Ok((db.last_insert_rowid(), false))
}

/// Finds a process by its key, or by what agrees with the key where a person was not known: one that
/// is read later is attached, one that is not read now stays.
fn find_process(
    db: &Connection,
    boot: i64,
    ticks: i64,
    person: i64,
    entry: &ProcessEntry,
) -> Result<Option<(i64, bool)>, Problem> {
    let mut find = db.prepare_cached(
        "SELECT process.id, workload IS NOT NULL, person.id = ?4 FROM process
             JOIN person ON person.id = process.person
             WHERE pid = ?1 AND start_ticks = ?2 AND boot = ?3
                 AND (person.id = ?4 OR ?2 >= 0
                      AND (uid IS NULL OR ?5 IS NULL OR uid = ?5)
                      AND (?6 OR user IS NULL AND source IS NULL))
             ORDER BY person.id = ?4 DESC, process.id DESC LIMIT 1",
    )?;
    let (uid, is_unread) = (entry.person.uid, entry.person.is_unread());
    let key = params![entry.id.pid, ticks, boot, person, uid, is_unread];
    let found =
        find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    let Some((id, has_workload, is_same)) = found else { return Ok(None) };
    let is_same: bool = is_same;
    if !is_same && !is_unread {
        db.execute("UPDATE process SET person = ?2 WHERE id = ?1", (id, person))?;
    }
    Ok(Some((id, has_workload)))
}

/// Returns the id of a holder. `until_ms` is the end of a row that it has.
pub(crate) fn write_holder(
    db: &Connection,
    process: Option<i64>,
    card: i64,
    kinds: i64,
    until_ms: i64,
) -> Result<i64, Problem> {
    let found = match process {
        Some(process) => db
            .prepare_cached("SELECT id FROM holder WHERE process = ?1 AND card = ?2")?
            .query_row((process, card), |row| row.get(0)),
        None => db
            .prepare_cached("SELECT id FROM holder WHERE process IS NULL AND card = ?1")?
            .query_row([card], |row| row.get(0)),
    };
    if let Some(id) = found.optional()? {
        db.prepare_cached(
            "UPDATE holder SET kinds = kinds | ?2, until_ms = max(until_ms, ?3) WHERE id = ?1",
        )?
        .execute((id, kinds, until_ms))?;
        return Ok(id);
    }
    db.prepare_cached(
        "INSERT INTO holder (card, process, kinds, until_ms) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((card, process, kinds, until_ms))?;
    Ok(db.last_insert_rowid())
}
