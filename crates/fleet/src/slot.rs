//! The newest frame, put there by the recorder and taken by the web server.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gua_store::{Database, StoreError};

use crate::counters::Key;
use crate::frame::Frame;

/// Source of frames.
pub trait Frames: Debug + Send + Sync {
    /// Returns the newest frame for a scrape.
    ///
    /// # Errors
    /// When there is none.
    fn newest(&self, scraper: &Scraper) -> Result<ServedFrame, NotReady>;
}

/// Identity of a scraper: its address, and what it calls itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scraper(pub String);

/// A frame, and the tick that this scraper got before.
#[derive(Debug, Clone)]
pub struct ServedFrame {
    pub frame: Arc<Frame>,
    pub served: u64,
}

/// Why there is no frame.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotReady {
    #[error("no tick is recorded yet")]
    NoTick,
    #[error("{0}")]
    Unreadable(String),
    #[error("too many requests at once; try again in a moment")]
    Busy,
}

impl From<StoreError> for NotReady {
    fn from(error: StoreError) -> Self {
        // Whoever asks may be elsewhere: where the file is is not for them.
        Self::Unreadable(format!("cannot use the database: {}", error.problem))
    }
}

/// Scrapers that are remembered. One that was forgotten sees series as they are.
const MOST_SCRAPERS: usize = 32;

/// The last tick that each scraper got, the newest scraper at the end.
#[derive(Debug, Default)]
struct Served(Mutex<Vec<(Scraper, u64)>>);

impl Served {
    /// Returns the tick before this scrape. To a new scraper, no series is new: it has nothing to
    /// compare it with.
    fn next(&self, scraper: &Scraper, tick: u64) -> u64 {
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

/// Holds the newest frame. It is locked for as long as it takes to copy a pointer.
#[derive(Debug, Default)]
pub struct Slot {
    newest: Mutex<Option<Arc<Frame>>>,
    served: Served,
}

impl Slot {
    pub fn put(&self, frame: Arc<Frame>) {
        *lock(&self.newest) = Some(frame);
    }

    /// Returns the number of the newest tick; `None` before the first.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        lock(&self.newest).as_ref().map(|frame| frame.number)
    }
}

impl Frames for Slot {
    fn newest(&self, scraper: &Scraper) -> Result<ServedFrame, NotReady> {
        let frame = lock(&self.newest).clone().ok_or(NotReady::NoTick)?;
        Ok(ServedFrame { served: self.served.next(scraper, frame.number), frame })
    }
}

/// Reads frames from a database that somebody else records. Nothing is written.
#[derive(Debug)]
pub struct RecordedFrames {
    database: PathBuf,
    read: Mutex<ReadSeries>,
    served: Served,
}

/// Series as they were read, with the number of the reading that had them first.
#[derive(Debug, Default)]
struct ReadSeries {
    number: u64,
    born: HashMap<Key, u64>,
}

impl RecordedFrames {
    #[must_use]
    pub fn new(database: PathBuf) -> Self {
        Self { database, read: Mutex::default(), served: Served::default() }
    }
}

impl Frames for RecordedFrames {
    fn newest(&self, scraper: &Scraper) -> Result<ServedFrame, NotReady> {
        let database = Database::open(&self.database)?;
        let mut frame = Frame::from_database(&database)?.ok_or(NotReady::NoTick)?;
        let mut read = lock(&self.read);
        read.number += 1;
        let number = read.number;
        frame.number = number;
        let known = std::mem::take(&mut read.born);
        read.born = frame.counters.set_births(|key| known.get(key).copied().unwrap_or(number));
        drop(read);
        Ok(ServedFrame { served: self.served.next(scraper, number), frame: Arc::new(frame) })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
