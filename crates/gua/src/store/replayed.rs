//! A history tick by tick, for the rules: what every card did, and who held it.

use std::collections::HashMap;

use probe::units::{Bytes, UnixMillis};
use probe::{Kinds, Reading, Why};
use rusqlite::Row;

use super::codes;
use super::error::StoreError;
use super::history::History;
use super::sample_key;
use crate::classify::{CentiPercent, Holds, State, Work};
use crate::ledger::{HOUR, Part, Period};

/// One tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickRow {
    pub run: i64,
    /// The time that it speaks for.
    pub covers: Period,
    pub cards: Vec<CardAt>,
}

/// One card at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardAt {
    pub card: i64,
    pub state: State,
    pub utilization: Reading<CentiPercent>,
    /// Why a holder or its memory was hidden, where one was.
    pub hidden: Option<Why>,
}

/// A holder over a time in which nothing about it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldSpan {
    pub holder: i64,
    pub run: i64,
    pub period: Period,
    pub holds: Holds,
    pub work: Work,
    /// What another program has judged, where that is all there is.
    pub judged: Option<State>,
    pub memory: Reading<Bytes>,
}

impl History {
    /// Every tick of a window, in the order in which they were recorded.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ticks(&self, window: Period, mut each: impl FnMut(TickRow)) -> Result<(), StoreError> {
        let mut ticks = self.connection().prepare(
            "SELECT id, run, at_ms, covers_ms FROM tick WHERE at_ms >= ?1 AND at_ms < ?2
                 ORDER BY id",
        )?;
        let mut samples = self.connection().prepare(&format!(
            "SELECT card, state, utilization, utilization_why, hidden_why FROM sample WHERE {}",
            sample_key::is_of("?1", self.connection())?
        ))?;
        let mut rows = ticks.query((window.from.0, window.to.0))?;
        while let Some(row) = rows.next()? {
            let (id, run, at, covers): (i64, i64, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let covers = Period::new(UnixMillis(at.saturating_sub(covers)), UnixMillis(at));
            let cards = samples.query_map([id], card)?.collect::<Result<_, _>>()?;
            each(TickRow { run, covers, cards });
        }
        Ok(())
    }

    /// Everybody who held a card in a window, in the order of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn held(&self, window: Period) -> Result<Vec<HeldSpan>, StoreError> {
        let mut spans = self.connection().prepare(
            "SELECT holder, run, from_ms, length_ms, state, memory_kib FROM holder_span
                 WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
        )?;
        let mut rows = spans.query((window.from.0.saturating_sub(HOUR), window.to.0))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let from: i64 = row.get(2)?;
            let to = self.end_of(from, row.get(3)?)?;
            let (holds, work, judged) = match codes::part(row.get(4)?) {
                Part::Holds(holds, work) => (holds, work, None),
                Part::Judged(state) => (Holds::Much, Work::AsTheCard, Some(state)),
            };
            found.push(HeldSpan {
                holder: row.get(0)?,
                run: row.get(1)?,
                period: Period::new(UnixMillis(from), to),
                holds,
                work,
                judged,
                memory: memory(row.get(5)?),
            });
        }
        Ok(found)
    }

    /// How each holder used its card, by number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn holder_kinds(&self) -> Result<HashMap<i64, Kinds>, StoreError> {
        let mut rows = self.connection().prepare("SELECT id, kinds FROM holder")?;
        let kinds = rows.query_map([], |row| Ok((row.get(0)?, codes::kinds(row.get(1)?))))?;
        Ok(kinds.collect::<Result<_, _>>()?)
    }
}

fn memory(kib: Option<i64>) -> Reading<Bytes> {
    let kib = kib.and_then(|kib| u64::try_from(kib).ok());
    kib.map_or(Reading::Unknown(Why::NotTold), |kib| {
        Reading::Known(Bytes(kib.saturating_mul(1024)))
    })
}

fn card(row: &Row<'_>) -> rusqlite::Result<CardAt> {
    let work: Option<u32> = row.get(2)?;
    let why = row.get::<_, Option<i64>>(3)?.map_or(Why::Garbled, codes::why);
    Ok(CardAt {
        card: row.get(0)?,
        state: codes::state(row.get(1)?),
        utilization: work.map_or(Reading::Unknown(why), |work| Reading::Known(CentiPercent(work))),
        hidden: row.get::<_, Option<i64>>(4)?.map(codes::why),
    })
}
