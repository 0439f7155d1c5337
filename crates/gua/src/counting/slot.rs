//! The newest frame, put there by one thread and taken by others.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::metrics::Frame;
use crate::store::StoreError;

/// Where frames are taken from.
pub trait Frames: Debug + Send + Sync {
    /// The newest, for a scrape.
    ///
    /// # Errors
    /// When there is none.
    fn newest(&self, scraper: &Scraper) -> Result<Shown, NotReady>;
}

/// Who scrapes: where from, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scraper(pub String);

/// A frame, and the tick up to which this scraper has got everything before.
#[derive(Debug, Clone)]
pub struct Shown {
    pub frame: Arc<Frame>,
    pub served: u64,
}

/// Why there is nothing to show.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotReady {
    #[error("no tick is recorded yet")]
    NoTick,
    #[error("the history is still being counted: {ticks} ticks so far; ask again")]
    CatchingUp { ticks: u64 },
    #[error("the history cannot be read: {0}")]
    Unreadable(String),
    #[error("too many ask for a report at once; ask again in a moment")]
    Busy,
}

impl From<StoreError> for NotReady {
    fn from(error: StoreError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// How many scrapers are remembered. One that was forgotten sees series as they are.
const MOST_SCRAPERS: usize = 32;

/// Up to which tick each scraper has got everything, the one that came last at the end.
#[derive(Debug, Default)]
pub struct Served(Mutex<Vec<(Scraper, u64)>>);

impl Served {
    /// Up to where it was before this scrape. To one who asks for the first time, everything is
    /// as it is: they know nothing that it could be held against.
    pub fn next(&self, scraper: &Scraper, tick: u64) -> u64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(known, _)| known == scraper);
        let before = known.map_or(u64::MAX, |place| all.remove(place).1);
        if all.len() >= MOST_SCRAPERS {
            all.remove(0);
        }
        all.push((scraper.clone(), tick));
        before
    }
}

/// Holds the newest frame. Both sides hold it for as long as it takes to copy a pointer.
#[derive(Debug)]
pub struct Slot {
    newest: Mutex<Result<Arc<Frame>, NotReady>>,
    stored: AtomicI64,
    served: Served,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            newest: Mutex::new(Err(NotReady::NoTick)),
            stored: AtomicI64::default(),
            served: Served::default(),
        }
    }
}

impl Slot {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&self, frame: Arc<Frame>) {
        *self.lock() = Ok(frame);
    }

    /// Says that a tick is stored, though it may be counted later.
    pub fn stored(&self, tick: i64) {
        self.stored.store(tick, Ordering::Relaxed);
    }

    /// The newest tick that is stored; `None` before the first.
    #[must_use]
    pub fn tick(&self) -> Option<i64> {
        Some(self.stored.load(Ordering::Relaxed)).filter(|tick| *tick > 0)
    }

    /// Why there is no frame yet.
    pub fn wait_because(&self, why: NotReady) {
        let mut newest = self.lock();
        if newest.is_err() {
            *newest = Err(why);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Result<Arc<Frame>, NotReady>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Frames for Slot {
    fn newest(&self, scraper: &Scraper) -> Result<Shown, NotReady> {
        let frame = self.lock().clone()?;
        Ok(Shown { served: self.served.next(scraper, frame.counters.ticks), frame })
    }
}

impl From<StoreError> for gua_fleet::NotReady {
    fn from(error: StoreError) -> Self {
        Self::Unreadable(error.to_string())
    }
}
