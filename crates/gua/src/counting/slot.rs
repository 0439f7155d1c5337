//! The newest frame, put there by one thread and taken by others.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::metrics::Frame;
use crate::store::StoreError;

/// Where frames are taken from.
pub trait Frames: Debug + Send + Sync {
    /// The newest, for a scrape.
    ///
    /// # Errors
    /// When there is none.
    fn newest(&self) -> Result<Shown, NotReady>;
}

/// A frame, and the tick up to which scrapes have got everything before.
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
    #[error("the history cannot be read: {0}")]
    Unreadable(String),
}

impl From<StoreError> for NotReady {
    fn from(error: StoreError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Holds the newest frame. Both sides hold it for as long as it takes to copy a pointer.
#[derive(Debug)]
pub struct Slot {
    newest: Mutex<Option<Arc<Frame>>>,
    served: AtomicU64,
}

impl Slot {
    /// Empty. To the first who asks, everything is as it is: they know nothing that it could
    /// be held against.
    #[must_use]
    pub const fn new() -> Self {
        Self { newest: Mutex::new(None), served: AtomicU64::new(u64::MAX) }
    }

    pub fn put(&self, frame: Arc<Frame>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(frame);
    }

    /// How many ticks were counted up to the newest frame; `None` where there is none. Nobody
    /// counts as having been served by it.
    #[must_use]
    pub fn ticks(&self) -> Option<u64> {
        self.peek().map(|frame| frame.counters.ticks)
    }

    fn peek(&self) -> Option<Arc<Frame>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}

impl Frames for Slot {
    fn newest(&self) -> Result<Shown, NotReady> {
        let frame = self.peek().ok_or(NotReady::NoTick)?;
        let served = self.served.swap(frame.counters.ticks, Ordering::Relaxed);
        Ok(Shown { frame, served })
    }
}
