//! Limits of automatic pruning: how much history a recorder may delete by itself, and when.
//!
//! The wall clock alone does not prove that rows are old: it may be wrong, at a start and over
//! restarts. What does prove it is time that was recorded, which is measured by the monotonic
//! clock. So each day of recording permits two days of history to be deleted, of samples and of
//! spans each: more than becomes too old meanwhile, so that a backlog shrinks, and too little
//! for a wrong clock to delete a history before somebody notices. No more than two days are
//! saved up. After a leap of the clock nothing is deleted during 24 hours of recording; a
//! recorder that was off that long cannot tell the two apart, and waits as well.
//!
//! All of it is saved in the database and thus survives restarts.

use std::fmt;

use jiff::Unit;
use probe::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use super::error::StoreError;
use super::run::last_moment;
use crate::calendar::nearest;
use crate::ledger::{HOUR, Period};

const DAY: i64 = 24 * HOUR;

/// Step of the clock from one record to the next that counts as a leap.
pub const LEAP_MILLIS: i64 = DAY;

/// Recording that is needed after a leap before anything is deleted.
const WAIT: i64 = DAY;

/// History that may be deleted per time recorded.
const RATE: i64 = 2;

/// The most history that may be deleted at once.
pub const MOST_AT_ONCE_MILLIS: i64 = RATE * DAY;

/// Rows that are older than what is kept: the time from the oldest on, `None` where there are
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Due {
    pub samples: Option<Period>,
    pub spans: Option<Period>,
}

impl Due {
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.samples.is_none() && self.spans.is_none()
    }

    /// Returns the rows of it that are not permitted to be deleted.
    pub(super) fn without(self, permitted: &Self) -> Self {
        Self {
            samples: self.samples.filter(|_| permitted.samples.is_none()),
            spans: self.spans.filter(|_| permitted.spans.is_none()),
        }
    }
}

/// `samples from 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z, spans from …`
impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = |at: UnixMillis| {
            let at = nearest(at);
            at.round(Unit::Second).unwrap_or(at)
        };
        let parts = [("samples", self.samples), ("spans", self.spans)];
        let parts = parts.into_iter().filter_map(|(what, period)| Some((what, period?)));
        for (place, (what, Period { from, to })) in parts.enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{what} from {} to {}", moment(from), moment(to))?;
        }
        Ok(())
    }
}

/// History of one kind that may be deleted, an hour at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Budget {
    millis: i64,
    /// The hour that is being deleted and is paid for.
    paid: Option<i64>,
}

impl Budget {
    fn earn(&mut self, millis: i64) {
        self.millis = self.millis.saturating_add(millis).min(MOST_AT_ONCE_MILLIS);
    }

    /// Returns the part of `due` that may be deleted now: the oldest hour.
    fn permit(&mut self, due: Option<Period>) -> Option<Period> {
        let due = due?;
        let hour = due.from.0.div_euclid(HOUR);
        if self.paid != Some(hour) {
            if self.millis < HOUR {
                return None;
            }
            self.millis -= HOUR;
            self.paid = Some(hour);
        }
        let end = UnixMillis((hour + 1).saturating_mul(HOUR));
        Some(Period::new(due.from, end.min(due.to)))
    }
}

/// History that a recorder may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Wall time of the last record.
    last: Option<UnixMillis>,
    /// Recording that is still needed before anything may be deleted.
    wait: i64,
    samples: Budget,
    spans: Budget,
}

impl Allowance {
    /// Nothing is proven yet of a history that ends at `last`.
    const fn unproven(last: Option<UnixMillis>) -> Self {
        let none = Budget { millis: 0, paid: None };
        Self { last, wait: WAIT, samples: none, spans: none }
    }

    /// Reads what was saved in a database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(database: &Connection) -> Result<Self, StoreError> {
        let saved = database
            .query_row("SELECT last_ms, wait_ms, samples_ms, spans_ms FROM pruning", [], |row| {
                let budget = |millis: i64| Budget {
                    millis: millis.clamp(0, MOST_AT_ONCE_MILLIS),
                    paid: None,
                };
                Ok(Self {
                    last: Some(UnixMillis(row.get(0)?)),
                    wait: row.get::<_, i64>(1)?.clamp(0, WAIT),
                    samples: budget(row.get(2)?),
                    spans: budget(row.get(3)?),
                })
            })
            .optional()?;
        match saved {
            Some(saved) => Ok(saved),
            None => Ok(Self::unproven(last_moment(database)?)),
        }
    }

    /// Saves it for the next recorder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, database: &Connection) -> Result<(), StoreError> {
        let Some(last) = self.last else { return Ok(()) };
        database
            .prepare_cached(
                "INSERT OR REPLACE INTO pruning (id, last_ms, wait_ms, samples_ms, spans_ms)
                     VALUES (1, ?1, ?2, ?3, ?4)",
            )?
            .execute((last.0, self.wait, self.samples.millis, self.spans.millis))?;
        Ok(())
    }

    /// Counts a record at `now` that covers this much monotonic time. Returns by how much the
    /// clock is ahead of the record before, if that is a leap.
    pub fn recorded(&mut self, now: UnixMillis, covered_millis: i64) -> Option<i64> {
        let covered = covered_millis.max(0);
        let before = self.last.replace(now);
        self.wait = self.wait.saturating_sub(covered).max(0);
        self.samples.earn(covered.saturating_mul(RATE));
        self.spans.earn(covered.saturating_mul(RATE));
        let ahead = now.0.saturating_sub(before?.0);
        (ahead > LEAP_MILLIS).then(|| {
            self.wait = WAIT;
            ahead
        })
    }

    /// Recording that is still needed before anything may be deleted.
    #[must_use]
    pub const fn wait_millis(&self) -> i64 {
        self.wait
    }

    /// The part of what is due that may be deleted now. It is paid for with this call.
    pub fn permit(&mut self, due: &Due) -> Due {
        if self.wait > 0 {
            return Due::default();
        }
        Due { samples: self.samples.permit(due.samples), spans: self.spans.permit(due.spans) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::in_memory;

    const MINUTE: i64 = HOUR / 60;
    const KEPT: i64 = 30 * DAY;

    /// A history of one kind, whole from `oldest` to `now`, and its recorder.
    struct Simulated {
        database: Connection,
        allowance: Allowance,
        oldest: i64,
        now: i64,
    }

    impl Simulated {
        fn with_days(days: i64) -> Self {
            let now = 20_000 * DAY;
            let database = in_memory().unwrap();
            let mut allowance = Allowance::load(&database).unwrap();
            allowance.recorded(UnixMillis(now), 0);
            Self { database, allowance, oldest: now - days * DAY, now }
        }

        fn due(&self) -> Due {
            let cut = (self.now - KEPT).div_euclid(HOUR) * HOUR;
            let due =
                (self.oldest < cut).then(|| Period::new(UnixMillis(self.oldest), UnixMillis(cut)));
            Due { samples: due, spans: None }
        }

        fn prune(&mut self) {
            while let Some(hour) = self.allowance.permit(&self.due()).samples {
                self.oldest = hour.to.0;
            }
        }

        /// Records and prunes every ten minutes; returns the history deleted.
        fn record(&mut self, millis: i64) -> i64 {
            let before = self.oldest;
            for _ in 0..millis / (10 * MINUTE) {
                self.now += 10 * MINUTE;
                self.allowance.recorded(UnixMillis(self.now), 10 * MINUTE);
                self.prune();
            }
            self.oldest - before
        }

        /// Ends the recorder and starts another, which covers no time with its first record.
        fn restart(&mut self) {
            self.allowance.save(&self.database).unwrap();
            self.allowance = Allowance::load(&self.database).unwrap();
            self.allowance.recorded(UnixMillis(self.now), 0);
            self.prune();
        }
    }

    #[test]
    fn backlog_shrinks_by_two_days_per_day() {
        let mut history = Simulated::with_days(90);
        assert_eq!(history.record(DAY - 10 * MINUTE), 0);
        // The first day has earned two days; then each does.
        assert_eq!(history.record(10 * MINUTE), 2 * DAY);
        for _ in 0..10 {
            assert_eq!(history.record(DAY), 2 * DAY);
        }
        history.record(60 * DAY);
        assert_eq!(history.now - history.oldest, KEPT);
        assert_eq!(history.record(DAY), DAY);
    }

    #[test]
    fn restarts_neither_stop_pruning_nor_speed_it_up() {
        for between in [HOUR, DAY] {
            let mut history = Simulated::with_days(90);
            let mut deleted = 0;
            for number in 1..=365 * DAY / between {
                deleted += history.record(between);
                history.restart();
                assert!(deleted <= RATE * number * between, "{between} {number}");
            }
            assert!(history.now - history.oldest <= KEPT + HOUR, "{between}");
        }
    }

    #[test]
    fn wrong_clock_deletes_nothing_for_a_day_of_recording() {
        let mut history = Simulated::with_days(30);
        history.record(60 * DAY);
        let oldest = history.oldest;
        history.now += 500 * DAY;
        assert_eq!(history.allowance.recorded(UnixMillis(history.now), 0), Some(500 * DAY));
        // Restarts at the wrong time are no leap, and the wait goes on.
        for _ in 0..23 {
            history.restart();
            history.record(HOUR);
        }
        assert_eq!(history.oldest, oldest);
        assert_eq!(history.allowance.wait_millis(), HOUR);
        // What was saved up in two months is two days.
        assert_eq!(history.record(HOUR), 2 * DAY);
        assert_eq!(history.record(DAY), 2 * DAY);
    }

    /// Each start is within a day of the record before, so none is a leap.
    #[test]
    fn many_small_steps_ahead_delete_no_more() {
        let mut history = Simulated::with_days(90);
        history.record(60 * DAY);
        let oldest = history.oldest;
        for _ in 0..100 {
            history.now += 23 * HOUR;
            history.restart();
            history.record(10 * MINUTE);
        }
        let recorded = 100 * 10 * MINUTE;
        let deleted = history.oldest - oldest;
        assert!(deleted <= MOST_AT_ONCE_MILLIS + RATE * recorded, "{deleted}");
    }

    #[test]
    fn clock_set_back_is_no_leap() {
        let mut history = Simulated::with_days(10);
        history.record(2 * DAY);
        assert_eq!(history.allowance.recorded(UnixMillis(history.now - 500 * DAY), 0), None);
        assert_eq!(history.allowance.wait_millis(), 0);
        // The way back to the right time is one.
        assert_eq!(history.allowance.recorded(UnixMillis(history.now), 0), Some(500 * DAY));
    }

    /// Time in which nothing was recorded costs nothing: the next oldest hour is paid for.
    #[test]
    fn gaps_in_a_history_are_free() {
        let mut budget = Budget { millis: 2 * HOUR, paid: None };
        let due = |from: i64| Some(Period::new(UnixMillis(from), UnixMillis(900 * DAY)));
        assert_eq!(budget.permit(due(5)).unwrap().to, UnixMillis(HOUR));
        assert_eq!(budget.permit(due(6)).unwrap().to, UnixMillis(HOUR), "paid already");
        assert_eq!(budget.permit(due(300 * DAY)).unwrap().to, UnixMillis(300 * DAY + HOUR));
        assert_eq!(budget.permit(due(301 * DAY)), None);
    }

    /// Saved figures that no recorder has written permit no more than usual.
    #[test]
    fn damaged_figures_are_bounded() {
        let database = in_memory().unwrap();
        let fresh = Allowance::load(&database).unwrap();
        assert_eq!(fresh, Allowance::unproven(None));
        let damaged = format!("INSERT INTO pruning VALUES (1, 0, -1, {}, -1)", i64::MAX);
        database.execute_batch(&damaged).unwrap();
        let read = Allowance::load(&database).unwrap();
        assert_eq!((read.wait, read.spans.millis), (0, 0));
        assert_eq!(read.samples.millis, MOST_AT_ONCE_MILLIS);
    }
}
