//! Limits of pruning: how much history may be summed up or deleted, and when.
//!
//! The wall clock alone does not prove that rows are old: it may be wrong. What does prove it is
//! recorded time, measured by the monotonic clock. So each day of recording permits two days of history
//! to be deleted, for each kind of row: more than becomes too old meanwhile, so that a backlog shrinks,
//! and too little for a wrong clock to delete a history before somebody notices. At most two days are
//! saved up. After a leap of the clock nothing is deleted during 24 hours of recording. A recorder that
//! was off that long cannot tell the two apart, and waits as well.
//!
//! All of it is saved in the file, so it survives restarts.

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Problem;

const DAY: i64 = 24 * HOUR;

/// Step of the clock from one tick to the next that counts as a leap.
const LEAP_MS: i64 = DAY;

/// Recording that is needed after a leap before anything is deleted.
const WAIT_MS: i64 = DAY;

/// History that may be deleted per recorded time.
const RATE: i64 = 2;

/// Most history that may be saved up.
const MOST_MS: i64 = RATE * DAY;

/// Kinds of rows, each with a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Exact,
    Quarters,
    Hours,
    Samples,
}

/// History that a recorder may delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Wall time of the last tick.
    last: i64,
    wait_ms: i64,
    /// By kind.
    budgets: [i64; 4],
}

impl Allowance {
    /// Reads what was saved. Without it, nothing is proven of a history that ends at `recorded_until`.
    pub fn load(db: &Connection, recorded_until: i64) -> Result<Self, Problem> {
        let sql =
            "SELECT last_ms, wait_ms, exact_ms, quarters_ms, hours_ms, samples_ms FROM allowance";
        let saved = db.query_row(sql, [], |row| {
            let budget =
                |place| Ok::<i64, rusqlite::Error>(row.get::<_, i64>(place)?.clamp(0, MOST_MS));
            Ok(Self {
                last: row.get(0)?,
                wait_ms: row.get::<_, i64>(1)?.clamp(0, WAIT_MS),
                budgets: [budget(2)?, budget(3)?, budget(4)?, budget(5)?],
            })
        });
        let unproven = Self { last: recorded_until, wait_ms: WAIT_MS, budgets: [0; 4] };
        Ok(saved.optional()?.unwrap_or(unproven))
    }

    pub fn save(&self, db: &Connection) -> Result<(), Problem> {
        let [exact, quarters, hours, samples] = self.budgets;
        db.prepare_cached("INSERT OR REPLACE INTO allowance VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute((self.last, self.wait_ms, exact, quarters, hours, samples))?;
        Ok(())
    }

    /// Counts a tick after this much monotonic time. Returns by how much the clock leapt, ahead or back;
    /// 0 if it did not.
    pub fn record(&mut self, now: UnixMillis, recorded_ms: i64) -> i64 {
        let recorded = recorded_ms.max(0);
        let before = std::mem::replace(&mut self.last, now.0);
        self.wait_ms = self.wait_ms.saturating_sub(recorded).max(0);
        for budget in &mut self.budgets {
            *budget = budget.saturating_add(recorded.saturating_mul(RATE)).min(MOST_MS);
        }
        let step = now.0.saturating_sub(before);
        if before == i64::MIN || (-LEAP_MS..=LEAP_MS).contains(&step) {
            return 0;
        }
        if step > 0 {
            self.wait_ms = WAIT_MS;
        }
        step.saturating_sub(recorded)
    }

    /// Pays for one hour of history of a kind. Returns false if it may not be deleted yet.
    pub fn pay_hour(&mut self, kind: Kind) -> bool {
        let budget = &mut self.budgets[kind as usize];
        let may = self.wait_ms == 0 && *budget >= HOUR;
        if may {
            *budget -= HOUR;
        }
        may
    }

    /// Returns the wall time of the last tick.
    pub const fn last(&self) -> i64 {
        self.last
    }

    /// Returns the recording that is needed before anything is deleted, in milliseconds.
    pub const fn wait_ms(&self) -> i64 {
        self.wait_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    fn hours_paid(allowance: &mut Allowance) -> i64 {
        (0..).take_while(|_| allowance.pay_hour(Kind::Hours)).count().try_into().unwrap()
    }

    #[test]
    fn two_days_of_history_per_day_of_recording() {
        let db = Database::in_memory().unwrap().connection;
        let mut allowance = Allowance::load(&db, i64::MIN).unwrap();
        let mut now = 20_000 * DAY;
        allowance.record(UnixMillis(now), 0);
        let mut record = |allowance: &mut Allowance, hours: i64| {
            for _ in 0..hours {
                now += HOUR;
                allowance.record(UnixMillis(now), HOUR);
            }
        };
        record(&mut allowance, 23);
        assert_eq!(hours_paid(&mut allowance), 0, "nothing is proven yet");
        record(&mut allowance, 1);
        assert_eq!(hours_paid(&mut allowance), 48);
        record(&mut allowance, 3);
        allowance.save(&db).unwrap();
        assert_eq!(Allowance::load(&db, 0).unwrap(), allowance, "it survives a restart");
        assert_eq!(hours_paid(&mut allowance), 6);
        record(&mut allowance, 99);
        assert_eq!(hours_paid(&mut allowance), 48, "no more is saved up");
    }

    /// Trap: the clock leapt ahead.
    #[test]
    fn clock_that_leapt_ahead_stops_pruning_for_a_day_of_recording() {
        let db = Database::in_memory().unwrap().connection;
        let mut allowance = Allowance::load(&db, 0).unwrap();
        allowance.record(UnixMillis(DAY), DAY);
        assert!(allowance.clone().pay_hour(Kind::Exact));
        assert_eq!(allowance.record(UnixMillis(502 * DAY), 30_000), 501 * DAY - 30_000);
        assert!(!allowance.pay_hour(Kind::Exact));
        assert_eq!(allowance.wait_ms(), DAY);
        assert_eq!(allowance.record(UnixMillis(502 * DAY + HOUR), HOUR), 0);
        assert!(!allowance.pay_hour(Kind::Exact));
        allowance.record(UnixMillis(503 * DAY), 23 * HOUR);
        assert!(allowance.pay_hour(Kind::Exact));
    }
}
