//! When to take out what is too old: a little, every hour, by a clock that can be trusted.

use probe::units::UnixMillis;

use crate::ledger::HOUR;
use crate::store::{Keep, Retention, StoreError, Writer};

/// Rows at a time, so that a tick does not wait for long.
const MOST_ROWS: usize = 500;

/// A clock that is suddenly this far ahead may be wrong, and what it calls old is not.
const LEAP: i64 = 24 * HOUR;

/// For so long it has to stay there before it is believed.
const PROBATION: i64 = 24 * HOUR;

/// A start is busy enough, and nothing grows much in so short a time.
const AFTER_START: i64 = HOUR / 6;

/// Keeps a history from growing without end.
#[derive(Debug)]
pub(super) struct Pruning {
    retention: Retention,
    /// When to look again whether something is too old.
    next: UnixMillis,
    last: Option<UnixMillis>,
}

impl Pruning {
    pub const fn new(keep: Keep) -> Self {
        Self { retention: Retention::new(keep), next: UnixMillis(i64::MAX), last: None }
    }

    /// After a tick at this time. `recorded_until` is the end of what was there before.
    pub fn step(
        &mut self,
        writer: &mut Writer,
        now: UnixMillis,
        recorded_until: Option<UnixMillis>,
    ) -> Result<(), StoreError> {
        if self.last.is_none() {
            self.next = UnixMillis(now.0.saturating_add(AFTER_START));
        }
        let before = self.last.replace(now).or(recorded_until);
        if before.is_some_and(|before| now.0.saturating_sub(before.0) > LEAP) {
            self.next = UnixMillis(now.0.saturating_add(PROBATION));
        }
        if before.is_some_and(|before| now < before) {
            // Set back: what is due is due by the new time.
            self.next = self.next.min(UnixMillis(now.0.saturating_add(HOUR)));
        }
        if now < self.next {
            return Ok(());
        }
        let step = writer.retain(&mut self.retention, now, MOST_ROWS)?;
        if !step.more {
            self.next = UnixMillis(now.0.saturating_add(HOUR));
        }
        Ok(())
    }
}
