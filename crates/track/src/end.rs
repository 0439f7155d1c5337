//! In whose hands a measurement is, and what comes of it. The thread that looks has it for the time
//! of a look; who wants the end takes it in between and makes the end itself, so that neither waits
//! for the other to wake up.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::follower::{Follower, Woken};
use crate::handles::Stopper;
use crate::usage::Usage;

/// Tells when a measurement is over, or ends it.
#[derive(Debug, Clone)]
pub struct End(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Ends the thread's part in it.
    stopper: Stopper,
}

#[derive(Debug, Default)]
enum State {
    /// Somebody looks, or makes its end.
    #[default]
    InHand,
    /// Until the next look.
    AtRest(Box<Follower>),
    Used(Box<Usage>),
    /// What is told of samples has panicked, with this.
    Panicked(Box<dyn Any + Send>),
    /// Somebody has taken what came of it.
    Taken,
}

impl State {
    const fn is_over(&self) -> bool {
        !matches!(self, Self::InHand | Self::AtRest(_))
    }

    /// Takes it, if nobody has it.
    fn take_up(&mut self) -> Option<Box<Follower>> {
        match mem::take(self) {
            Self::AtRest(follower) => Some(follower),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl End {
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// Ends it now. What is made up of this very process is ended by who asks for it; the end of
    /// another one may take for ever, and is only waited for, so long at most. Whether it is over.
    pub fn stop_within(&self, most: Duration) -> bool {
        let mut state = self.lock();
        if let State::AtRest(follower) = &*state
            && follower.is_of_ourselves()
            && let Some(follower) = state.take_up()
        {
            drop(state);
            self.make_end(follower);
            return true;
        }
        drop(state);
        self.0.stopper.stop();
        self.when(State::is_over, most).is_over()
    }

    fn make_end(&self, mut follower: Box<Follower>) {
        // Neither its thread is needed any more, nor what that has to be woken up for.
        follower.leave_thread();
        self.0.stopper.stop();
        self.work(|| State::Used(Box::new(follower.end())));
    }

    /// Begun, and up to whoever comes first.
    pub(crate) fn begin(follower: Follower, stopper: Stopper) -> Self {
        let state = Mutex::new(State::AtRest(Box::new(follower)));
        Self(Arc::new(Shared { state, changed: Condvar::new(), stopper }))
    }

    /// Looks, or does what it was woken up for; when to come again. `None` when it is over.
    pub(crate) fn step(&self, woken: Woken) -> Option<Instant> {
        let mut follower = self.lock().take_up()?;
        let mut next = None;
        self.work(|| {
            next = follower.step(woken);
            if next.is_some() {
                State::AtRest(follower)
            } else {
                State::Used(Box::new(follower.end()))
            }
        });
        next
    }

    /// Waits until it is over; what was used.
    ///
    /// # Panics
    /// As what is told of samples has.
    pub(crate) fn used(&self) -> Usage {
        let over = mem::replace(&mut *self.when(State::is_over, Duration::MAX), State::Taken);
        match over {
            State::Used(usage) => *usage,
            State::Panicked(panic) => panic::resume_unwind(panic),
            _ => panic::resume_unwind(Box::new("what was used has been taken")),
        }
    }

    /// Leaves what comes of some work on it. A panic is its end.
    fn work(&self, work: impl FnOnce() -> State) {
        let done = panic::catch_unwind(AssertUnwindSafe(work));
        self.become_state(done.unwrap_or_else(State::Panicked));
    }

    fn become_state(&self, state: State) {
        *self.lock() = state;
        self.0.changed.notify_all();
    }

    fn when(&self, is_it: impl Fn(&State) -> bool, most: Duration) -> MutexGuard<'_, State> {
        let waited = self.0.changed.wait_timeout_while(self.lock(), most, |state| !is_it(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
