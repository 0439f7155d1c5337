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
        Self::new(database, "counters", "gua.counters/3")
    }
}

impl Counted {
    /// For who reads a history that nobody has counted: all of it, while its first tick is still
    /// there. Once that is pruned, the sum would be another one at every start, so it is the
    /// newest run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_the_history(
        history: &History,
        now: UnixMillis,
        wanted: &Wanted,
    ) -> Result<Self, StoreError> {
        let first = history.ticks_after(0, 1)?.into_iter().next();
        match first.filter(|first| first.tick == 1) {
            Some(first) => Ok(Self::beginning_with(Some(&first), now, wanted)),
            None => Self::of_the_newest_run(history, now, wanted),
        }
    }

    /// For who counts where nothing was kept, or it was lost: only what is recorded from here on.
    ///
    /// Counters that are made again from a history come out a little other than those that were
    /// seen, as it tells the memory of who works roughly. Who scrapes takes a lower one for one
    /// that began at 0 again, and adds all of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_the_newest_run(
        history: &History,
        now: UnixMillis,
        wanted: &Wanted,
    ) -> Result<Self, StoreError> {
        Ok(Self::beginning_with(history.first_tick_of_newest_run()?.as_ref(), now, wanted))
    }

    /// They are at nothing where the time of the first tick begins; now, where there is none.
    fn beginning_with(first: Option<&Replayed>, now: UnixMillis, wanted: &Wanted) -> Self {
        let counters = Counters::beginning(first.map_or(now, |it| it.entry.covers.from));
        let mut counted = Self { tick: 0, at_millis: 0, counters };
        if let Some(Replayed { tick, entry, .. }) = first {
            counted.count(*tick, Observed { entry, events: &[], took: None }, wanted);
        }
        counted
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

    /// Counts the next ticks of a history; gives them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn go_on(
        &mut self,
        history: &History,
        wanted: &Wanted,
    ) -> Result<Vec<Replayed>, StoreError> {
        let ticks = history.ticks_after(self.place(history)?, AT_ONCE)?;
        for Replayed { tick, entry, events, .. } in &ticks {
            self.count(*tick, Observed { entry, events, took: None }, wanted);
        }
        Ok(ticks)
    }

    /// Counts all of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn catch_up(&mut self, history: &History, wanted: &Wanted) -> Result<(), StoreError> {
        while !self.go_on(history, wanted)?.is_empty() {}
        Ok(())
    }
}
