//! Holding sessions: the spells of time in which a process held a card idle, and in which a
//! card was.
//!
//! Pieces are folded forward through the window. What was idle already when it began is followed
//! back from there, some hours at a time, for as far as it goes.

use std::collections::{HashMap, HashSet};

use probe::units::UnixMillis;
use rusqlite::{OptionalExtension, Row};

use super::ended::{Ended, Wanted};
use super::error::StoreError;
use super::folded::{Folded, Subject};
use super::history::{DEFAULT_INTERVAL_MILLIS, History};
use super::holders::HolderRow;
use crate::classify::Kib;
use crate::ledger::{HOUR, Period, Piece, ProcessKey, Spell, bridge};

/// How much is read at a time on the way back, and at first: who looks asks for the last hours,
/// mostly.
const STEP: i64 = 6 * HOUR;

/// A spell in which one process held a card idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub holder: HolderRow,
    pub spell: Spell,
    /// Whether it goes on where the record ends.
    pub is_open: bool,
}

impl Session {
    /// Whether it never held more than a runtime takes by itself; not where that was not told.
    #[must_use]
    pub fn is_bare_context(&self, most: Kib) -> bool {
        self.spell.peak.is_some_and(|peak| peak <= most)
    }
}

/// The sessions of a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sessions {
    pub told: Vec<Session>,
    /// How many more ended in it.
    pub left_out: usize,
}

/// A process on a card, as a look sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HolderKey {
    /// The card's UUID.
    pub card: String,
    pub process: ProcessKey,
}

/// Who and what is held idle at the end of the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Idleness {
    /// Where the record ends; `None` where nothing is recorded.
    pub until: Option<UnixMillis>,
    /// The idle-held cards, by UUID.
    pub cards: HashMap<String, Spell>,
    /// How long each has held a card idle, itself or with all others on it.
    pub holders: HashMap<HolderKey, Spell>,
}

impl History {
    /// Every spell of the window in which a process held a card idle; the longest first. One that
    /// began before the window is told from its beginning on.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn sessions(&self, window: Period) -> Result<Vec<Session>, StoreError> {
        Ok(self.sessions_with(window, Wanted::ALL, |_| Ok(()))?.told)
    }

    /// Those that are wanted, with every piece of the window for who needs them too: reading them
    /// is most of the work. What sessions tell of their shares is that of the window.
    ///
    /// # Errors
    /// When it cannot be read, or what `each` says.
    pub fn sessions_with(
        &self,
        window: Period,
        wanted: Wanted,
        mut each: impl FnMut(&Piece<'_>) -> Result<(), StoreError>,
    ) -> Result<Sessions, StoreError> {
        let bridge = self.bridge();
        let mut folded = Folded::keeping(Ended::new(wanted, window.from, bridge), bridge);
        self.pieces(window, |piece| {
            folded.add(piece);
            each(piece)
        })?;
        let open = folded.open(self.end_of_record()?.unwrap_or(window.to));
        let (mut spells, left_out) = folded.ended();
        spells.extend(folded.last().filter(|(subject, _)| matches!(subject, Subject::Holder(_))));
        self.follow_back(window.from, &mut spells, &folded)?;
        spells.retain(|(_, spell)| wanted.is_of(spell));
        spells.sort_by_key(|(_, spell)| std::cmp::Reverse((spell.idle_millis, spell.to)));
        let mut told = Vec::with_capacity(spells.len());
        for (subject, spell) in spells {
            let Subject::Holder(id) = subject else { continue };
            let Some(holder) = self.holder(id)? else { continue };
            let spell = spell.of_process(holder.started);
            let is_open = open.get(&subject) == Some(&spell.to);
            told.push(Session { holder, spell, is_open });
        }
        Ok(Sessions { told, left_out })
    }

    /// The same of the boot that the newest run recorded, whatever host this is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn idleness_of_newest_run(&self) -> Result<Idleness, StoreError> {
        let run = self.newest_run().map(|run| run.id);
        let boot = "SELECT boot FROM run WHERE id = ?1";
        let boot: Option<String> =
            self.connection().query_row(boot, [run], |row| row.get(0)).optional()?;
        self.idleness(boot.as_deref().unwrap_or_default())
    }

    /// Who and what is held idle where the record ends. Processes of another boot are left out.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn idleness(&self, boot: &str) -> Result<Idleness, StoreError> {
        let Some(until) = self.end_of_record()? else { return Ok(Idleness::default()) };
        let mut idleness = Idleness { until: Some(until), ..Idleness::default() };
        let uuids: HashMap<i64, String> =
            self.cards()?.into_iter().filter_map(|card| Some((card.id, card.uuid?))).collect();
        for (subject, spell) in self.idle_at(until)? {
            match subject {
                Subject::Card(card) => {
                    let uuid = uuids.get(&card).map(|uuid| (uuid.clone(), spell));
                    idleness.cards.extend(uuid);
                }
                Subject::Holder(id) => {
                    let holder = self.holder(id)?.filter(|holder| holder.boot == boot);
                    idleness.holders.extend(holder.and_then(|holder| {
                        let key = holder.key(uuids.get(&holder.card)?);
                        Some((key, spell.of_process(holder.started)))
                    }));
                }
            }
        }
        Ok(idleness)
    }

    /// The spells in which a process holds a card idle where the record ends.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open_sessions(&self) -> Result<Vec<Session>, StoreError> {
        let Some(until) = self.end_of_record()? else { return Ok(Vec::new()) };
        let mut sessions = Vec::new();
        for (subject, spell) in self.idle_at(until)? {
            let Subject::Holder(id) = subject else { continue };
            let Some(holder) = self.holder(id)? else { continue };
            let spell = spell.of_process(holder.started);
            sessions.push(Session { holder, spell, is_open: true });
        }
        Ok(sessions)
    }

    /// How long a doubt of this record may be that does not end a spell, in milliseconds.
    #[must_use]
    pub fn bridge(&self) -> i64 {
        let interval = self.newest_run().and_then(|run| run.interval_millis);
        bridge(interval.unwrap_or(DEFAULT_INTERVAL_MILLIS))
    }

    /// What is idle at the end of the record, each followed back to where it began.
    fn idle_at(&self, until: UnixMillis) -> Result<Vec<(Subject, Spell)>, StoreError> {
        let window = Period::new(step_back(until), until);
        let folded = self.folded(window, None)?;
        let open = folded.open(until);
        let mut idle: Vec<_> =
            folded.last().filter(|(subject, _)| open.contains_key(subject)).collect();
        self.follow_back(window.from, &mut idle, &folded)?;
        Ok(idle)
    }

    fn folded(&self, window: Period, only: Option<&HashSet<i64>>) -> Result<Folded, StoreError> {
        let mut folded = Folded::new(self.bridge());
        self.pieces(window, |piece| {
            if only.is_none_or(|cards| cards.contains(&piece.card)) {
                folded.add(piece);
            }
            Ok(())
        })?;
        Ok(folded)
    }

    /// Puts in front of each spell what came before it, as far as it may have begun before a
    /// moment up to which everything is in them.
    fn follow_back(
        &self,
        from: UnixMillis,
        spells: &mut [(Subject, Spell)],
        folded: &Folded,
    ) -> Result<(), StoreError> {
        let first = self.extent()?.map_or(from, |extent| extent.from);
        let bridge = self.bridge();
        let mut to = from;
        while to > first {
            let is_cut = |it: &&mut (Subject, Spell)| it.1.may_begin_before(to, bridge);
            let mut cut: Vec<_> = spells.iter_mut().filter(is_cut).collect();
            let cards = cut.iter().filter_map(|(subject, _)| folded.card(*subject)).collect();
            if cut.is_empty() {
                break;
            }
            let window = Period::new(step_back(to), to);
            let before = self.folded(window, Some(&cards))?;
            for (subject, spell) in &mut cut {
                let seen = folded.card(*subject).and_then(|card| before.seen(card));
                *spell = before.fold(*subject).before(*spell, seen, bridge);
            }
            to = window.from;
        }
        Ok(())
    }

    /// The last moment that was observed, by the newest run that observed something.
    fn end_of_record(&self) -> Result<Option<UnixMillis>, StoreError> {
        let newest = self.newest_run().map(|run| run.id);
        let mut query = self.connection().prepare(
            "SELECT from_ms, length_ms FROM observed WHERE run = ?1
                 ORDER BY from_ms DESC LIMIT 1",
        )?;
        let end = |row: &Row<'_>| self.end_of(row.get(0)?, row.get(1)?);
        match query.query_row([newest], end).optional()? {
            Some(end) => Ok(Some(end)),
            None => Ok(self.extent()?.map(|extent| extent.to)),
        }
    }
}

impl HolderRow {
    fn key(&self, uuid: &str) -> HolderKey {
        let process = ProcessKey { pid: self.pid, start_ticks: self.start_ticks };
        HolderKey { card: uuid.to_owned(), process }
    }
}

/// A full hour: no span reaches over one.
const fn step_back(to: UnixMillis) -> UnixMillis {
    let hour = to.0.saturating_sub(1).div_euclid(HOUR) * HOUR;
    UnixMillis(hour.saturating_sub(STEP - HOUR))
}
