//! Ids of the cards, processes and holders of a file.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::process::Kinds;
use gua_core::{Reading, Reason};
use rusqlite::{Connection, OptionalExtension, params};

use super::source::Device;
use super::ticks::{CardReading, ProcessReading, Text, Texts};
use crate::codes;
use crate::error::Problem;
use crate::names::{write_holder, write_person};
use gua_core::identity::Person;

/// Ids that were looked up before.
#[derive(Debug)]
pub(super) struct FileNames {
    boot: i64,
    devices: HashMap<String, Device>,
    cards: HashMap<Text, KnownCard>,
    holders: HashMap<HolderKey, i64>,
}

/// A card in the database.
#[derive(Debug, Clone)]
pub(super) struct KnownCard {
    pub id: i64,
    pub facts: Arc<CardFacts>,
    pub memory_mib: Option<i64>,
    /// True if this file is the first to name it.
    is_new: bool,
    index: i64,
}

/// When a process started is unknown, so another program is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct HolderKey {
    card: i64,
    /// `None` for memory that no listed process holds.
    process: Option<(i64, Option<Text>, Option<Text>)>,
    kinds: i64,
}

impl FileNames {
    pub fn new(boot: i64, devices: HashMap<String, Device>) -> Self {
        Self { boot, devices, cards: HashMap::new(), holders: HashMap::new() }
    }

    /// Returns the number of cards.
    pub fn card_count(&self) -> usize {
        self.cards.len()
    }

    /// Returns a card. Its index is the newest one, or its place in the file.
    pub fn card(
        &mut self,
        db: &Connection,
        reading: &CardReading,
        texts: &Texts,
    ) -> Result<KnownCard, Problem> {
        if let Some(card) = self.cards.get_mut(&reading.uuid) {
            if let Some(index) = reading.index.filter(|index| card.is_new && *index != card.index) {
                db.execute("UPDATE card SET number = ?2 WHERE id = ?1", (card.id, index))?;
                card.index = index;
            }
            return Ok(card.clone());
        }
        let uuid = texts.text(reading.uuid).unwrap_or_default();
        let Device { name, memory_mib } = self.devices.get(uuid).cloned().unwrap_or_default();
        let place = i64::try_from(self.cards.len()).unwrap_or(i64::MAX);
        let index = reading.index.unwrap_or(place);
        // What this gua has recorded of a card is newer.
        let is_new = db.execute(
            "INSERT INTO card (uuid, number, name, memory_mib) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (uuid) DO NOTHING",
            params![uuid, index, name, memory_mib],
        )? > 0;
        let id = db.query_row("SELECT id FROM card WHERE uuid = ?1", [uuid], |row| row.get(0))?;
        let mut facts = CardFacts::unread(0, Reason::NotAsked);
        facts.uuid = Reading::Known(uuid.to_owned());
        let card = KnownCard { id, facts: Arc::new(facts), memory_mib, is_new, index };
        self.cards.insert(reading.uuid, card.clone());
        Ok(card)
    }

    /// Returns the holder that a process is on a card.
    pub fn process(
        &mut self,
        db: &Connection,
        card: i64,
        reading: &ProcessReading,
        texts: &Texts,
    ) -> Result<i64, Problem> {
        let process = Some((reading.pid, reading.user, reading.program));
        let key = HolderKey { card, process, kinds: codes::from_kinds(reading.kinds) };
        if let Some(id) = self.holders.get(&key) {
            return Ok(*id);
        }
        let user = reading.user.and_then(|user| texts.text(user)).map(Into::into);
        let person = write_person(db, &Person { user, ..Person::default() })?;
        let program = reading.program.and_then(|program| texts.text(program));
        let process = self.write_process(db, reading.pid, person, program)?;
        let id = write_holder(db, Some(process), card, key.kinds, 0)?;
        self.holders.insert(key, id);
        Ok(id)
    }

    /// Returns the holder of a card's memory that no listed process holds.
    pub fn unlisted(&mut self, db: &Connection, card: i64) -> Result<i64, Problem> {
        let kinds = codes::from_kinds(Kinds::default());
        let key = HolderKey { card, process: None, kinds };
        if let Some(id) = self.holders.get(&key) {
            return Ok(*id);
        }
        let id = write_holder(db, None, card, kinds, 0)?;
        self.holders.insert(key, id);
        Ok(id)
    }

    /// Stores a process. Those with one pid that run different programs have different negative start
    /// times, all of which stand for unknown.
    fn write_process(
        &self,
        db: &Connection,
        pid: i64,
        person: i64,
        program: Option<&str>,
    ) -> Result<i64, Problem> {
        let mut find = db.prepare_cached(
            "SELECT id FROM process WHERE pid = ?1 AND start_ticks < 0 AND boot = ?2 AND person = ?3
                 AND program IS ?4",
        )?;
        let key = params![pid, self.boot, person, program];
        if let Some(id) = find.query_row(key, |row| row.get(0)).optional()? {
            return Ok(id);
        }
        db.prepare_cached(
            "INSERT INTO process (pid, boot, person, program, start_ticks)
                 SELECT ?1, ?2, ?3, ?4, ifnull(min(start_ticks), 0) - 1 FROM process
                 WHERE pid = ?1 AND start_ticks < 0 AND boot = ?2 AND person = ?3",
        )?
        .execute(key)?;
        Ok(db.last_insert_rowid())
    }
}
