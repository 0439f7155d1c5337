//! Prevents forks while a thread uses the driver's library. If a process is copied while one of its
//! threads loads a library or runs in one, the copy has half a library or a lock that is never
//! released.
//!
//! A thread that forks calls [`before`], and afterwards [`after_in_parent`] or [`after_in_child`].
//! This is not needed to start another program, which gets memory of its own. A [`ProcessLocal`] value
//! is not used in a fork.

use std::cell::RefCell;
use std::mem;
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::threads;

/// Longest time that a fork waits for calls to the driver. A call that hangs must not block the fork
/// forever.
const MOST: Duration = Duration::from_secs(2);

/// Longest time that a fork waits for our threads to end.
const FOR_THREADS: Duration = Duration::from_millis(100);

/// Interval at which starting and ending threads are checked.
const PAUSE: Duration = Duration::from_micros(200);

#[derive(Debug)]
struct State {
    /// Number of threads in the library.
    inside: u32,
    /// True while a thread forks or is about to.
    is_shut: bool,
    /// Number of threads that did not leave the library in time. A fork does not wait for them again.
    lost: u32,
    /// Number of threads that did not start in time. A fork does not wait for them again.
    unbegun: u32,
    /// Number of threads that did not end in time. A fork does not wait for them again.
    unended: u32,
}

static STATE: Mutex<State> =
    Mutex::new(State { inside: 0, is_shut: false, lost: 0, unbegun: 0, unended: 0 });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Held over the fork, so that the copy of the lock is not another thread's.
    static HELD: RefCell<Option<MutexGuard<'static, State>>> = const { RefCell::new(None) };
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`, which uses the driver's library or a shared lock, while no thread forks.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    let _inside = Inside::enter();
    work()
}

struct Inside;

impl Inside {
    fn enter() -> Self {
        let mut state = lock();
        while state.is_shut {
            state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.inside += 1;
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut state = lock();
        state.inside = state.inside.saturating_sub(1);
        state.lost = state.lost.min(state.inside);
        // Only a fork waits, and a notification is a system call even when nothing waits.
        if state.is_shut {
            CHANGED.notify_all();
        }
    }
}

/// Waits until no thread is in the library, and keeps all out of it until after the fork.
pub fn before() {
    let begun = Instant::now();
    wait_for_threads_to_end();
    let mut state = lock();
    state.is_shut = true;
    state.unbegun = state.unbegun.min(threads::beginning());
    // A thread that starts uses the loader to allocate its memory.
    while state.inside > state.lost || threads::beginning() > state.unbegun {
        let left = MOST.saturating_sub(begun.elapsed());
        if left.is_zero() {
            (state.lost, state.unbegun) = (state.inside, threads::beginning());
            break;
        }
        let waited = CHANGED.wait_timeout(state, left.min(PAUSE));
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    HELD.set(Some(state));
}

/// Waits for those of our threads that are no longer needed to end. Python warns when a process with
/// threads forks, and the user did not start these.
fn wait_for_threads_to_end() {
    let begun = Instant::now();
    let known = lock().unended;
    let mut left = threads::unneeded();
    while left > known && begun.elapsed() < FOR_THREADS {
        thread::sleep(PAUSE);
        left = threads::unneeded();
    }
    lock().unended = left;
}

/// Opens the library again in the parent, after a fork or a failed one.
pub fn after_in_parent() {
    reopen(|_| {});
}

/// Opens the library again in the child, which has none of the parent's other threads.
pub fn after_in_child() {
    reopen(|state| {
        (state.inside, state.lost, state.unbegun, state.unended) = (0, 0, 0, 0);
    });
    threads::forget();
}

fn reopen(change: impl FnOnce(&mut State)) {
    if let Some(mut state) = HELD.take() {
        state.is_shut = false;
        change(&mut state);
        CHANGED.notify_all();
    }
}

/// Place for a value that only the process that put it there may use. A fork copies the value, but
/// neither the threads nor the handles behind it.
#[derive(Debug)]
pub(crate) struct ProcessLocal<T>(Mutex<Option<Owned<T>>>);

#[derive(Debug)]
struct Owned<T> {
    process: u32,
    value: T,
}

impl<T> ProcessLocal<T> {
    pub(crate) const fn empty() -> Self {
        Self(Mutex::new(None))
    }

    /// Takes the value, if it is ours.
    pub(crate) fn take(&self) -> Option<T> {
        self.ours().take().map(|owned| owned.value)
    }

    /// Puts a value there, and returns the one before.
    pub(crate) fn replace(&self, value: T) -> Option<T> {
        self.ours().replace(Owned { process: process::id(), value }).map(|owned| owned.value)
    }

    /// Returns a copy of the value, if it is ours.
    pub(crate) fn get(&self) -> Option<T>
    where
        T: Clone,
    {
        self.ours().as_ref().map(|owned| owned.value.clone())
    }

    /// Forgets a value of another process, without dropping it: the original may need what dropping
    /// closes.
    fn ours(&self) -> MutexGuard<'_, Option<Owned<T>>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_some_and(|owned| owned.process != process::id()) {
            mem::forget(place.take());
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    /// Needs a process of its own, as nextest gives it: the state is shared.
    #[test]
    fn a_fork_waits_for_threads_inside_and_keeps_others_out() {
        let (enter, entered) = mpsc::channel();
        let (leave, left) = mpsc::channel::<()>();
        let first = thread::spawn(move || {
            inside(|| {
                enter.send(()).unwrap();
                left.recv().unwrap();
            });
        });
        entered.recv().unwrap();
        let forker = thread::spawn(|| {
            before();
            assert_eq!(lock_is_free(), None, "it is held over the fork");
            after_in_parent();
        });
        leave.send(()).unwrap();
        first.join().unwrap();
        forker.join().unwrap();
        assert_eq!(inside(|| 5), 5);
        assert_eq!(lock().inside, 0);
    }

    /// Needs a process of its own, as nextest gives it.
    #[test]
    fn a_fork_waits_for_unneeded_threads() {
        let (end, ended) = mpsc::channel::<()>();
        let start = |until: mpsc::Receiver<()>| {
            threads::spawn(threads::named("test"), move || until.recv().unwrap_err()).unwrap();
        };
        start(ended);
        let in_use = threads::InUse::new();
        assert_eq!(threads::unneeded(), 0, "it is needed");
        drop(in_use);
        while threads::unneeded() == 0 {
            thread::yield_now();
        }
        let forker = thread::spawn(|| {
            before();
            after_in_parent();
        });
        drop(end);
        forker.join().unwrap();
        assert_eq!(threads::unneeded(), 0);
        // A fork waits only once for a thread that hangs.
        let (_hangs, ended) = mpsc::channel::<()>();
        start(ended);
        while threads::unneeded() == 0 {
            thread::yield_now();
        }
        before();
        after_in_parent();
        assert_eq!(lock().unended, 1);
    }

    fn lock_is_free() -> Option<()> {
        thread::spawn(|| STATE.try_lock().ok().map(drop)).join().unwrap()
    }

    #[test]
    fn a_value_of_another_process_is_forgotten_and_not_dropped() {
        let value = Arc::new(());
        let owned = Owned { process: 0, value: Arc::clone(&value) };
        let place = ProcessLocal(Mutex::new(Some(owned)));
        assert!(place.get().is_none());
        assert_eq!(Arc::strong_count(&value), 2);
        assert!(place.replace(Arc::clone(&value)).is_none());
        assert!(place.get().is_some());
        assert!(place.replace(Arc::clone(&value)).is_some());
        assert!(place.take().is_some());
        assert!(place.take().is_none());
    }
}
