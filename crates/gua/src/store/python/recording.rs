//! Ticks of a file as runs, spans and samples of our database.

use std::collections::HashMap;

use probe::Why;
use probe::card::Basis;
use probe::units::UnixMillis;
use rusqlite::{Connection, params};

use super::super::error::StoreError;
use super::super::history::DEFAULT_INTERVAL_MILLIS;
use super::super::run::{self, Ending};
use super::super::{codes, sample_key};
use super::extent::{Extents, portions};
use super::names::{KnownCard, Names};
use super::rows::{GpuRow, ProcessRow, Texts};
use super::source::{Host, Source};
use super::spans::{Found, Open, kib};
use super::tally::Tally;
use super::ticks::Tick;
use super::verdict;
use crate::classify::{self, State};
use crate::ledger::Period;

/// Who has recorded what is imported.
pub(super) const RECORDER: &str = "gpu-usage-audit (Python)";

/// What is being written of a file.
#[derive(Debug)]
pub(super) struct Recording<'d> {
    database: &'d Connection,
    host: Host,
    intervals: HashMap<i64, i64>,
    /// Whether a card that the Python gua did not judge may have had holders.
    judges: bool,
    keep_samples: bool,
    runs: HashMap<Option<i64>, OurRun>,
    current: Option<i64>,
    extents: Extents,
    open: Open,
    names: Names,
    found: Found,
    pub tally: Tally,
}

#[derive(Debug, Clone, Copy)]
struct OurRun {
    id: i64,
    last: UnixMillis,
}

/// What the processes of a card hold.
#[derive(Debug, Default)]
struct Held {
    known_mib: u64,
    has_unknown: bool,
    count: i64,
}

impl<'d> Recording<'d> {
    /// Begins, beside what is recorded already.
    pub fn begin(
        database: &'d Connection,
        source: &Source,
        recorded: Vec<Period>,
        keep_samples: bool,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            database,
            host: source.host().map_err(StoreError::of_source)?,
            intervals: source.intervals().map_err(StoreError::of_source)?,
            judges: source.has_usage_state(),
            keep_samples,
            runs: HashMap::new(),
            current: None,
            extents: Extents::new(recorded),
            open: Open::default(),
            names: Names::new(source.devices().map_err(StoreError::of_source)?),
            found: Found::default(),
            tally: Tally::default(),
        })
    }

    pub fn tick(&mut self, tick: &Tick, texts: &Texts) -> Result<(), StoreError> {
        let written_down = tick.run.and_then(|run| self.intervals.get(&run)).copied();
        let interval = written_down.unwrap_or(DEFAULT_INTERVAL_MILLIS);
        let extent = self.extents.of(tick.at, tick.run, interval).map_err(StoreError::Overlap)?;
        let run = self.run_of(tick, written_down)?;
        let id = self.write_tick(run, tick.at, interval)?;
        self.found.clear();
        for card in &tick.cards {
            self.card(id, card, tick, texts)?;
        }
        for part in portions(extent, interval) {
            self.open.tick(self.database, run, part, &mut self.found)?;
        }
        self.tally.tick(extent, interval, tick.processes.len(), &self.found.cards);
        self.tally.owners(interval, &self.found.owners);
        Ok(())
    }

    /// Ends what is open.
    pub fn end(mut self) -> Result<Tally, StoreError> {
        if let Some(run) = self.current {
            self.open.end_all(self.database, run)?;
        }
        for OurRun { id, last } in self.runs.values() {
            run::end(self.database, *id, *last, Ending::Complete)?;
        }
        self.tally.cards = self.names.cards();
        self.tally.runs = self.runs.len();
        Ok(self.tally)
    }

    /// The run of a tick. Where it is another than before, the spans of that one end.
    fn run_of(&mut self, tick: &Tick, interval: Option<i64>) -> Result<i64, StoreError> {
        let id = match self.runs.get_mut(&tick.run) {
            Some(run) => {
                run.last = tick.at;
                run.id
            }
            None => {
                let id = self.write_run(tick.at, interval)?;
                self.runs.insert(tick.run, OurRun { id, last: tick.at });
                id
            }
        };
        if let Some(before) = self.current.replace(id).filter(|before| *before != id) {
            self.open.end_all(self.database, before)?;
        }
        Ok(id)
    }

    /// It takes the place of no other run, however late it comes: where there are
    /// recordings of the time, nothing is imported.
    fn write_run(&self, started: UnixMillis, interval: Option<i64>) -> Result<i64, StoreError> {
        let Host { name, driver } = &self.host;
        self.database.execute("INSERT OR IGNORE INTO host (name) VALUES (?1)", [name])?;
        self.database.execute(
            "INSERT INTO run (host, boot, driver, recorder, interval_ms, started_ms, goes_back)
                 SELECT id, '', ?2, ?3, ?4, ?5, 0 FROM host WHERE name = ?1",
            params![name, driver, RECORDER, interval, started.0],
        )?;
        Ok(self.database.last_insert_rowid())
    }

    fn write_tick(&self, run: i64, at: UnixMillis, counts: i64) -> Result<i64, StoreError> {
        self.database
            .prepare_cached("INSERT INTO tick (run, at_ms, covers_ms) VALUES (?1, ?2, ?3)")?
            .execute((run, at.0, counts))?;
        Ok(self.database.last_insert_rowid())
    }

    fn card(
        &mut self,
        tick_id: i64,
        row: &GpuRow,
        tick: &Tick,
        texts: &Texts,
    ) -> Result<(), StoreError> {
        let card = self.names.card(self.database, row, texts)?;
        let mut held = Held::default();
        let mut owners: Vec<(i64, u64)> = Vec::new();
        for process in tick.processes.iter().filter(|process| process.uuid == row.uuid) {
            held.add(process);
            let identity = self.names.identity(self.database, process.user, texts)?;
            let theirs = process.mib.unwrap_or(0);
            match owners.iter_mut().find(|(owner, _)| *owner == identity) {
                Some((_, mib)) => *mib += theirs,
                None => owners.push((identity, theirs)),
            }
            let holder = self.names.holder(self.database, (card.id, identity), process, texts)?;
            self.found.holder(holder, row, process);
        }
        let state = verdict::state(row.work, held.known_mib);
        self.found.unseen(card.id, unseen_mib(card, row, &held));
        self.found.cards.push((card.id, state));
        for (identity, mib) in owners {
            self.found.owners.push(((card.id, identity), verdict::state(row.work, mib)));
        }
        if self.keep_samples { self.write_sample(tick_id, card, row, &held, state) } else { Ok(()) }
    }

    fn write_sample(
        &self,
        tick: i64,
        card: KnownCard,
        row: &GpuRow,
        held: &Held,
        state: State,
    ) -> Result<(), StoreError> {
        // Where it could not read the list, the Python gua has left the card unjudged.
        let is_hidden =
            held.has_unknown || row.used_mib.is_none() || (self.judges && !row.was_judged);
        let not_told = codes::of_why(Why::NotTold);
        self.database
            .prepare_cached(
                "INSERT INTO sample (id, state, utilization, utilization_why, basis,
                     held_kib, unseen_kib, hidden_why, holders, used_kib, power_mw, temperature_c)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                sample_key::number(tick, card.id)?,
                codes::of_state(state),
                row.work.map(|work| work.0),
                row.work.is_none().then_some(not_told),
                row.work.map(|_| codes::of_basis(Basis::Instant)),
                kib(held.known_mib),
                unseen_mib(card, row, held).map(kib),
                is_hidden.then_some(not_told),
                held.count,
                row.used_mib.map(kib),
                row.power_watts.map(|watts| i64::from(watts) * 1000),
                row.temperature,
            ])?;
        Ok(())
    }
}

/// Used memory that neither a process nor the driver's reserve accounts for. The Python gua
/// reads memory in a way that counts the reserve as used.
fn unseen_mib(card: KnownCard, row: &GpuRow, held: &Held) -> Option<u64> {
    let reserve = classify::largest_reserve(card.memory?).0 >> 20;
    Some(row.used_mib?.saturating_sub(held.known_mib).saturating_sub(reserve))
}

impl Held {
    fn add(&mut self, process: &ProcessRow) {
        self.count += 1;
        self.has_unknown |= process.mib.is_none();
        self.known_mib += process.mib.unwrap_or(0);
    }
}
