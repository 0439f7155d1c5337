//! Ticks again, as they were recorded: for who counts them later than they were made.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probe::card::{CardFacts, InstanceFacts};
use probe::process::Kinds;
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};
use rusqlite::{Connection, OptionalExtension, Row};

use super::codes;
use super::error::StoreError;
use super::history::{CardRow, History};
use super::{sample_key, workload};
use crate::classify::{CentiPercent, Evidence, Holds, Kib, State, Work};
use crate::ledger::{
    CardEntry, Crew, Entry, Event, HOUR, HolderEntry, Identity, Measures, OwnerEntry, Part, Period,
    ProcessKey,
};

/// A tick as it was recorded, with what happened since the one before. Memory is that of when
/// each holder's span began, which is within a hundredth of what it was then, or within an eighth
/// of one who works.
#[derive(Debug, Clone)]
pub struct Replayed {
    pub tick: i64,
    pub entry: Entry,
    pub events: Vec<Event>,
    pub driver: Option<String>,
}

/// A row of `tick`.
#[derive(Debug, Clone, Copy)]
struct TickRow {
    id: i64,
    run: i64,
    at: UnixMillis,
    covers: Period,
    late: Option<Duration>,
}

impl History {
    /// The next ticks of our own after this one, at most so many, in the order of recording.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn ticks_after(&self, tick: i64, most: usize) -> Result<Vec<Replayed>, StoreError> {
        let ticks = self.tick_rows(tick, most)?;
        let mut reader = Reader::new(self)?;
        ticks.into_iter().map(|tick| reader.read(tick)).collect()
    }

    /// The newest tick of the run that goes on, else of the one that ended last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn replay_newest(&self) -> Result<Option<Replayed>, StoreError> {
        let Some(run) = self.newest_run() else { return Ok(None) };
        let query = "SELECT id, run, at_ms, covers_ms, late_ms FROM tick
                         WHERE run = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.database.query_row(query, [run.id], tick_row).optional()?;
        found.map(|tick| Reader::new(self)?.read(tick)).transpose()
    }

    /// The first tick of our own that is still there of the run that the newest is of.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn first_tick_of_newest_run(&self) -> Result<Option<Replayed>, StoreError> {
        let query = "SELECT min(id) FROM tick WHERE run =
            (SELECT run FROM tick JOIN run ON run.id = run
                 WHERE recorder LIKE 'gua %' ORDER BY tick.id DESC LIMIT 1)";
        let first: Option<i64> = self.database.query_row(query, [], |row| row.get(0))?;
        let Some(first) = first else { return Ok(None) };
        Ok(self.ticks_after(first - 1, 1)?.into_iter().next())
    }

    /// The last tick that was made at this moment or before; 0 where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tick_at(&self, at: UnixMillis) -> Result<i64, StoreError> {
        let query = "SELECT id FROM tick WHERE at_ms <= ?1 ORDER BY id DESC LIMIT 1";
        let found = self.database.query_row(query, [at.0], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or(0))
    }

    /// When a tick was made; `None` where there is no such one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn time_of_tick(&self, tick: i64) -> Result<Option<UnixMillis>, StoreError> {
        let query = "SELECT at_ms FROM tick WHERE id = ?1";
        let found = self.database.query_row(query, [tick], |row| row.get(0)).optional()?;
        Ok(found.map(UnixMillis))
    }

    fn tick_rows(&self, after: i64, most: usize) -> Result<Vec<TickRow>, StoreError> {
        let mut query = self.database.prepare(
            "SELECT tick.id, run, at_ms, covers_ms, late_ms FROM tick JOIN run ON run.id = run
                 WHERE tick.id > ?1 AND recorder LIKE 'gua %' ORDER BY tick.id LIMIT ?2",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = query.query_map((after, most), tick_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn tick_row(row: &Row<'_>) -> rusqlite::Result<TickRow> {
    let (at, covers): (i64, i64) = (row.get(2)?, row.get(3)?);
    let late: Option<i64> = row.get(4)?;
    Ok(TickRow {
        id: row.get(0)?,
        run: row.get(1)?,
        at: UnixMillis(at),
        covers: Period::new(UnixMillis(at.saturating_sub(covers)), UnixMillis(at)),
        late: late.and_then(|late| u64::try_from(late).ok()).map(Duration::from_millis),
    })
}

/// What is the same from tick to tick.
struct Reader<'a> {
    history: &'a History,
    cards: HashMap<i64, (Arc<CardFacts>, Option<Bytes>)>,
    drivers: HashMap<i64, Option<String>>,
    /// The newest has a table of what processes run for.
    has_workloads: bool,
    samples: String,
}

impl<'a> Reader<'a> {
    fn new(history: &'a History) -> Result<Self, StoreError> {
        let cards = history.cards()?.into_iter();
        let layout: u32 =
            history.database.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let runs = history.runs().iter();
        Ok(Self {
            history,
            cards: cards
                .map(|card| (card.id, (facts(&card), card.memory_bytes.map(Bytes))))
                .collect(),
            drivers: runs.map(|run| (run.id, run.driver.clone())).collect(),
            has_workloads: layout >= 3,
            samples: format!(
                "SELECT card, state, utilization, utilization_why, held_kib, unseen_kib,
                        hidden_why, holders, used_kib, power_mw, temperature_c
                     FROM sample WHERE {} ORDER BY sample.id",
                sample_key::is_of("?1", &history.database)?
            ),
        })
    }

    fn read(&mut self, tick: TickRow) -> Result<Replayed, StoreError> {
        let mut crews = self.crews(&tick)?;
        let database = &self.history.database;
        let mut samples = database.prepare_cached(&self.samples)?;
        let mut cards = Vec::new();
        let mut rows = samples.query([tick.id])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let Some((facts, total)) = self.cards.get(&id) else { continue };
            let crew = crews.remove(&id).unwrap_or_default();
            cards.push(card(row, facts, *total, crew)?);
        }
        let events = events(database, &tick)?;
        let TickRow { id, run, at, covers, late } = tick;
        let driver = self.drivers.get(&run).cloned().flatten();
        Ok(Replayed { tick: id, entry: Entry { at, covers, late, cards }, events, driver })
    }

    /// Everybody on every card over the time of a tick.
    fn crews(&self, tick: &TickRow) -> Result<HashMap<i64, Crew>, StoreError> {
        let mut crews: HashMap<i64, Crew> = HashMap::new();
        if tick.covers.is_empty() {
            return Ok(crews);
        }
        for (card, holder) in self.holders(tick)? {
            crews.entry(card).or_default().holders.push(holder);
        }
        let mut owners = self.history.database.prepare_cached(
            "SELECT card, state, user, uid FROM owner_span
                 JOIN identity ON identity.id = owner_span.identity
                 WHERE from_ms >= ?1 - ?2 AND from_ms < ?1 AND run = ?3
                     AND ifnull(from_ms + length_ms, ?1) >= ?1",
        )?;
        let mut rows = owners.query((tick.at.0, HOUR, tick.run))?;
        while let Some(row) = rows.next()? {
            let (holds, _) = holding(row.get(1)?);
            let identity = Identity { user: row.get(2)?, uid: row.get(3)?, source: None };
            crews.entry(row.get(0)?).or_default().owners.push(OwnerEntry { identity, holds });
        }
        Ok(crews)
    }

    fn holders(&self, tick: &TickRow) -> Result<Vec<(i64, HolderEntry)>, StoreError> {
        let workload = if self.has_workloads { "process.workload" } else { "NULL" };
        let mut holders = self.history.database.prepare_cached(&format!(
            "SELECT holder.card, state, memory_kib, kinds, pid, start_ticks, program, started_ms,
                    user, uid, source, {workload}
                 FROM holder_span
                 JOIN holder ON holder.id = holder_span.holder
                 JOIN process ON process.id = holder.process
                 JOIN identity ON identity.id = process.identity
                 WHERE from_ms >= ?1 - ?2 AND from_ms < ?1 AND holder_span.run = ?3
                     AND ifnull(from_ms + length_ms, ?1) >= ?1"
        ))?;
        let mut rows = holders.query((tick.at.0, HOUR, tick.run))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, self.holder(row)?));
        }
        Ok(found)
    }

    fn holder(&self, row: &Row<'_>) -> Result<HolderEntry, StoreError> {
        let (holds, work) = holding(row.get(1)?);
        let kib: Option<i64> = row.get(2)?;
        let runs_for: Option<i64> = row.get(11)?;
        let runs_for = runs_for.map(|id| workload::read(&self.history.database, id)).transpose()?;
        Ok(HolderEntry {
            process: ProcessKey {
                pid: row.get(4)?,
                start_ticks: u64::try_from(row.get::<_, i64>(5)?).ok(),
            },
            identity: super::history::identity(row, 8)?,
            program: row.get(6)?,
            started: row.get::<_, Option<i64>>(7)?.map(UnixMillis),
            workload: runs_for.flatten().map(|found| Arc::new(found.who)),
            command: None,
            kinds: kinds(row.get(3)?),
            memory: kib.and_then(|kib| u64::try_from(kib).ok()).map(|kib| Bytes(kib * 1024)),
            holds,
            work,
        })
    }
}

/// What another program judged says nothing about how much was held.
fn holding(code: i64) -> (Holds, Work) {
    match codes::part(code) {
        Part::Holds(holds, work) => (holds, work),
        Part::Judged(_) => (Holds::Untold, Work::AsTheCard),
    }
}

const fn kinds(bits: i64) -> Kinds {
    Kinds { compute: bits & 1 != 0, graphics: bits & 2 != 0, mps: bits & 4 != 0 }
}

fn facts(card: &CardRow) -> Arc<CardFacts> {
    let told =
        |text: &Option<String>| text.clone().map_or(Reading::Unknown(Why::NotTold), Reading::Known);
    let instance = |slot| InstanceFacts {
        slot,
        gpu_instance: Reading::Unknown(Why::NotAsked),
        parent_uuid: Reading::Unknown(Why::NotAsked),
    };
    Arc::new(CardFacts {
        uuid: told(&card.uuid),
        name: told(&card.name),
        instance: card.slot.map(instance),
        ..CardFacts::unread(card.number, Why::NotAsked)
    })
}

fn card(
    row: &Row<'_>,
    facts: &Arc<CardFacts>,
    total: Option<Bytes>,
    crew: Crew,
) -> Result<CardEntry, StoreError> {
    let kib = |kib: Option<i64>| kib.and_then(|kib| u64::try_from(kib).ok()).map(Kib);
    let state: State = codes::state(row.get(1)?);
    let why = row.get::<_, Option<i64>>(3)?.map_or(Why::Garbled, codes::why);
    let work: Option<u32> = row.get(2)?;
    let unseen = kib(row.get(5)?);
    let evidence = Evidence {
        work: work.map_or(Reading::Unknown(why), |work| Reading::Known(CentiPercent(work))),
        held: kib(row.get(4)?).unwrap_or(Kib(0)),
        unseen,
        hidden: row.get::<_, Option<i64>>(6)?.map(codes::why),
        has_holders: row.get::<_, i64>(7)? > 0,
    };
    let measures = Measures {
        basis: None,
        used: kib(row.get(8)?).map(|kib| Bytes(kib.0 * 1024)),
        total,
        power_milliwatts: row.get(9)?,
        energy_millijoules: None,
        temperature_celsius: row.get(10)?,
    };
    Ok(CardEntry {
        facts: Arc::clone(facts),
        state,
        evidence,
        unseen,
        measures,
        crew: Arc::new(crew),
    })
}

/// What happened from the tick before up to this one.
fn events(database: &Connection, tick: &TickRow) -> Result<Vec<Event>, StoreError> {
    let before = "SELECT at_ms FROM tick WHERE id < ?1 ORDER BY id DESC LIMIT 1";
    let before: Option<i64> =
        database.prepare_cached(before)?.query_row([tick.id], |row| row.get(0)).optional()?;
    let mut events = database.prepare_cached(
        "SELECT at_ms, until_ms, kind, detail FROM event WHERE at_ms >= ?1 AND at_ms < ?2",
    )?;
    let since = before.unwrap_or(tick.at.0);
    let events = events.query_map((since, tick.at.0), super::history::event)?;
    Ok(events.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
