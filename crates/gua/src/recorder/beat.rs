//! The loop: looks when it is time, keeps what is seen, ends when it is told to.
//!
//! A look may take as long as a failing driver is waited for. So whoever listens to the
//! signals can end the recording in its place.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::log::Log;
use super::recording::Recording;
use super::schedule::{Schedule, Task};
use super::signals::{Signal, Signals};
use super::source::{Seen, Source};
use crate::store::{Ending, StoreError};

/// How long a look that is under way may still take when the recorder is told to end.
const LAST_LOOK: Duration = Duration::from_millis(400);

/// For how long the first tick is tried to be stored in a database that is locked.
const FIRST_TICK: Duration = Duration::from_secs(5);

/// A recorder at work.
#[derive(Debug)]
pub struct Beat {
    shared: Arc<Shared>,
    schedule: Schedule,
    interval: Duration,
    /// How often the service manager wants to hear from us.
    watchdog: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// `None` once it has been ended.
    recording: Option<Recording>,
    log: Log,
    told_to_end: bool,
}

/// How it ended.
#[derive(Debug)]
pub enum Outcome {
    Stopped,
    /// It could not be kept at all.
    Failed(StoreError),
}

impl Beat {
    /// Gets ready. `give_up` is called when the recorder is told to end during a look that
    /// does not return, after the recording has been ended; it must end the process.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn new(
        recording: Recording,
        signals: Signals,
        interval: Duration,
        log: Log,
        give_up: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let state = State { recording: Some(recording), log, told_to_end: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let heard = Arc::clone(&shared);
        signals.listen(move |signal| match signal {
            Signal::ReopenLog => heard.lock().log.reopen(),
            Signal::Stop => {
                if !heard.end_in_time() {
                    give_up();
                }
            }
        })?;
        Ok(Self {
            shared,
            schedule: Schedule::new(interval, Instant::now()),
            interval,
            watchdog: sd_notify::watchdog_enabled(),
        })
    }

    /// Records until it is told to end. `ready` hears of the first tick that is stored; where
    /// that cannot be, there is no recorder.
    pub fn run(mut self, mut source: impl Source, ready: impl FnOnce()) -> Outcome {
        let mut ready = Some(ready);
        while !self.wait() {
            if self.schedule.next().0 == Task::Drain {
                source.drain();
                self.schedule.drained(Instant::now());
                continue;
            }
            let ticked = match &ready {
                Some(_) => self.first_tick(&mut source),
                None => self.tick(&mut source),
            };
            match (ticked, ready.take()) {
                (Ok(()), Some(ready)) => {
                    tell_the_manager(NotifyState::Ready);
                    ready();
                }
                (Err(error), Some(_)) | (Err(error @ StoreError::Damaged(_)), None) => {
                    return Outcome::Failed(error);
                }
                (_, None) => {}
            }
        }
        tell_the_manager(NotifyState::Stopping);
        // The time since the last tick is worth a look; where it cannot be stored that is
        // logged.
        let _ = self.tick(&mut source);
        self.shared.lock().end();
        self.shared.changed.notify_all();
        Outcome::Stopped
    }

    /// Waits for what is next; true when that is the end.
    fn wait(&self) -> bool {
        let (_, due) = self.schedule.next();
        let mut state = self.shared.lock();
        loop {
            if self.watchdog.is_some() {
                tell_the_manager(NotifyState::Watchdog);
            }
            let left = due.saturating_duration_since(Instant::now());
            if state.told_to_end || left.is_zero() {
                return state.told_to_end;
            }
            let most = self.watchdog.map_or(left, |watchdog| left.min(watchdog / 3));
            let waited = self.shared.changed.wait_timeout(state, most);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Another program may be at the database just then. That is no reason not to start.
    fn first_tick(&mut self, source: &mut impl Source) -> Result<(), StoreError> {
        let deadline = Instant::now() + FIRST_TICK;
        loop {
            let ticked = self.tick(source);
            let is_over = Instant::now() > deadline || self.shared.lock().told_to_end;
            if is_over || !matches!(ticked, Err(StoreError::Locked)) {
                return ticked;
            }
        }
    }

    fn tick(&mut self, source: &mut impl Source) -> Result<(), StoreError> {
        let seen = Seen::by(source);
        let late = seen.ended.saturating_duration_since(self.schedule.tick_due());
        let late = Some(late).filter(|late| *late > self.interval / 2);
        self.schedule.ticked(seen.ended, source.buffer_length());
        let State { recording, log, .. } = &mut *self.shared.lock();
        match recording {
            Some(recording) => recording.record(&seen, late, log),
            None => Ok(()),
        }
    }
}

impl Shared {
    /// A panic while the lock is held leaves what is stored as it is.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the loop to end; ends in its place when it does not, and says so with false.
    fn end_in_time(&self) -> bool {
        let mut state = self.lock();
        state.told_to_end = true;
        self.changed.notify_all();
        let is_at_work = |state: &mut State| state.recording.is_some();
        let waited = self.changed.wait_timeout_while(state, LAST_LOOK, is_at_work);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let has_ended = state.recording.is_none();
        state.end();
        has_ended
    }
}

impl State {
    fn end(&mut self) {
        let Some(recording) = self.recording.take() else { return };
        if let Err(error) = recording.end(Ending::Stopped, &mut self.log) {
            self.log.say(&format!("the end of the run could not be stored: {error}"));
        }
        self.log.say("stopped");
    }
}

/// Where nobody manages us, nobody hears it.
fn tell_the_manager(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}
