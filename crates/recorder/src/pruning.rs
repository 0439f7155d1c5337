//! When to delete rows that are too old: some after each tick, in hourly rounds.

use std::collections::BTreeMap;
use std::mem;

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_store::{Pruned, Retention, StoreError, Writer};

use crate::log::Log;

/// Rows deleted after one tick, so that the next one is not late.
const MOST_ROWS: usize = 500;

/// Recording between two rounds.
const PAUSE_MS: i64 = HOUR;

/// Recording before the first round: a start is busy enough.
const FIRST_PAUSE_MS: i64 = HOUR / 6;

/// Prunes a database while it is recorded into.
#[derive(Debug)]
pub(crate) struct Pruning {
    retention: Retention,
    /// Recording left until the next round.
    pause_ms: i64,
    /// Deleted rows that are not logged yet.
    deleted: BTreeMap<&'static str, usize>,
    /// Last notice about rows that may not be deleted yet; `None` if there are none.
    notice: Option<Notice>,
    /// Recording that was needed, at the last step, before anything may be deleted.
    wait_ms: i64,
    /// Wall time of the last step.
    last: Option<UnixMillis>,
}

/// Reason why rows that are too old are not deleted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    ClockMayBeWrong,
    AllowanceUsedUp,
}

impl Pruning {
    /// Returns the pruning of a database. `recorded` is the end of what is in it.
    pub const fn new(retention: Retention, recorded: Option<UnixMillis>) -> Self {
        let deleted = BTreeMap::new();
        Self {
            retention,
            pause_ms: FIRST_PAUSE_MS,
            deleted,
            notice: None,
            wait_ms: 0,
            last: recorded,
        }
    }

    /// Prunes after a tick that was stored at `now`.
    pub fn step(
        &mut self,
        writer: &mut Writer,
        now: UnixMillis,
        recorded_ms: i64,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let last = self.last.replace(now);
        let wait_ms = writer.prune_wait_ms();
        // It grows only if the clock leapt, also between two runs.
        let has_leapt = wait_ms > mem::replace(&mut self.wait_ms, wait_ms);
        self.pause_ms -= recorded_ms;
        if self.pause_ms > 0 && !has_leapt {
            return Ok(());
        }
        let pruned = writer.prune(&self.retention, MOST_ROWS)?;
        for (table, rows) in &pruned.rows {
            *self.deleted.entry(table).or_default() += rows;
        }
        if pruned.is_partial {
            return Ok(());
        }
        self.pause_ms = PAUSE_MS;
        self.log_deleted(log);
        if has_leapt {
            self.notice = None;
        }
        let ahead = last.filter(|_| has_leapt).map(|last| now.0.saturating_sub(last.0));
        self.log_held_back(&pruned, ahead, log);
        Ok(())
    }

    /// Logs the rows that were deleted since the last call.
    pub fn log_deleted(&mut self, log: &mut Log) {
        let deleted = mem::take(&mut self.deleted);
        let rows: Vec<_> = deleted.iter().map(|(table, rows)| format!("{table} {rows}")).collect();
        if !rows.is_empty() {
            log.write(&format!("pruned rows: {}", rows.join(", ")));
        }
    }

    /// Logs, once, why rows that are too old are still there.
    fn log_held_back(&mut self, pruned: &Pruned, ahead_ms: Option<i64>, log: &mut Log) {
        let notice = pruned.is_held_back.then_some(match pruned.wait_ms {
            0 => Notice::AllowanceUsedUp,
            _ => Notice::ClockMayBeWrong,
        });
        if notice == mem::replace(&mut self.notice, notice) {
            return;
        }
        match notice {
            Some(Notice::ClockMayBeWrong) => {
                let hours = (pruned.wait_ms + HOUR - 1) / HOUR;
                let days = ahead_ms.map_or(0, |ahead| ahead / (24 * HOUR));
                let ahead = match days {
                    0 => String::new(),
                    days => format!(" (it is {days} days ahead of the last record)"),
                };
                log.write(&format!(
                    "pruning waits for {hours} h of recording, as the clock may be wrong{ahead}; \
                     if it is right, `gua db prune --yes` deletes what is too old now"
                ));
            }
            Some(Notice::AllowanceUsedUp) => log.write(
                "pruning goes on later: at most two days of history per day of recording are deleted",
            ),
            None => {}
        }
    }
}
