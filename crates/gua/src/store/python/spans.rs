//! What a tick found, as spans of our database.

use rusqlite::{Connection, params};

use super::super::error::StoreError;
use super::super::{codes, span_rows};
use super::counted::{Counted, Ended};
use super::rows::{GpuRow, ProcessRow};
use super::verdict;
use crate::classify::{Holds, Kib, State};
use crate::ledger::{Period, settled};

/// The spans that are open, of one run.
#[derive(Debug, Default)]
pub(super) struct Open {
    observed: Counted<(), ()>,
    cards: Counted<i64, State>,
    owners: Counted<(i64, i64), State>,
    holders: Counted<i64, Holding>,
    unseen: Counted<i64, Kib>,
}

/// What one tick found, in the numbers of the database.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub cards: Vec<(i64, State)>,
    pub owners: Vec<((i64, i64), State)>,
    holders: Vec<(i64, Holding)>,
    /// What each of them was doing, in the same order.
    doing: Vec<State>,
    unseen: Vec<(i64, Kib)>,
}

/// What a span of a process is one by. What it did is what its card did, so that it goes on when
/// the card begins or ceases to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holding {
    holds: Holds,
    memory: Option<Kib>,
}

impl Holding {
    fn of(mib: Option<u64>) -> Self {
        Self { holds: verdict::holds(mib), memory: mib.map(of_mib) }
    }

    /// As before, where its memory has not moved by much.
    fn settled(self, before: Option<Self>, doing: State) -> Self {
        let before = before.filter(|before| before.holds == self.holds);
        match before.and_then(|before| before.memory).zip(self.memory) {
            Some((was, is)) => Self { memory: Some(settled(was, is, doing)), ..self },
            None => self,
        }
    }
}

impl Found {
    pub fn clear(&mut self) {
        self.cards.clear();
        self.owners.clear();
        self.holders.clear();
        self.doing.clear();
        self.unseen.clear();
    }

    /// A process that is listed twice, for computing and for drawing, is one holder.
    pub fn holder(&mut self, holder: i64, row: &GpuRow, process: &ProcessRow) {
        let is = Holding::of(process.mib);
        let doing = is.holds.state(verdict::state(row.work, process.mib.unwrap_or(0)));
        let mut all = self.holders.iter_mut().zip(&mut self.doing);
        match all.find(|((other, _), _)| *other == holder) {
            None => {
                self.holders.push((holder, is));
                self.doing.push(doing);
            }
            Some(((_, before), did)) if is.memory > before.memory => {
                *before = is;
                *did = doing;
            }
            Some(_) => {}
        }
    }

    /// Memory of a card that no process accounts for, where it is enough to count.
    pub fn unseen(&mut self, card: i64, mib: Option<u64>) {
        self.unseen
            .extend(mib.filter(|mib| *mib > verdict::HELD_MIB).map(|mib| (card, of_mib(mib))));
    }
}

const fn of_mib(mib: u64) -> Kib {
    Kib(mib.saturating_mul(1024))
}

impl Open {
    pub fn tick(
        &mut self,
        database: &Connection,
        run: i64,
        part: (Period, i64),
        found: &mut Found,
    ) -> Result<(), StoreError> {
        self.settle(found);
        self.observed.tick(part, &[((), ())], |span| observed(database, run, span))?;
        self.cards.tick(part, &found.cards, |span| card(database, run, span))?;
        self.owners.tick(part, &found.owners, |span| owner(database, run, span))?;
        self.holders.tick(part, &found.holders, |span| holder(database, run, span))?;
        self.unseen.tick(part, &found.unseen, |span| unseen(database, run, span))
    }

    /// Memory that only wobbles is what it was.
    fn settle(&self, found: &mut Found) {
        for ((holder, holding), doing) in found.holders.iter_mut().zip(&found.doing) {
            *holding = holding.settled(self.holders.state_of(holder), *doing);
        }
        let state_of = |card: i64| found.cards.iter().find(|(other, _)| *other == card);
        for (card, memory) in &mut found.unseen {
            let doing = state_of(*card).map_or(State::IdleHeld, |(_, state)| *state);
            let was = self.unseen.state_of(card).unwrap_or(*memory);
            *memory = settled(was, *memory, doing);
        }
    }

    pub fn end_all(&mut self, database: &Connection, run: i64) -> Result<(), StoreError> {
        self.observed.end_all(|span| observed(database, run, span))?;
        self.cards.end_all(|span| card(database, run, span))?;
        self.owners.end_all(|span| owner(database, run, span))?;
        self.holders.end_all(|span| holder(database, run, span))?;
        self.unseen.end_all(|span| unseen(database, run, span))
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

fn holder(database: &Connection, run: i64, span: Ended<i64, Holding>) -> Result<(), StoreError> {
    database
        .prepare_cached(
            "INSERT INTO holder_span (from_ms, holder, run, state, length_ms, counted_ms,
                 memory_kib) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            span.period.from.0,
            span.key,
            run,
            codes::of_holds(span.state.holds),
            span.period.millis(),
            span.counted,
            span.state.memory.and_then(span_rows::kib)
        ])?;
    Ok(())
}

fn unseen(database: &Connection, run: i64, span: Ended<i64, Kib>) -> Result<(), StoreError> {
    let memory = span_rows::kib(span.state).unwrap_or(i64::MAX);
    database
        .prepare_cached(
            "INSERT INTO unseen_span (from_ms, card, run, length_ms, counted_ms, memory_kib)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((span.period.from.0, span.key, run, span.period.millis(), span.counted, memory))?;
    Ok(())
}

/// Mebibytes as the database keeps memory.
pub(super) fn kib(mib: u64) -> i64 {
    i64::try_from(mib.saturating_mul(1024)).unwrap_or(i64::MAX)
}
