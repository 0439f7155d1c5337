//! How many threads of this process are ours. Who measures the process that we are in wants to
//! tell them from its own.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// How the names of ours begin.
const PREFIX: &str = "gua-";

static OURS: AtomicU32 = AtomicU32::new(0);

/// A thread of ours to be, by its name. The kernel keeps 15 letters.
pub fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(format!("{PREFIX}{name}"))
}

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

/// How many there are now. One that has just ended may still be listed by the kernel.
#[must_use]
pub fn count() -> u32 {
    OURS.load(Ordering::SeqCst)
}

/// How many threads of this process there are that are not ours, from the kernel's list. Dear, but
/// a thread of ours that is ending is known by its name, and one that is beginning is counted.
#[must_use]
pub fn others() -> Option<u32> {
    let (mut all, mut named) = (0_u32, 0_u32);
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // One that has ended since is not there.
        let Ok(name) = fs::read_to_string(thread.path().join("comm")) else { continue };
        all += 1;
        named += u32::from(name.starts_with(PREFIX));
    }
    Some(all.saturating_sub(named.max(count())))
}
