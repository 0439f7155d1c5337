//! Frames from a history that somebody else records.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use probe::units::UnixMillis;

use super::file::CountersFile;
use super::slot::{Frames, NotReady, Shown};
use crate::ledger::Entry;
use crate::metrics::{Counters, Frame, Host, Observed, Wanted};
use crate::store::{History, Replayed, StoreError};

/// How many ticks are read at once.
const AT_ONCE: usize = 500;

const DAY: i64 = 86_400_000;

/// Follows a history, tick by tick, whenever somebody asks. Nothing is written.
///
/// It goes on from the counters that the recorder keeps. Where it keeps none, they begin anew at
/// every midnight of UTC: whoever follows the history then counts the same, also after a restart.
#[derive(Debug)]
pub struct Recorded {
    database: PathBuf,
    wanted: Wanted,
    following: Mutex<Option<Following>>,
}

struct Following {
    counters: Counters,
    tick: i64,
    /// Whether they begin anew every day.
    by_day: bool,
    newest: Option<(Host, Entry)>,
    served: u64,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").field("tick", &self.tick).finish_non_exhaustive()
    }
}

impl Recorded {
    #[must_use]
    pub const fn new(database: PathBuf, wanted: Wanted) -> Self {
        Self { database, wanted, following: Mutex::new(None) }
    }

    fn follow(&self) -> Result<Shown, NotReady> {
        let unreadable = |error: StoreError| NotReady::Unreadable(error.to_string());
        let history = History::open(&self.database).map_err(unreadable)?;
        let mut place = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        let mut following = match place.take() {
            Some(following) => following,
            None => self.begin(&history).map_err(unreadable)?,
        };
        following.go_on(&history, &self.wanted).map_err(unreadable)?;
        let shown = following.show(&history);
        *place = Some(following);
        shown
    }

    fn begin(&self, history: &History) -> Result<Following, StoreError> {
        // Without counters of the recorder, or with some that cannot be read, they are our own.
        let kept = CountersFile::beside(&self.database).load().ok().flatten();
        if let Some((counters, last)) = kept.and_then(|it| it.last_millis.map(|last| (it, last))) {
            let served = u64::MAX;
            let tick = history.tick_at(UnixMillis(last))?;
            return Ok(Following { counters, tick, by_day: false, newest: None, served });
        }
        let newest = history.newest_tick()?.map_or(0, |newest| newest.0);
        let midnight = UnixMillis(newest.div_euclid(DAY) * DAY);
        let counters = Counters::beginning(midnight);
        let tick = history.tick_at(midnight)?;
        Ok(Following { counters, tick, by_day: true, newest: None, served: u64::MAX })
    }
}

impl Frames for Recorded {
    fn newest(&self) -> Result<Shown, NotReady> {
        self.follow()
    }
}

impl Following {
    fn go_on(&mut self, history: &History, wanted: &Wanted) -> Result<(), StoreError> {
        loop {
            let ticks = history.ticks_after(self.tick, AT_ONCE)?;
            if ticks.is_empty() {
                return Ok(());
            }
            for tick in ticks {
                self.count(tick, history, wanted);
            }
        }
    }

    fn count(&mut self, tick: Replayed, history: &History, wanted: &Wanted) {
        let Replayed { tick, entry, events, driver } = tick;
        let midnight = entry.at.0.div_euclid(DAY) * DAY;
        if self.by_day && midnight > self.counters.since_millis {
            self.counters = Counters::beginning(UnixMillis(midnight));
        }
        self.counters.count(Observed { entry: &entry, events: &events, took: None }, wanted);
        self.tick = tick;
        let name = history.newest_run().map_or_else(String::new, |run| run.host.clone());
        self.newest = Some((Host { name, driver_version: driver }, entry));
    }

    fn show(&mut self, history: &History) -> Result<Shown, NotReady> {
        let counters = self.counters.clone();
        let served = std::mem::replace(&mut self.served, counters.ticks);
        let frame = match &self.newest {
            Some((host, entry)) => Frame::new(host.clone(), counters, entry),
            // Everything was counted by the recorder already: its last tick is looked at again.
            None => {
                let before = history.ticks_after(self.tick - 1, 1);
                let last = before.ok().and_then(|ticks| ticks.into_iter().next());
                let Replayed { entry, driver, .. } = last.ok_or(NotReady::NoTick)?;
                let name = history.newest_run().map_or_else(String::new, |run| run.host.clone());
                Frame::new(Host { name, driver_version: driver }, counters, &entry)
            }
        };
        Ok(Shown { frame: Arc::new(frame), served })
    }
}
