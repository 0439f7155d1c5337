//! Frames from a history that somebody else records.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::counted::{Counted, CountersFile};
use super::slot::{Frames, NotReady, Scraper, Served, Shown};
use crate::ledger::Entry;
use crate::metrics::{Frame, Host, Wanted};
use crate::store::{History, Replayed, StoreError};
use crate::talk::say;

/// How long a scrape is kept waiting while a long history is counted; the next one goes on.
const LONGEST_COUNT: Duration = Duration::from_secs(2);

/// Follows a history, tick by tick, whenever somebody asks. Nothing is written.
///
/// It goes on from the counters that the recorder keeps, else from the first tick, or that of the
/// newest run where the first is pruned.
#[derive(Debug)]
pub struct Recorded {
    database: PathBuf,
    wanted: Wanted,
    following: Mutex<Option<Following>>,
    served: Served,
}

struct Following {
    counted: Counted,
    newest: Option<(Host, Entry)>,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").field("tick", &self.counted.tick).finish_non_exhaustive()
    }
}

impl Recorded {
    #[must_use]
    pub fn new(database: PathBuf, wanted: Wanted) -> Self {
        Self { database, wanted, following: Mutex::new(None), served: Served::default() }
    }

    /// Counts what is there already, so that who asks first need not wait for all of it.
    pub fn count_ahead(&self) {
        while matches!(self.follow(), Err(NotReady::CatchingUp { .. })) {
            // Who asks meanwhile has a turn.
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn follow(&self) -> Result<Arc<Frame>, NotReady> {
        let history = History::open(&self.database)?;
        let mut place = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        let mut following = match place.take() {
            Some(following) => following,
            None => self.begin(&history)?,
        };
        let went_on = following.go_on(&history, &wanted_of(&history, self.wanted));
        let frame = went_on.and_then(|()| following.show(&history));
        *place = Some(following);
        frame
    }

    fn begin(&self, history: &History) -> Result<Following, StoreError> {
        let file = CountersFile::of(&self.database);
        let kept = file.load().unwrap_or_else(|error| {
            let path = file.path().display();
            say(format_args!("{path} cannot be read: {error}; the history is counted instead"));
            None
        });
        let wanted = wanted_of(history, self.wanted);
        let now = SystemTime::now().into();
        let counted = kept.map_or_else(|| Counted::of_the_history(history, now, &wanted), Ok)?;
        Ok(Following { counted, newest: None })
    }
}

impl Frames for Recorded {
    fn newest(&self, scraper: &Scraper) -> Result<Shown, NotReady> {
        let frame = self.follow()?;
        Ok(Shown { served: self.served.next(scraper, frame.counters.ticks), frame })
    }
}

impl Following {
    fn go_on(&mut self, history: &History, wanted: &Wanted) -> Result<(), NotReady> {
        let begun = Instant::now();
        loop {
            let ticks = self.counted.go_on(history, wanted)?;
            let Some(Replayed { entry, driver, .. }) = ticks.into_iter().next_back() else {
                return Ok(());
            };
            self.newest = Some((host(history, driver), entry));
            if begun.elapsed() > LONGEST_COUNT {
                return Err(NotReady::CatchingUp { ticks: self.counted.counters.ticks });
            }
        }
    }

    fn show(&self, history: &History) -> Result<Arc<Frame>, NotReady> {
        let counters = self.counted.counters.clone();
        let frame = match &self.newest {
            Some((host, entry)) => Frame::new(host.clone(), counters, entry),
            // Everything was counted by the recorder already: its last tick is looked at again.
            None => {
                let before = history.ticks_after(self.counted.tick - 1, 1)?;
                let last = before.into_iter().next();
                let Replayed { entry, driver, .. } = last.ok_or(NotReady::NoTick)?;
                Frame::new(host(history, driver), counters, &entry)
            }
        };
        Ok(Arc::new(frame))
    }
}

/// Who records may look at another beat than is in force here.
fn wanted_of(history: &History, mut wanted: Wanted) -> Wanted {
    let millis = history.newest_run().and_then(|run| run.interval_millis);
    if let Some(millis) = millis.and_then(|millis| u64::try_from(millis).ok()) {
        wanted.beat.interval = Duration::from_millis(millis);
    }
    wanted
}

fn host(history: &History, driver_version: Option<String>) -> Host {
    let run = history.newest_run();
    let name = run.map_or_else(String::new, |run| run.host.clone());
    Host { name, driver_version, interval_millis: run.and_then(|run| run.interval_millis) }
}
