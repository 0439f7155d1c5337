//! Counts every tick that is stored, keeps the counters and shows them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::beside::Care;
use super::counted::{Counted, CountersFile};
use super::losses::Losses;
use super::slot::Slot;
use crate::ledger::{Entry, Event};
use crate::metrics::{Counters, Frame, Host, Observed, Wanted};
use crate::recorder::Witness;
use crate::store::{History, StoreError};

/// The recorder's witness. What it counted is in a file before anybody sees it, so that it goes
/// on from there.
///
/// Runs that nobody listened to have left ticks without counting them. Those are counted first,
/// on a thread of its own, and what is stored meanwhile waits: no tick does.
#[derive(Debug)]
pub struct Keeper {
    desk: Arc<Mutex<Desk>>,
    slot: Arc<Slot>,
    database: PathBuf,
    has_begun: bool,
    say: Say,
}

/// Hears what there is to say.
#[derive(Clone)]
struct Say(Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Say")
    }
}

/// What is counted with.
#[derive(Debug)]
struct Desk {
    /// `None` until everything before is counted.
    counted: Option<Counted>,
    waiting: Vec<Stored>,
    file: CountersFile,
    host: Host,
    wanted: Wanted,
    losses: Arc<Losses>,
    slot: Arc<Slot>,
    /// Whether that the counters cannot be kept was told already.
    has_failed: bool,
}

/// A tick that waits to be counted.
#[derive(Debug)]
struct Stored {
    tick: i64,
    entry: Entry,
    events: Vec<Event>,
    took: Option<Duration>,
}

impl Keeper {
    /// For a database and this host. `say` hears what goes wrong with what was counted before.
    #[must_use]
    pub fn new(
        database: PathBuf,
        host: Host,
        wanted: Wanted,
        losses: Arc<Losses>,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let slot = Arc::new(Slot::new());
        let desk = Desk {
            counted: None,
            waiting: Vec::new(),
            file: CountersFile::of(&database),
            slot: Arc::clone(&slot),
            host,
            wanted,
            losses,
            has_failed: false,
        };
        let desk = Arc::new(Mutex::new(desk));
        Self { desk, slot, database, has_begun: false, say: Say(Arc::new(say)) }
    }

    /// Where the frames can be had.
    #[must_use]
    pub fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }

    /// Counts what is there before this tick.
    fn begin(&self, before: i64) {
        let (desk, database, say) =
            (Arc::clone(&self.desk), self.database.clone(), self.say.clone());
        let (file, wanted) = {
            let desk = lock(&self.desk);
            (desk.file.clone(), desk.wanted)
        };
        let count = move || {
            let kept = file.load_or_set_aside(|words| (say.0)(words));
            let counted = up_to(before, kept, &database, &wanted).unwrap_or_else(|error| {
                (say.0)(&format!("what is recorded cannot be counted: {error}; it begins anew"));
                let counters = Counters::beginning(std::time::SystemTime::now().into());
                Counted { tick: 0, at_millis: 0, counters }
            });
            if let Some(words) = lock(&desk).take_over(counted) {
                (say.0)(&words);
            }
        };
        if let Err(error) = thread::Builder::new().name("count".into()).spawn(count) {
            (self.say.0)(&format!("nothing can be counted: no thread can be had: {error}"));
        }
    }
}

/// What was kept, and what a history has besides before this tick.
fn up_to(
    before: i64,
    kept: Option<Counted>,
    database: &std::path::Path,
    wanted: &Wanted,
) -> Result<Counted, StoreError> {
    let history = History::open_beside_the_writer(database)?;
    let now = std::time::SystemTime::now().into();
    let mut counted = kept.map_or_else(|| Counted::beginning(&history, now), Ok)?;
    counted.catch_up(&history, Some(before), wanted)?;
    Ok(counted)
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Witness for Keeper {
    fn stored(
        &mut self,
        tick: i64,
        observed: Observed<'_>,
        driver_version: Option<&str>,
    ) -> Option<String> {
        self.slot.stored(tick);
        let words = lock(&self.desk).stored(tick, observed, driver_version);
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(tick);
        }
        words
    }
}

impl Desk {
    fn stored(
        &mut self,
        tick: i64,
        observed: Observed<'_>,
        driver_version: Option<&str>,
    ) -> Option<String> {
        if self.host.driver_version.as_deref() != driver_version {
            self.host.driver_version = driver_version.map(str::to_owned);
        }
        let Observed { entry, events, took } = observed;
        let Some(counted) = &mut self.counted else {
            let (entry, events) = (entry.clone(), events.to_vec());
            self.waiting.push(Stored { tick, entry, events, took });
            return None;
        };
        counted.count(tick, observed, &self.wanted);
        self.show(entry)
    }

    /// Goes on from what was counted before.
    fn take_over(&mut self, mut counted: Counted) -> Option<String> {
        let waiting = std::mem::take(&mut self.waiting);
        for Stored { tick, entry, events, took } in &waiting {
            counted.count(*tick, Observed { entry, events, took: *took }, &self.wanted);
        }
        self.counted = Some(counted);
        self.show(&waiting.last()?.entry)
    }

    fn show(&mut self, entry: &Entry) -> Option<String> {
        let counted = self.counted.as_mut()?;
        self.losses.count_into(&mut counted.counters);
        let saved = self.file.save(counted, Care::Unsynced);
        let frame = Frame::new(self.host.clone(), counted.counters.clone(), entry);
        self.slot.put(Arc::new(frame));
        // That it cannot be kept is said once.
        let has_failed = std::mem::replace(&mut self.has_failed, saved.is_err());
        let error = saved.err().filter(|_| !has_failed)?;
        Some(format!("cannot keep the counters in {}: {error}", self.file.path().display()))
    }
}
