//! The loop: looks when it is time, keeps what is seen, ends when it is told to.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::eyes::{Eyes, Seen, Source};
use super::log::Log;
use super::recording::Recording;
use super::schedule::{Schedule, Task};
use super::signals::{Signal, Signals};
use crate::store::{Ending, StoreError};

/// How long a last look may take when the recorder is told to end.
const LAST_LOOK: Duration = Duration::from_millis(300);

/// A look that takes longer than that is not coming back: better to be started anew.
const STUCK: Duration = Duration::from_secs(120);

/// What the loop is told.
#[derive(Debug)]
pub(super) enum Message {
    Seen(Box<Seen>),
    Drained,
    Signal(Signal),
}

/// A recorder at work.
#[derive(Debug)]
pub struct Beat {
    recording: Recording,
    log: Log,
    schedule: Schedule,
    interval: Duration,
    eyes: Eyes,
    told: Receiver<Message>,
    asked: Instant,
    /// How often the service manager wants to hear from us.
    watchdog: Option<Duration>,
}

/// How it ended.
#[derive(Debug)]
pub enum Outcome {
    Stopped,
    /// It could not be kept at all.
    Failed(StoreError),
}

impl Beat {
    /// Gets ready, with threads for looking and listening.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn new(
        source: impl Source,
        recording: Recording,
        signals: Signals,
        interval: Duration,
        log: Log,
    ) -> io::Result<Self> {
        let (tell, told) = mpsc::channel();
        signals.listen(tell.clone())?;
        let now = Instant::now();
        Ok(Self {
            recording,
            log,
            schedule: Schedule::new(interval, now),
            interval,
            eyes: Eyes::open(source, tell)?,
            told,
            asked: now,
            watchdog: sd_notify::watchdog_enabled(),
        })
    }

    /// Records until it is told to end. `ready` hears of the first tick that is stored; where
    /// that cannot be, there is no recorder.
    pub fn run(mut self, ready: impl FnOnce()) -> Outcome {
        let mut ready = Some(ready);
        loop {
            self.tell_the_watchdog();
            match self.told.recv_timeout(self.until_something_is_due()) {
                Ok(Message::Seen(seen)) => {
                    let stored = self.seen(&seen);
                    match (stored, ready.take()) {
                        (Ok(()), Some(ready)) => {
                            let _ = sd_notify::notify(&[NotifyState::Ready]);
                            ready();
                        }
                        (Err(error), Some(_)) => return Outcome::Failed(error),
                        (Err(error @ StoreError::Damaged(_)), None) => {
                            return Outcome::Failed(error);
                        }
                        (_, None) => {}
                    }
                }
                Ok(Message::Drained) => {
                    self.eyes.answered();
                    self.schedule.drained(Instant::now());
                }
                Ok(Message::Signal(Signal::ReopenLog)) => self.log.reopen(),
                Ok(Message::Signal(Signal::Stop)) => return self.stop(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.do_what_is_due();
                }
            }
        }
    }

    fn until_something_is_due(&self) -> Duration {
        // While the eyes are busy there is nothing to ask for.
        let due = if self.eyes.is_busy() { None } else { Some(self.schedule.next().1) };
        let due = due.map(|due| due.saturating_duration_since(Instant::now()));
        let often = self.watchdog.map(|watchdog| watchdog / 3);
        due.into_iter().chain(often).min().unwrap_or(STUCK)
    }

    fn do_what_is_due(&mut self) {
        let (task, due) = self.schedule.next();
        if self.eyes.is_busy() || Instant::now() < due {
            return;
        }
        self.asked = Instant::now();
        match task {
            Task::Tick => self.eyes.ask_for_tick(),
            Task::Drain => self.eyes.ask_for_drain(),
        }
    }

    fn seen(&mut self, seen: &Seen) -> Result<(), StoreError> {
        self.eyes.answered();
        let late = seen.ended.saturating_duration_since(self.schedule.tick_due());
        let late = Some(late).filter(|late| *late > self.interval / 2);
        self.schedule.ticked(seen.ended, seen.buffer);
        self.recording.record(seen, late, &mut self.log)
    }

    /// Takes one more look for the time since the last tick, if that goes at once.
    fn stop(mut self) -> Outcome {
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        let deadline = Instant::now() + LAST_LOOK;
        if !self.eyes.is_busy() {
            self.eyes.ask_for_tick();
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok(Message::Seen(seen)) => {
                    // Where it cannot be stored that is logged already.
                    let _ = self.seen(&seen);
                    break;
                }
                Ok(Message::Drained) => self.eyes.ask_for_tick(),
                Ok(Message::Signal(_)) => {}
                Err(_) => break,
            }
        }
        if let Err(error) = self.recording.end(Ending::Stopped) {
            self.log.say(&format!("the end of the run could not be stored: {error}"));
        }
        self.log.say("stopped");
        Outcome::Stopped
    }

    /// Silence lets the service manager start a recorder anew whose looks do not return.
    fn tell_the_watchdog(&self) {
        if self.watchdog.is_some() && !(self.eyes.is_busy() && self.asked.elapsed() > STUCK) {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
}
