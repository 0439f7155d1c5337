//! Reads single ticks again: what each card's state was judged from.

use probe::Reading;
use probe::units::UnixMillis;
use rusqlite::Row;

use super::error::StoreError;
use super::history::{History, parts_that_count};
use super::{codes, sample_key};
use crate::classify::{CentiPercent, Evidence, Kib};
use crate::ledger::Period;

/// One card at one tick, and the part of the window that the tick speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub card: i64,
    pub period: Period,
    pub evidence: Evidence,
    /// Milliseconds that it counts for: its length, but for imported ticks.
    pub counts: i64,
}

impl History {
    /// Every card at every tick that speaks for a part of the window, in the order in which
    /// they were recorded. Older ones are no longer kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn samples(&self, window: Period, mut each: impl FnMut(Sample)) -> Result<(), StoreError> {
        let mut query = self.database.prepare(&format!(
            "SELECT at_ms, covers_ms, run, card, utilization, utilization_why, held_kib,
                    unseen_kib, hidden_why, holders
                 FROM tick CROSS JOIN sample ON {}
                 WHERE at_ms > ?1 AND at_ms - covers_ms < ?2 AND covers_ms > 0
                 ORDER BY tick.id",
            sample_key::is_of("tick.id", &self.database)?
        ))?;
        let mut rows = query.query((window.from.0, window.to.0))?;
        while let Some(row) = rows.next()? {
            let (at, covers, run): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let whole = Period::new(UnixMillis(at.saturating_sub(covers)), UnixMillis(at));
            let (card, evidence) = (row.get(3)?, evidence(row)?);
            for period in parts_that_count(&self.newer, run, whole.overlap(&window)) {
                let counts = self.counts(run, Some(covers), whole, period);
                each(Sample { card, period, evidence, counts });
            }
        }
        Ok(())
    }
}

/// How busy and how full a card was at one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub card: i64,
    /// The time that it speaks for.
    pub period: Period,
    pub work: Option<CentiPercent>,
    pub used: Option<Kib>,
}

impl History {
    /// Every card at every tick of a window, in the order in which they were recorded, for
    /// plots.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn levels(&self, window: Period, mut each: impl FnMut(Level)) -> Result<(), StoreError> {
        let mut query = self.database.prepare(
            "SELECT at_ms, covers_ms, card, utilization, used_kib
                 FROM tick CROSS JOIN sample ON sample.tick = tick.id
                 WHERE at_ms >= ?1 AND at_ms < ?2 ORDER BY tick.id",
        )?;
        let mut rows = query.query((window.from.0, window.to.0))?;
        while let Some(row) = rows.next()? {
            let (at, covers): (i64, i64) = (row.get(0)?, row.get(1)?);
            let used: Option<i64> = row.get(4)?;
            each(Level {
                period: Period::new(UnixMillis(at.saturating_sub(covers)), UnixMillis(at)),
                card: row.get(2)?,
                work: row.get::<_, Option<u32>>(3)?.map(CentiPercent),
                used: used.and_then(|kib| u64::try_from(kib).ok()).map(Kib),
            });
        }
        Ok(())
    }
}

fn evidence(row: &Row<'_>) -> rusqlite::Result<Evidence> {
    let kib = |kib: i64| Kib(u64::try_from(kib).unwrap_or(0));
    let work: Option<u32> = row.get(4)?;
    // Without a figure and without a reason, the row makes no sense.
    let why = row.get::<_, Option<i64>>(5)?.map_or(probe::Why::Garbled, codes::why);
    Ok(Evidence {
        work: work.map_or(Reading::Unknown(why), |work| Reading::Known(CentiPercent(work))),
        held: kib(row.get(6)?),
        unseen: row.get::<_, Option<i64>>(7)?.map(kib),
        hidden: row.get::<_, Option<i64>>(8)?.map(codes::why),
        has_holders: row.get::<_, i64>(9)? > 0,
    })
}
