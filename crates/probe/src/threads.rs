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

/// Number of [`InUse`] values.
static IN_USE: AtomicU32 = AtomicU32::new(0);

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
struct Counted(&'static AtomicU32);

impl Counted {
    fn new(counter: &'static AtomicU32) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A measurement that needs our threads. A fork waits for our threads to end only while there is no
/// such measurement ([`crate::fork::before`]).
#[derive(Debug)]
pub struct InUse {
    _counted: Counted,
}

impl InUse {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a default would not say that it counts")]
    pub fn new() -> Self {
        Self { _counted: Counted::new(&IN_USE) }
    }
}

/// Returns the number of our threads that still run although no measurement needs them. A thread
/// that is just starting may be counted twice.
pub(crate) fn unneeded() -> u32 {
    if IN_USE.load(Ordering::SeqCst) > 0 {
        return 0;
    }
    // A thread that is just starting may not have its name yet.
    listed().map_or(0, |(_, ours)| ours) + BEGINNING.load(Ordering::SeqCst)
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
    IN_USE.store(0, Ordering::SeqCst);
}

/// How many threads of this process there are that are not ours, from the kernel's list. Dear, but
/// it knows one of ours that is ending by its name.
#[must_use]
pub fn others() -> Option<u32> {
    let beginning = BEGINNING.load(Ordering::SeqCst);
    listed().map(|(all, ours)| all.saturating_sub(ours + beginning))
}

/// Returns the number of threads of this process that the kernel lists, and the number of those with
/// one of our names.
fn listed() -> Option<(u32, u32)> {
    let (mut all, mut ours) = (0, 0);
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // One that has ended since is not there.
        let Ok(name) = fs::read_to_string(thread.path().join("comm")) else { continue };
        all += 1;
        ours += u32::from(name.starts_with(PREFIX));
    }
    Some((all, ours))
}
