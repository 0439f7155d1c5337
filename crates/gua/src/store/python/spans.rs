//! What a tick found, as spans of our database.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::super::codes;
use super::super::error::StoreError;
use super::counted::{Counted, Ended};
use super::rows::{GpuRow, ProcessRow};
use super::verdict;
use crate::classify::State;
use crate::ledger::Period;

/// The spans that are open, of one run.
#[derive(Debug, Default)]
pub(super) struct Open {
    observed: Counted<(), ()>,
    cards: Counted<i64, State>,
    owners: Counted<(i64, i64), State>,
    holders: Counted<i64, State>,
}

/// What one tick found, in the numbers of the database.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub cards: Vec<(i64, State)>,
    pub owners: Vec<((i64, i64), State)>,
    holders: Vec<(i64, State)>,
    memory: HashMap<i64, Option<u64>>,
}

impl Found {
    pub fn clear(&mut self) {
        self.cards.clear();
        self.owners.clear();
        self.holders.clear();
        self.memory.clear();
    }

    /// A process that is listed twice, for computing and for drawing, is one holder.
    pub fn holder(&mut self, holder: i64, row: &GpuRow, process: &ProcessRow) {
        let known = self.memory.get(&holder).copied();
        let mib = known.flatten().max(process.mib);
        let state = verdict::of_process(row.work, mib);
        if known.is_none() {
            self.holders.push((holder, state));
        } else if let Some(found) = self.holders.iter_mut().find(|(other, _)| *other == holder) {
            found.1 = state;
        }
        self.memory.insert(holder, mib);
    }

    fn memory_kib(&self, holder: i64) -> Option<i64> {
        self.memory.get(&holder).copied().flatten().map(kib)
    }
}

impl Open {
    pub fn tick(
        &mut self,
        database: &Connection,
        run: i64,
        part: (Period, i64),
        found: &Found,
    ) -> Result<(), StoreError> {
        let none = |_| None;
        self.observed.tick(part, &[((), ())], |()| None, |span| observed(database, run, span))?;
        self.cards.tick(part, &found.cards, none, |span| card(database, run, span))?;
        self.owners.tick(part, &found.owners, |_| None, |span| owner(database, run, span))?;
        let memory = |holder| found.memory_kib(holder);
        self.holders.tick(part, &found.holders, memory, |span| holder(database, run, span))
    }

    pub fn end_all(&mut self, database: &Connection, run: i64) -> Result<(), StoreError> {
        self.observed.end_all(|span| observed(database, run, span))?;
        self.cards.end_all(|span| card(database, run, span))?;
        self.owners.end_all(|span| owner(database, run, span))?;
        self.holders.end_all(|span| holder(database, run, span))
    }
}

fn observed(database: &Connection, run: i64, span: Ended<(), ()>) -> Result<(), StoreError> {
    database
        .prepare_cached(
            "INSERT INTO observed (from_ms, run, length_ms, counted_ms) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((span.period.from.0, run, span.period.millis(), span.counted))?;
    Ok(())
}

fn card(database: &Connection, run: i64, span: Ended<i64, State>) -> Result<(), StoreError> {
    let state = codes::of_state(span.state);
    database
        .prepare_cached(
            "INSERT INTO card_span (from_ms, card, run, state, length_ms, counted_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((span.period.from.0, span.key, run, state, span.period.millis(), span.counted))?;
    Ok(())
}

fn owner(
    database: &Connection,
    run: i64,
    span: Ended<(i64, i64), State>,
) -> Result<(), StoreError> {
    let (card, identity) = span.key;
    database
        .prepare_cached(
            "INSERT INTO owner_span (from_ms, card, identity, run, state, length_ms, counted_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            span.period.from.0,
            card,
            identity,
            run,
            codes::of_state(span.state),
            span.period.millis(),
            span.counted
        ])?;
    Ok(())
}

fn holder(database: &Connection, run: i64, span: Ended<i64, State>) -> Result<(), StoreError> {
    database
        .prepare_cached(
            "INSERT INTO holder_span (from_ms, holder, run, state, length_ms, counted_ms,
                 memory_kib) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            span.period.from.0,
            span.key,
            run,
            codes::of_state(span.state),
            span.period.millis(),
            span.counted,
            span.memory_kib
        ])?;
    Ok(())
}

/// Mebibytes as the database keeps memory.
pub(super) fn kib(mib: u64) -> i64 {
    i64::try_from(mib.saturating_mul(1024)).unwrap_or(i64::MAX)
}
