//! Our threads in this process. A measurement of the process leaves them out.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

/// Prefix of the names of our threads.
const PREFIX: &str = "gua-";

/// Number of threads that were started and have not ended.
static ALIVE: AtomicU32 = AtomicU32::new(0);

/// Number of threads that were started and have not begun. They may not have their names yet.
static BEGINNING: AtomicU32 = AtomicU32::new(0);

/// Number of [`InUse`] values.
static IN_USE: AtomicU32 = AtomicU32::new(0);

/// Returns a builder of a thread with this name after our prefix. The kernel keeps 15 bytes of it.
pub fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(format!("{PREFIX}{name}"))
}

/// Starts a thread.
///
/// # Errors
/// If no thread can be started.
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

/// Adds 1 to a counter while it exists.
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

/// Returns the number of our threads. The kernel may still list one that has just ended.
#[must_use]
pub fn count() -> u32 {
    ALIVE.load(Ordering::SeqCst)
}

/// Returns the number of threads that were started and have not begun.
#[must_use]
pub fn beginning() -> u32 {
    BEGINNING.load(Ordering::SeqCst)
}

/// Resets the counters in a forked process, which has none of the threads.
pub(crate) fn forget() {
    ALIVE.store(0, Ordering::SeqCst);
    BEGINNING.store(0, Ordering::SeqCst);
    IN_USE.store(0, Ordering::SeqCst);
}

/// Returns the number of threads of this process that are not ours, from the kernel's list. This is slow,
/// but counts a thread of ours that is just ending correctly.
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
        // A thread that has ended meanwhile has no name.
        let Ok(name) = fs::read_to_string(thread.path().join("comm")) else { continue };
        all += 1;
        ours += u32::from(name.starts_with(PREFIX));
    }
    Some((all, ours))
}
