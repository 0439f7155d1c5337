//! Counts every tick that is stored, keeps the counters and shows them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use super::beside::Care;
use super::counted::{Counted, CountersFile};
use super::losses::Losses;
use super::slot::{NotReady, Slot};
use crate::ledger::Entry;
use crate::metrics::{Frame, Host, Observed, Wanted};
use crate::recorder::Witness;
use crate::store::{History, StoreError};

/// The recorder's witness. What it counted is in a file before anybody sees it, so that it goes
/// on from there.
///
/// Runs that nobody listened to have left ticks without counting them. Those are counted first,
/// on a thread of its own, up to the newest: no tick waits for it. Where they cannot be read,
/// that is tried again at the next tick, and what was kept stays as it is.
#[derive(Debug)]
pub struct Keeper {
    catching: Catching,
}

/// What the thread needs that catches up.
#[derive(Debug, Clone)]
struct Catching {
    desk: Arc<Mutex<Desk>>,
    slot: Arc<Slot>,
    database: PathBuf,
    wanted: Wanted,
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
    progress: Progress,
    /// The newest tick, while those before it are not counted yet.
    newest: Option<(i64, Entry)>,
    file: CountersFile,
    host: Host,
    wanted: Wanted,
    losses: Arc<Losses>,
    slot: Arc<Slot>,
    /// What was told already, so that it is told once.
    told: Told,
}

/// How far it came.
#[derive(Debug)]
enum Progress {
    /// Not to the newest tick; `None` where nothing is known of what was kept yet.
    Behind(Option<Counted>),
    /// Somebody is at it.
    CatchingUp,
    UpToDate(Counted),
}

#[derive(Debug, Default)]
struct Told {
    not_kept: bool,
    not_counted: bool,
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
            progress: Progress::Behind(None),
            newest: None,
            file: CountersFile::of(&database),
            slot: Arc::clone(&slot),
            host,
            wanted,
            losses,
            told: Told::default(),
        };
        let (desk, say) = (Arc::new(Mutex::new(desk)), Say(Arc::new(say)));
        Self { catching: Catching { desk, slot, database, wanted, say } }
    }

    /// Where the frames can be had.
    #[must_use]
    pub fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.catching.slot)
    }
}

impl Witness for Keeper {
    fn stored(
        &mut self,
        tick: i64,
        observed: Observed<'_>,
        driver_version: Option<&str>,
    ) -> Option<String> {
        self.catching.slot.stored(tick);
        let mut desk = self.catching.desk();
        let words = desk.stored(tick, observed, driver_version);
        if let Progress::Behind(counted) = &mut desk.progress {
            let counted = counted.take();
            desk.progress = Progress::CatchingUp;
            drop(desk);
            self.catching.start(counted);
        }
        words
    }
}

impl Catching {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Catches up on a thread of its own.
    fn start(&self, counted: Option<Counted>) {
        let mut attempt = Attempt { catching: self.clone(), counted };
        let work = move || {
            let done = attempt.go();
            if let Err(error) = done {
                attempt.catching.failed(&format!("what is recorded cannot be counted: {error}"));
                attempt.catching.slot.wait_because(error.into());
            }
        };
        if let Err(error) = thread::Builder::new().name("count".into()).spawn(work) {
            self.failed(&format!("nothing can be counted: no thread can be had: {error}"));
        }
    }

    /// Says it once, until it is well again.
    fn failed(&self, words: &str) {
        if !std::mem::replace(&mut self.desk().told.not_counted, true) {
            (self.say.0)(&format!("{words}; it is tried again at every tick"));
        }
    }
}

/// One time of catching up. However it ends, the next one goes on from where it came to.
struct Attempt {
    catching: Catching,
    counted: Option<Counted>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut desk = self.catching.desk();
        if matches!(desk.progress, Progress::CatchingUp) {
            // What was counted when it panicked may be half of a tick.
            let counted = self.counted.take().filter(|_| !thread::panicking());
            desk.progress = Progress::Behind(counted);
        }
    }
}

impl Attempt {
    fn go(&mut self) -> Result<(), StoreError> {
        loop {
            let before = self.counted.as_ref().map(|counted| counted.tick);
            self.catch_up()?;
            if self.take_over() || self.counted.as_ref().map(|counted| counted.tick) == before {
                return Ok(());
            }
        }
    }

    /// Counts everything that is stored by now.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let Catching { database, wanted, slot, say, .. } = &self.catching;
        // It is as it is at this moment.
        let history = History::open_beside_the_writer(database)?;
        let counted = match &mut self.counted {
            Some(counted) => counted,
            none @ None => {
                let kept = CountersFile::of(database).load_or_set_aside(|words| (say.0)(words));
                none.insert(match kept {
                    Some(kept) => kept,
                    None => {
                        let now = SystemTime::now().into();
                        Counted::of_the_newest_run(&history, now, wanted)?
                    }
                })
            }
        };
        while !counted.go_on(&history, wanted)?.is_empty() {
            slot.wait_because(NotReady::CatchingUp { ticks: counted.counters.ticks });
        }
        Ok(())
    }

    /// Goes on tick by tick, where nothing was stored meanwhile.
    fn take_over(&mut self) -> bool {
        let mut desk = self.catching.desk();
        let Some(counted) = self.counted.take_if(|counted| desk.is_newest(counted)) else {
            return false;
        };
        desk.progress = Progress::UpToDate(counted);
        desk.told.not_counted = false;
        let words = desk.newest.take().and_then(|(_, entry)| desk.show(&entry));
        drop(desk);
        if let Some(words) = words {
            (self.catching.say.0)(&words);
        }
        true
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
        let Progress::UpToDate(counted) = &mut self.progress else {
            // What else there is to know of it is in the history.
            if self.newest.replace((tick, observed.entry.clone())).is_none() {
                self.slot.wait_because(NotReady::CatchingUp { ticks: 0 });
            }
            return None;
        };
        let before = counted.counters.capped();
        // Who caught up may have read it before it was told of here.
        if (counted.tick, counted.at_millis) != (tick, observed.entry.at.0) {
            counted.count(tick, observed, &self.wanted);
        }
        let is_capped = counted.counters.capped() > before;
        let capped = is_capped.then(|| self.losses.tell_of_the_cap(&self.wanted)).flatten();
        let words: Vec<_> = capped.into_iter().chain(self.show(observed.entry)).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Whether nothing is stored after what was counted.
    fn is_newest(&self, counted: &Counted) -> bool {
        self.newest.as_ref().is_some_and(|(tick, entry)| {
            let is_same = counted.tick == *tick && counted.at_millis == entry.at.0;
            // One that we are not told of yet.
            is_same || counted.tick == *tick + 1
        })
    }

    fn show(&mut self, entry: &Entry) -> Option<String> {
        let Progress::UpToDate(counted) = &mut self.progress else { return None };
        self.losses.count_into(&mut counted.counters);
        let saved = self.file.save(counted, Care::Unsynced);
        let frame = Frame::new(self.host.clone(), counted.counters.clone(), entry);
        self.slot.put(Arc::new(frame));
        // That it cannot be kept is said once.
        let was_told = std::mem::replace(&mut self.told.not_kept, saved.is_err());
        let error = saved.err().filter(|_| !was_told)?;
        Some(format!("cannot keep the counters in {}: {error}", self.file.path().display()))
    }
}
