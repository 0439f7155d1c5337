//! The loop: polls and ticks when they are due, until it is stopped.
//!
//! A poll may take as long as a failing driver is waited for. So the thread that listens to signals
//! can end the recording in place of the loop.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gua_store::{Problem, Retention, Run, StoreError};
use probe::poller::Poller;
use sd_notify::NotifyState;

use crate::log::Log;
use crate::observer::TickObserver;
use crate::processes::read_process;
use crate::recording::{DriverNow, Recording};
use crate::schedule::{Schedule, Task};
use crate::signals::{Signal, Signals};

/// Time that a poll may still take when the recorder is stopped.
const LAST_POLL: Duration = Duration::from_millis(400);

/// Time for which the first tick is tried in a database that is locked.
const FIRST_TICK: Duration = Duration::from_secs(5);

/// How to record.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Time between two ticks.
    pub interval: Duration,
    pub retention: Retention,
    /// True if command lines are stored.
    pub store_command: bool,
}

/// A recorder.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    options: Options,
    /// How often the service manager wants a sign of life.
    watchdog: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<LoopState>,
    changed: Condvar,
}

#[derive(Debug)]
struct LoopState {
    /// `None` once it has ended.
    recording: Option<Recording>,
    is_stopping: bool,
}

/// How a recorder ended.
#[derive(Debug)]
pub enum Outcome {
    Stopped,
    /// Nothing could be stored at the start, or the database is damaged.
    Failed(StoreError),
}

impl Recorder {
    /// Returns a recorder into the database at a path. The facts of the run need no begin and no driver.
    #[must_use]
    pub fn new(
        path: PathBuf,
        run: Run,
        options: Options,
        observers: Vec<Box<dyn TickObserver>>,
        log: Log,
    ) -> Self {
        let interval_ms = i64::try_from(options.interval.as_millis()).ok();
        let run = Run { interval_ms, ..run };
        let recording = Recording::new(path, run, options.retention, observers, log);
        let state = LoopState { recording: Some(recording), is_stopping: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        Self { shared, options, watchdog: sd_notify::watchdog_enabled() }
    }

    /// Records until it is stopped. `ready` is called once the first tick is stored. `give_up` is called
    /// if a poll does not return when the recorder is stopped, after the recording has ended; it must
    /// end the process.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn run(
        self,
        mut poller: Poller,
        signals: Signals,
        ready: impl FnOnce(),
        give_up: impl Fn() + Send + 'static,
    ) -> io::Result<Outcome> {
        let shared = Arc::clone(&self.shared);
        signals.listen(move |signal| match signal {
            Signal::ReopenLog => shared.lock().reopen_log(),
            Signal::Stop => {
                if !shared.stop_in_time() {
                    give_up();
                }
            }
        })?;
        Ok(self.record(&mut poller, ready))
    }

    fn record(&self, poller: &mut Poller, ready: impl FnOnce()) -> Outcome {
        let mut schedule = Schedule::new(self.options.interval, Instant::now());
        let mut ready = Some(ready);
        while !self.wait_until(schedule.next().1) {
            let (task, _) = schedule.next();
            match task {
                Task::Samples => self.read_samples(poller),
                Task::Poll | Task::Tick => self.poll(poller),
            }
            let stored = match task {
                Task::Tick if ready.is_some() => self.first_tick(),
                Task::Tick => self.shared.lock().tick(),
                Task::Samples | Task::Poll => Ok(()),
            };
            match stored {
                Ok(()) if task == Task::Tick => {
                    if let Some(ready) = ready.take() {
                        notify_manager(NotifyState::Ready);
                        ready();
                    }
                }
                Err(error) if ready.is_some() || is_damaged(&error) => {
                    return Outcome::Failed(error);
                }
                // It is logged, and tried again at the next tick.
                Ok(()) | Err(_) => {}
            }
            let has_holders = self.shared.lock().has_holders();
            schedule.done(task, Instant::now(), has_holders);
        }
        notify_manager(NotifyState::Stopping);
        if self.shared.lock().recording.is_some() {
            // The time since the last poll counts.
            self.poll(poller);
        }
        self.shared.lock().end();
        self.shared.changed.notify_all();
        Outcome::Stopped
    }

    /// Waits for a moment. Returns true if the recorder is stopped before.
    fn wait_until(&self, due: Instant) -> bool {
        let mut state = self.shared.lock();
        loop {
            if self.watchdog.is_some() {
                notify_manager(NotifyState::Watchdog);
            }
            let left = due.saturating_duration_since(Instant::now());
            if state.is_stopping || left.is_zero() {
                return state.is_stopping;
            }
            let most = self.watchdog.map_or(left, |watchdog| left.min(watchdog / 3));
            let waited = self.shared.changed.wait_timeout(state, most);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn poll(&self, poller: &mut Poller) {
        let begin = Instant::now();
        let poll = poller.poll();
        let took = begin.elapsed();
        let mut state = self.shared.lock();
        let Some(recording) = &mut state.recording else { return };
        recording.add_poll_time(took);
        let driver = DriverNow { facts: poller.driver(), calls: poller.calls() };
        recording.add_poll(poll, driver);
        for id in recording.unread_processes() {
            let process = read_process(poller.host(), id.pid, self.options.store_command);
            recording.set_process(id, process);
        }
    }

    fn read_samples(&self, poller: &mut Poller) {
        let cards = match &self.shared.lock().recording {
            Some(recording) => recording.several_workers(),
            None => Vec::new(),
        };
        if cards.is_empty() {
            poller.notice_exits();
            return;
        }
        let is_wanted = |card: &_| cards.iter().any(|wanted| wanted.is_same_card(card));
        let all_samples = poller.process_samples(is_wanted);
        if let Some(recording) = &mut self.shared.lock().recording {
            all_samples.iter().for_each(|samples| recording.add_samples(samples));
        }
    }

    /// Stores the first tick. Another program may have the database locked for a moment.
    fn first_tick(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + FIRST_TICK;
        loop {
            let mut state = self.shared.lock();
            let stored = state.tick();
            let is_locked =
                matches!(&stored, Err(error) if matches!(error.problem, Problem::Locked));
            if !is_locked || state.is_stopping || Instant::now() > deadline {
                return stored;
            }
        }
    }
}

const fn is_damaged(error: &StoreError) -> bool {
    matches!(error.problem, Problem::Damaged(_))
}

impl Shared {
    /// A panic in another thread leaves the state as it is stored.
    fn lock(&self) -> MutexGuard<'_, LoopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the loop. Ends the recording in its place if that takes too long, and returns false then.
    fn stop_in_time(&self) -> bool {
        let mut state = self.lock();
        state.is_stopping = true;
        self.changed.notify_all();
        let is_recording = |state: &mut LoopState| state.recording.is_some();
        let waited = self.changed.wait_timeout_while(state, LAST_POLL, is_recording);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let has_ended = state.recording.is_none();
        state.end();
        has_ended
    }
}

impl LoopState {
    fn tick(&mut self) -> Result<(), StoreError> {
        self.recording.as_mut().map_or(Ok(()), Recording::tick)
    }

    fn has_holders(&self) -> bool {
        self.recording.as_ref().is_some_and(Recording::has_holders)
    }

    fn reopen_log(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.log().reopen();
        }
    }

    fn end(&mut self) {
        let Some(mut recording) = self.recording.take() else { return };
        recording.log().write("stopping");
        // What fails is logged there.
        let _ = recording.end("stopped");
    }
}

/// Says something to the service manager, if there is one.
fn notify_manager(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}
