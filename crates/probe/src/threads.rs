//! Threads of ours in this process. Who measures the process that we are in wants to tell them
//! from its own.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

/// How the names of ours begin.
const PREFIX: &str = "gua-";

/// Those that have been asked for and have not ended.
static ALIVE: AtomicU32 = AtomicU32::new(0);

/// Those of them that have not begun, and may not have their names yet.
static BEGINNING: AtomicU32 = AtomicU32::new(0);

/// A thread of ours to be, by its name. The kernel keeps 15 letters.
pub fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(format!("{PREFIX}{name}"))
}

/// Starts it.
///
/// # Errors
/// When there is no thread to be had.
pub fn spawn<T: Send + 'static>(
    thread: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let (alive, beginning) = (Counted::new(&ALIVE), Counted::new(&BEGINNING));
    thread.spawn(move || {
        drop(beginning);
        let _alive = alive;
        work()
    })
}

/// Counts for as long as it is there.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicU32);

impl Counted {
    pub(crate) fn new(counter: &'static AtomicU32) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many there are now. One that has just ended may still be listed by the kernel.
#[must_use]
pub fn count() -> u32 {
    ALIVE.load(Ordering::SeqCst)
}

/// How many have been asked for and have not begun.
#[must_use]
pub fn beginning() -> u32 {
    BEGINNING.load(Ordering::SeqCst)
}

/// None of them is in a process that was forked.
pub(crate) fn forget() {
    ALIVE.store(0, Ordering::SeqCst);
    BEGINNING.store(0, Ordering::SeqCst);
}

/// How many threads of this process there are that are not ours, from the kernel's list. Dear, but
/// it knows one of ours that is ending by its name.
#[must_use]
pub fn others() -> Option<u32> {
    let (mut all, mut ours) = (0_u32, BEGINNING.load(Ordering::SeqCst));
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // One that has ended since is not there.
        let Ok(name) = fs::read_to_string(thread.path().join("comm")) else { continue };
        all += 1;
        ours += u32::from(name.starts_with(PREFIX));
    }
    Some(all.saturating_sub(ours))
}
