//! How many threads of this process are ours. Who measures the process that we are in wants to
//! tell them from its own.

use std::sync::atomic::{AtomicU32, Ordering};

static OURS: AtomicU32 = AtomicU32::new(0);

/// Counts a thread as ours as long as it is there. Made before the thread is, and dropped at the
/// thread's end: it may count a thread that is not there yet, but misses none.
#[derive(Debug)]
pub struct Counted(());

impl Counted {
    #[must_use]
    pub fn new() -> Self {
        OURS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        OURS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many there are now.
#[must_use]
pub fn count() -> u32 {
    OURS.load(Ordering::SeqCst)
}
