//! Keeps a fork away from the driver's library: a process that is copied while one of its threads
//! loads a library, or is inside of one, has half a library or a lock that nobody gives back.
//!
//! Who forks calls [`before`] and [`after_in_parent`] or [`after_in_child`] around it, on the same
//! thread. A program that only starts others need not: they get a memory of their own.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::threads;

/// How long a fork waits. A driver that hangs longer than this would hang the fork, too.
const MOST: Duration = Duration::from_secs(2);

/// How long a fork waits for threads of ours to end.
const FOR_THREADS: Duration = Duration::from_millis(100);

/// Threads that begin or end are looked at so often.
const PAUSE: Duration = Duration::from_micros(200);

#[derive(Debug)]
struct State {
    /// How many threads are in the library.
    inside: u32,
    /// Somebody is about to fork.
    is_shut: bool,
    /// So many did not come out in time, and are not waited for again.
    lost: u32,
    /// So many threads did not begin in time.
    unbegun: u32,
    /// So many threads did not end in time, and are not waited for again.
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

/// Does something in the driver's library, or with a lock that all share, but not while somebody
/// forks.
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
        // Only a fork is waited for by anybody, and telling nobody is a call to the kernel, too.
        if state.is_shut {
            CHANGED.notify_all();
        }
    }
}

/// Waits until nobody is in the library, and keeps it so.
pub fn before() {
    let begun = Instant::now();
    wait_for_threads_to_end();
    let mut state = lock();
    state.is_shut = true;
    state.unbegun = state.unbegun.min(threads::beginning());
    // One that begins asks the loader for its memory.
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

/// Waits for threads of ours that nothing needs any more. Python warns of a fork in a process with
/// threads, and the user did not start these.
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

/// The fork is done, or has failed.
pub fn after_in_parent() {
    reopen(|_| {});
}

/// The fork is done, and this is the copy: it has none of the threads.
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// In a process of its own, as nextest runs it, or alone in this one: the state is everybody's.
    #[test]
    fn a_fork_waits_for_who_is_inside_and_keeps_others_out() {
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

    /// In a process of its own, as nextest runs it.
    #[test]
    fn a_fork_waits_for_threads_that_nothing_needs() {
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
        // One that hangs is waited for once.
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
}
