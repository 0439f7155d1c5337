//! Reads single ticks again: what each card's state was judged from.

use std::collections::HashSet;

use probe::Reading;
use probe::units::UnixMillis;
use rusqlite::Row;

use super::error::StoreError;
use super::history::{History, RunRow, parts_that_count};
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
                 WHERE tick.id > ?3 AND at_ms > ?1 AND at_ms - covers_ms < ?2 AND covers_ms > 0
                 ORDER BY tick.id",
            sample_key::is_of("tick.id", &self.database)?
        ))?;
        let mut rows = query.query((window.from.0, window.to.0, self.tick_before(window)?))?;
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

    /// A tick such that all of a window come later, so that not all that there are need to be
    /// read: there is no index of their times, which every tick would have to write to. Our own
    /// are in the order of time, from the newest back, unless a clock was set back; those of an
    /// import are not.
    fn tick_before(&self, window: Period) -> Result<i64, StoreError> {
        const FIRST: i64 = i64::MIN;
        let is_here = |run: &RunRow| {
            run.started < window.to && run.ended.is_none_or(|ended| ended > window.from)
        };
        if !self.newer.is_empty() || self.runs().iter().any(|run| run.is_imported() && is_here(run))
        {
            return Ok(FIRST);
        }
        let own = self.runs().iter().filter(|run| !run.is_imported());
        let own: HashSet<i64> = own.map(|run| run.id).collect();
        let mut query =
            self.database.prepare("SELECT id, run, at_ms FROM tick ORDER BY id DESC")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if own.contains(&row.get(1)?) && row.get::<_, i64>(2)? <= window.from.0 {
                return Ok(row.get(0)?);
            }
        }
        Ok(FIRST)
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
                 WHERE tick.id > ?3 AND at_ms >= ?1 AND at_ms < ?2 ORDER BY tick.id",
        )?;
        // One at the very beginning is of the window here.
        let wider = Period::new(UnixMillis(window.from.0.saturating_sub(1)), window.to);
        let mut rows = query.query((window.from.0, window.to.0, self.tick_before(wider)?))?;
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

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::in_memory;

    /// Ticks of a minute each, of the runs in their order: who recorded, from which minute on,
    /// how many, and whether it went back.
    fn recorded(runs: &[(&str, i64, i64, bool)]) -> Connection {
        let database = in_memory().unwrap();
        database.execute_batch("INSERT INTO host VALUES (1, 'h')").unwrap();
        let card = "INSERT INTO card (id, uuid, number) VALUES (1, 'GPU-1', 0)";
        database.execute_batch(card).unwrap();
        let mut tick = 0;
        for (place, (recorder, from, count, goes_back)) in (1_i64..).zip(runs) {
            let run = "INSERT INTO run (id, host, boot, recorder, started_ms, ended_ms, ending,
                           goes_back)
                           VALUES (?1, 1, '', ?2, ?3, ?4, 'stopped', ?5)";
            let end = (from + count - 1) * 60_000;
            database.execute(run, (place, recorder, from * 60_000, end, goes_back)).unwrap();
            for minute in *from..from + count {
                tick += 1;
                let row = "INSERT INTO tick VALUES (?1, ?2, ?3, 60000, NULL)";
                database.execute(row, (tick, place, minute * 60_000)).unwrap();
                let row = "INSERT INTO sample (id, state, utilization, held_kib, holders)
                               VALUES (?1, 0, 5000, 0, 0)";
                database.execute(row, [sample_key::number(tick, 1).unwrap()]).unwrap();
            }
        }
        database
    }

    fn count(history: &History, from: i64, to: i64) -> usize {
        let mut found = 0;
        let window = Period::new(UnixMillis(from * 60_000), UnixMillis(to * 60_000));
        history.samples(window, |_| found += 1).unwrap();
        found
    }

    /// Whatever was imported or recorded anew in between.
    #[test]
    fn every_sample_of_a_window_is_found() {
        let own = ("gua 0.1.0", 100, 50, false);
        for runs in [
            vec![own],
            vec![("gua 0.1.0", 10, 20, false), own],
            vec![own, ("Python gua", 0, 50, false)],
            vec![own, ("Python gua", 120, 5, false), ("gua 0.1.0", 150, 9, false)],
            vec![own, ("gua 0.1.0", 130, 40, true)],
        ] {
            let history = History::of(recorded(&runs)).unwrap();
            for (from, to) in [(0, 200), (140, 150), (149, 300), (20, 30), (99, 100), (160, 170)] {
                let whole = |minute: &i64| *minute > from && *minute <= to;
                let all = runs.iter().flat_map(|(_, from, count, _)| *from..from + count);
                let expected = all.filter(whole).count();
                let found = count(&history, from, to);
                let is_anew = runs.iter().any(|run| run.3);
                assert!(found == expected || is_anew, "{runs:?} {from} {to}: {found}");
            }
        }
    }

    #[test]
    fn not_all_ticks_are_read_for_the_last_of_them() {
        let history = History::of(recorded(&[("gua 0.1.0", 0, 1000, false)])).unwrap();
        let window = Period::new(UnixMillis(995 * 60_000), UnixMillis(2000 * 60_000));
        assert_eq!(history.tick_before(window).unwrap(), 996);
    }
}
