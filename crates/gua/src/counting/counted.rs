//! What was counted of a history, and up to where.

use std::path::Path;

use probe::units::UnixMillis;
use serde::{Deserialize, Serialize};

use super::beside::Beside;
use crate::metrics::{Counters, Observed, Wanted};
use crate::store::{History, Replayed, StoreError};

/// How many ticks are read at once.
const AT_ONCE: usize = 500;

/// Counters, with the last tick that they hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// 0 for none.
    pub tick: i64,
    /// When that was, by which it is known in a database that was replaced.
    pub at_millis: i64,
    pub counters: Counters,
}

/// The counters that a recorder keeps, in `gua-counters.json` beside `gua.db`.
///
/// Not in it: what is pruned there, or judged anew after a clock was set back, must not make a
/// counter go back, and a second writer must not make a tick wait.
pub type CountersFile = Beside<Counted>;

impl CountersFile {
    #[must_use]
    pub fn of(database: &Path) -> Self {
        Self::new(database, "counters", "gua.counters/2")
    }
}

impl Counted {
    /// Nothing yet of a history: its first tick that is still there is the next.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn beginning(history: &History, now: UnixMillis) -> Result<Self, StoreError> {
        let first = history.ticks_after(0, 1)?.into_iter().next();
        let since = first.map_or(now, |first| first.entry.covers.from);
        Ok(Self { tick: 0, at_millis: 0, counters: Counters::beginning(since) })
    }

    /// Where it is in this history. A database that was replaced has other numbers: what is
    /// newer than the last one is next there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn place(&self, history: &History) -> Result<i64, StoreError> {
        match history.time_of_tick(self.tick)? {
            Some(at) if at.0 == self.at_millis => Ok(self.tick),
            _ if self.tick == 0 => Ok(0),
            _ => history.tick_at(UnixMillis(self.at_millis)),
        }
    }

    pub fn count(&mut self, tick: i64, observed: Observed<'_>, wanted: &Wanted) {
        self.counters.count(observed, wanted);
        (self.tick, self.at_millis) = (tick, observed.entry.at.0);
    }

    /// Counts the next ticks of a history, up to one that is not counted any more; gives them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn go_on(
        &mut self,
        history: &History,
        before: Option<i64>,
        wanted: &Wanted,
    ) -> Result<Vec<Replayed>, StoreError> {
        let mut ticks = history.ticks_after(self.place(history)?, AT_ONCE)?;
        ticks.retain(|tick| before.is_none_or(|before| tick.tick < before));
        for Replayed { tick, entry, events, .. } in &ticks {
            self.count(*tick, Observed { entry, events, took: None }, wanted);
        }
        Ok(ticks)
    }

    /// Counts all of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn catch_up(
        &mut self,
        history: &History,
        before: Option<i64>,
        wanted: &Wanted,
    ) -> Result<(), StoreError> {
        while !self.go_on(history, before, wanted)?.is_empty() {}
        Ok(())
    }
}
