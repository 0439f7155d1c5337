//! What was read of a file, held against what was written.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::super::error::StoreError;
use super::super::{codes, sample_key};
use crate::classify::State;
use crate::ledger::Period;

/// What was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// One card at one tick each.
    pub gpu_rows: u64,
    pub process_rows: u64,
    pub ticks: u64,
    pub cards: usize,
    pub runs: usize,
    /// `None` where nothing was recorded.
    pub extent: Option<Period>,
    pub millis: ByState,
    pub refused: Refused,
}

/// Milliseconds of cards, by what they were doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByState {
    pub active: i64,
    pub idle_held: i64,
    pub truly_idle: i64,
    pub unknown: i64,
}

/// Rows that were not taken over, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// Without a time, or with one that is none.
    pub without_time: u64,
    /// With a value that makes no sense.
    pub senseless: u64,
    /// A card that was there already at that tick.
    pub twice: u64,
    /// A process of a card that has no sample at that tick.
    pub without_card: u64,
}

impl Refused {
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.without_time + self.senseless + self.twice + self.without_card
    }
}

/// What was counted while reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub cards: usize,
    pub runs: usize,
    ticks: u64,
    gpu_rows: u64,
    process_rows: u64,
    extent: Option<Period>,
    cards_by_state: BTreeMap<i64, i64>,
    owners_by_state: BTreeMap<i64, i64>,
}

impl Tally {
    pub fn tick(&mut self, extent: Period, counts: i64, processes: usize, cards: &[(i64, State)]) {
        self.ticks += 1;
        self.gpu_rows += cards.len() as u64;
        self.process_rows += processes as u64;
        let first = self.extent.map_or(extent.from, |all| all.from.min(extent.from));
        self.extent = Some(Period::new(first, extent.to));
        add(&mut self.cards_by_state, counts, cards);
    }

    pub fn owners(&mut self, counts: i64, owners: &[((i64, i64), State)]) {
        add(&mut self.owners_by_state, counts, owners);
    }

    /// How many rows were taken over.
    pub const fn rows(&self) -> u64 {
        self.gpu_rows + self.process_rows
    }

    /// Compares with what the runs after this one have in the database.
    ///
    /// # Errors
    /// When they differ, or cannot be read.
    pub fn verify(
        &self,
        database: &Connection,
        after_run: i64,
        with_samples: bool,
    ) -> Result<(), StoreError> {
        let number = |query: &str| -> Result<u64, StoreError> {
            let number: i64 = database.query_row(query, [after_run], |row| row.get(0))?;
            Ok(number.unsigned_abs())
        };
        let ticks = number("SELECT count(*) FROM tick WHERE run > ?1")?;
        let first = "(SELECT min(id) FROM tick WHERE run > ?1)";
        let samples = format!("SELECT count(*) FROM sample WHERE {}", sample_key::is_since(first));
        let samples = if with_samples { number(&samples)? } else { self.gpu_rows };
        let is_whole = ticks == self.ticks
            && samples == self.gpu_rows
            && by_state(database, "card_span", after_run)? == self.cards_by_state
            && by_state(database, "owner_span", after_run)? == self.owners_by_state;
        if is_whole { Ok(()) } else { Err(StoreError::NotWhole) }
    }

    pub fn imported(self, refused: Refused) -> Imported {
        let mut millis = ByState::default();
        for (code, counted) in self.cards_by_state {
            match codes::state(code) {
                State::Active => millis.active += counted,
                State::IdleHeld => millis.idle_held += counted,
                State::TrulyIdle => millis.truly_idle += counted,
                State::Unknown(_) => millis.unknown += counted,
            }
        }
        Imported {
            gpu_rows: self.gpu_rows,
            process_rows: self.process_rows,
            ticks: self.ticks,
            cards: self.cards,
            runs: self.runs,
            extent: self.extent,
            millis,
            refused,
        }
    }
}

fn add<K>(sums: &mut BTreeMap<i64, i64>, counts: i64, found: &[(K, State)]) {
    for (_, state) in found {
        *sums.entry(codes::of_state(*state)).or_default() += counts;
    }
}

fn by_state(
    database: &Connection,
    table: &str,
    after_run: i64,
) -> Result<BTreeMap<i64, i64>, StoreError> {
    let mut sums = database.prepare(&format!(
        "SELECT state, sum(counted_ms) FROM {table} WHERE run > ?1 GROUP BY state"
    ))?;
    let sums = sums.query_map([after_run], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(sums.collect::<Result<_, _>>()?)
}
