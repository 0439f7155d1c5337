//! What the caller holds while a measurement goes on, and what it gets at the end.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use probe::oneshot::{Received, Receiver};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, Signal, getpgid, getpgrp, pidfd_send_signal};

use crate::process::Process;
use crate::questions::Asker;
use crate::tracker;
use crate::usage::Usage;

/// Ends a measurement from anywhere.
#[derive(Debug, Clone)]
pub struct Stopper(pub(crate) Arc<OwnedFd>);

impl Stopper {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub fn stop(&self) {
        // It fails only when it was stopped 2^64 times.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// A running process that is measured.
#[derive(Debug)]
pub struct Tracking {
    pub(crate) stopper: Stopper,
    pub(crate) asker: Asker,
    pub(crate) thread: JoinHandle<Option<Usage>>,
    /// No longer awaited when the thread has ended, also by a panic. Not a channel, whose first wait
    /// takes the loader's lock, which a driver may hold for ever.
    pub(crate) over: Receiver<()>,
}

impl Tracking {
    /// Ends the measurement now.
    ///
    /// # Panics
    /// When the function that is told of samples has panicked.
    #[must_use]
    pub fn stop(self) -> Usage {
        self.stopper.stop();
        self.wait()
    }

    /// Measures until the process ends, or somebody stops it.
    ///
    /// # Panics
    /// When the function that is told of samples has panicked.
    #[must_use]
    pub fn wait(self) -> Usage {
        let used = joined(self.thread);
        // A `Tracking` is made after its thread was given what to measure.
        used.unwrap_or_else(|| resume_unwind(Box::new("the measurement has never begun")))
    }

    /// Waits for the end, at most so long. Returns true if it is over: then [`Self::wait`] returns
    /// at once.
    #[must_use]
    pub fn is_over_within(&self, most: Duration) -> bool {
        !matches!(self.over.within(most), Received::NotYet)
    }

    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    #[must_use]
    pub fn asker(&self) -> Asker {
        self.asker.clone()
    }
}

/// Sends signals to a command, and never to another process that has got its pid.
#[derive(Debug, Clone)]
pub struct Signaller {
    pub(crate) pid: u32,
    pub(crate) main: Arc<OwnedFd>,
}

impl Signaller {
    /// # Errors
    /// When the command has ended.
    pub fn send(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.main, signal)?)
    }

    /// Whether it is, at the moment, in our process group, to which a terminal sends its keys.
    /// What is told of one that has ended means nothing; no signal will reach it either.
    #[must_use]
    pub fn is_in_our_group(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        getpgid(pid).is_ok_and(|group| group == getpgrp())
    }
}

/// A command that is measured.
#[derive(Debug)]
pub struct Running {
    pub(crate) main: Signaller,
    pub(crate) thread: JoinHandle<Finished>,
}

/// How a command ended, and what it used.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub usage: Usage,
    /// Those of its descendants that go on without it.
    pub left: Vec<Left>,
}

/// A descendant that outlived the command.
#[derive(Debug)]
pub struct Left {
    pub pid: u32,
    pub(crate) main: OwnedFd,
}

impl Left {
    /// `None` when it has ended meanwhile.
    pub(crate) fn hold(process: &Process) -> Option<Self> {
        let main = tracker::handle(process.pid).ok()?;
        // The handle was asked for by pid: it holds the right one if that is still there.
        process.is_there().then_some(Self { pid: process.pid, main })
    }

    /// # Errors
    /// When it has ended.
    pub fn send(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.main, signal)?)
    }

    /// Waits until it has ended, or until then.
    #[must_use]
    pub fn has_ended_by(&self, until: Instant) -> bool {
        wait_for(&[&self.main], until)[0]
    }
}

impl Running {
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.main.pid
    }

    #[must_use]
    pub fn signaller(&self) -> Signaller {
        self.main.clone()
    }

    /// Waits for the command's end.
    ///
    /// # Panics
    /// When the function that is told of samples has panicked.
    #[must_use]
    pub fn wait(self) -> Finished {
        joined(self.thread)
    }
}

/// A panic of the thread goes on in the caller.
fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Which of these have something to tell, at the latest then.
pub(crate) fn wait_for(handles: &[&OwnedFd], until: Instant) -> Vec<bool> {
    let mut asked: Vec<_> =
        handles.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
    let left = until.saturating_duration_since(Instant::now());
    // A signal ends it early; then it is looked at early.
    let _ = poll(&mut asked, Timespec::try_from(left).ok().as_ref());
    asked.iter().map(|handle| handle.revents().contains(PollFlags::IN)).collect()
}
