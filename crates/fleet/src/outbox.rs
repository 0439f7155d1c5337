//! What the recorder and the pusher tell each other about the outbox.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reason of messages that the receiver will never take.
pub(crate) const REJECTED: &str = "push_rejected";
/// Reason of messages that waited for too long, or were too many.
pub(crate) const GIVEN_UP: &str = "push_given_up";
/// Reason of ticks whose time is before that of the last message: the clock was set back.
pub(crate) const OLDER: &str = "push_older";

pub(crate) const LOSSES: [&str; 3] = [REJECTED, GIVEN_UP, OLDER];

/// Acknowledgements of the pusher, which the next tick acts on.
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    changed: Condvar,
}

/// Place in the outbox of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    file: u64,
    /// Id up to which messages are done.
    pub done_until: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct OutboxState {
    /// Number of the database file: ids of another one mean other messages.
    file: u64,
    /// Id up to which messages were taken, or rejected.
    done_until: i64,
    /// Messages that were rejected since the program started.
    rejected: i64,
    /// Ticks since the program started.
    ticks: u64,
    is_closed: bool,
}

impl Outbox {
    /// Acknowledges messages: they are deleted with the next tick.
    pub(crate) fn acknowledge(&self, position: Position, rejected: i64) {
        let mut state = self.lock();
        if state.file == position.file {
            state.done_until = state.done_until.max(position.done_until);
            state.rejected += rejected;
        }
    }

    pub(crate) fn position(&self) -> Position {
        let state = self.lock();
        Position { file: state.file, done_until: state.done_until }
    }

    /// Begins with another database file.
    pub(crate) fn begin_file(&self) {
        let mut state = self.lock();
        state.file += 1;
        state.done_until = 0;
    }

    pub(crate) fn rejected(&self) -> i64 {
        self.lock().rejected
    }

    /// Wakes the pusher: there is a new message.
    pub(crate) fn notify(&self) {
        self.lock().ticks += 1;
        self.changed.notify_all();
    }

    /// Ends the pusher.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Number of ticks so far.
    pub(crate) fn ticks(&self) -> u64 {
        self.lock().ticks
    }

    /// Waits for a tick after `ticks`, at most for a time. Returns false if the pusher is to end.
    pub(crate) fn wait_for_tick(&self, ticks: u64, longest: Duration) -> bool {
        self.wait(longest, |state| state.ticks == ticks)
    }

    /// Waits for a time. Returns false if the pusher is to end.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        self.wait(time, |_| true)
    }

    fn wait(&self, longest: Duration, goes_on: impl Fn(&OutboxState) -> bool) -> bool {
        let waits = |state: &mut OutboxState| !state.is_closed && goes_on(state);
        let waited = self.changed.wait_timeout_while(self.lock(), longest, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
