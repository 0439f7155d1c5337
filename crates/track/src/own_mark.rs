//! The high-water mark of this process's own memory (`VmHWM`), reset at the begin of a measurement.
//!
//! The kernel keeps one mark for a process. Without a reset, a spike below a mark from before the
//! begin would leave no trace. Writing 5 to `/proc/self/clear_refs` sets the mark to what is resident
//! now; that takes microseconds, whatever the size of the process. Others see it, too: `VmHWM` and
//! the `ru_maxrss` of getrusage and wait4 tell the most since the last reset.
//!
//! Measurements may overlap. Whoever resets the mark hands the mark as it was to all others, so that
//! an outer block loses nothing by an inner one.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use probe::fork;

use crate::proc::status;

/// The measurements of this process that are going on.
static OPEN: Mutex<Vec<Weak<AtomicU64>>> = Mutex::new(Vec::new());

/// One measurement's view of the mark.
#[derive(Debug)]
pub struct OwnMark {
    /// The highest mark that a reset by another measurement took away since the last reading; 0
    /// where there was no reset.
    taken_away: Arc<AtomicU64>,
}

impl OwnMark {
    /// Resets the mark for a measurement that begins now. `None` where that is not allowed, as in a
    /// process that may not be dumped, or where `/proc` is read-only.
    #[must_use]
    pub fn reset() -> Option<Self> {
        exclusively(|open| {
            let before = read_mark()?;
            fs::write("/proc/self/clear_refs", "5").ok()?;
            open.retain(|other| {
                let other = other.upgrade();
                if let Some(other) = &other {
                    other.fetch_max(before, Ordering::Relaxed);
                }
                other.is_some()
            });
            let own = Self { taken_away: Arc::default() };
            open.push(Arc::downgrade(&own.taken_away));
            Some(own)
        })
    }

    /// Calls `read` while no other measurement can reset the mark. Also returns the mark that was
    /// taken away since the last call, if there was a reset.
    pub fn read<T>(&self, read: impl FnOnce() -> T) -> (T, Option<u64>) {
        exclusively(|_| {
            let read = read();
            let taken_away = self.taken_away.swap(0, Ordering::Relaxed);
            (read, Some(taken_away).filter(|mark| *mark > 0))
        })
    }
}

/// Locks the list, but not while somebody forks: the copy of the lock would stay locked.
fn exclusively<T>(work: impl FnOnce(&mut Vec<Weak<AtomicU64>>) -> T) -> T {
    fork::inside(|| {
        let mut open: MutexGuard<'_, _> = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut open)
    })
}

fn read_mark() -> Option<u64> {
    let text = fs::read("/proc/self/status").ok()?;
    let status = status::parse(&String::from_utf8_lossy(&text))?;
    Some(status.memory?.high_water)
}
