//! Measures a running process, or a command that it starts.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::oneshot::{self, Received, Sender};
use probe::threads;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::follower::{Alarms, Follower};
use crate::gpu::Gpu;
use crate::handles::{Running, Signaller, Stopper, Tracking};
use crate::kernel;
use crate::measure::{Begin, Measurement, Watch};
use crate::members::Members;
use crate::options::Options;
use crate::ourselves::OurThreads;
use crate::pace::Pace;
use crate::process::{self, Unread};
use crate::questions::Questions;
use crate::sample::Sample;
use crate::tree::Tree;

/// How long a thread may take to begin.
const FOR_A_THREAD: Duration = Duration::from_secs(5);

/// Measures what a process and its descendants use.
///
/// ```
/// use std::process::Command;
/// use std::time::Duration;
/// use track::{Cards, Options, Tracker};
///
/// let options =
///     Options { every: Duration::from_millis(20), cards: Cards::None, ..Options::default() };
/// let mut command = Command::new("sh");
/// command.args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3"]);
/// let finished = Tracker::new(options).spawn(command)?.wait();
/// assert_eq!(finished.status.code(), Some(3));
/// assert!(finished.usage.cpu.time.main > Duration::from_millis(1));
/// assert!(finished.usage.ram.peak.main.total.0 > 500_000);
/// # Ok::<(), track::SpawnError>(())
/// ```
pub struct Tracker {
    options: Options,
    watch: Option<Watch>,
}

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracker").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Why a process cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("there is no process {0}")]
    Gone(u32),
    #[error("{pid} is a thread of process {process}")]
    Thread { pid: u32, process: u32 },
    #[error("process {0} may not be read")]
    Hidden(u32),
    #[error("a process cannot be waited for: {0}")]
    System(#[from] io::Error),
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("command not found")]
    NotFound,
    #[error("permission denied")]
    NotExecutable,
    #[error("{0}")]
    Other(io::Error),
}

impl From<io::Error> for SpawnError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied => Self::NotExecutable,
            _ => Self::Other(error),
        }
    }
}

impl Tracker {
    #[must_use]
    pub fn new(options: Options) -> Self {
        let every = options.every.clamp(Options::SHORTEST, Options::LONGEST);
        Self { options: Options { every, ..options }, watch: None }
    }

    /// Calls `watch` with each sample, on the thread that measures: be quick there. A run that
    /// ends before its first sample is due has one at its end.
    #[must_use]
    pub fn on_sample(mut self, watch: impl FnMut(&Sample) + Send + 'static) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Measures a running process, and what descends from it, from now on.
    ///
    /// # Errors
    /// When there is none, or it may not be read.
    pub fn start(self, pid: u32) -> Result<Tracking, StartError> {
        let at = Instant::now();
        let main = handle(pid).map_err(|errno| match errno {
            Errno::SRCH | Errno::INVAL | Errno::NOENT => not_a_process(pid),
            errno => StartError::System(errno.into()),
        })?;
        let members = Members::default();
        let tree = Tree::attached(pid, members.clone()).map_err(|unread| match unread {
            Unread::Gone => not_a_process(pid),
            Unread::Hidden | Unread::NoRoom => StartError::Hidden(pid),
        })?;
        let ours = OurThreads::of(Some(pid));
        let stopper = Stopper::new()?;
        let (asker, questions) = Questions::new()?;
        // A driver that hangs in the loader keeps threads from beginning, so this one begins
        // before the driver is opened.
        let (begin, begun) = oneshot::channel();
        let (give, given) = oneshot::channel::<Follower>();
        let (end, over) = oneshot::channel();
        let follow = move || {
            let _told_when_dropped: Sender<()> = end;
            begin.send(());
            match given.within(Duration::MAX) {
                Received::Value(follower) => Some(follower.until_stopped()),
                Received::NotYet | Received::Closed => None,
            }
        };
        let thread = threads::spawn(threads::named("track"), follow)?;
        if !matches!(begun.within(FOR_A_THREAD), Received::Value(())) {
            return Err(StartError::System(no_thread()));
        }
        let gpu = Gpu::begin(&self.options, members);
        // While the driver looks.
        let begin = Begin { tree, at, ours, gpu };
        let mut measurement = Measurement::begin(&self.options, begin, self.watch);
        // Who measures itself takes memory of a card as soon as this returns.
        measurement.wait_for_first_look();
        let alarms = Alarms::new(Arc::new(main), stopper.clone(), &questions);
        let pace = Pace::new(self.options.every, at);
        give.send(Follower::new(measurement, pace, questions, alarms));
        Ok(Tracking { stopper, asker, thread, over })
    }

    /// Starts a command and measures it until it ends. Orphans among its descendants come to
    /// this process, which waits for them: start no other children meanwhile.
    ///
    /// # Errors
    /// When the command cannot be started, or not be measured; then it does not run.
    pub fn spawn(self, mut command: Command) -> Result<Running, SpawnError> {
        let stopper = Stopper::new()?;
        let (_, questions) = Questions::new()?;
        let us = i32::try_from(std::process::id()).ok().and_then(Pid::from_raw);
        rustix::process::set_child_subreaper(us).map_err(io::Error::from)?;
        kernel::prepare(&mut command)?;
        let at = Instant::now();
        let child = command.spawn()?;
        let pid = child.id();
        let main = match handle(pid) {
            Ok(main) => Arc::new(main),
            Err(errno) => return end(child, errno.into()),
        };
        let members = Members::default();
        let tree = Tree::born(pid, members.clone());
        // Only now, so that the command inherits none of the driver's files.
        let gpu = Gpu::begin(&self.options, members).map(Gpu::born_with_nothing);
        let begin = Begin { tree, at, ours: OurThreads::of(Some(pid)), gpu };
        let mut measurement = Measurement::begin(&self.options, begin, self.watch);
        measurement.settle();
        let alarms = Alarms::new(Arc::clone(&main), stopper, &questions);
        let pace = Pace::new(self.options.every, at);
        let follower = Follower::new(measurement, pace, questions, alarms);
        let follow = move || follower.until_waited_for(pid);
        match threads::spawn(threads::named("track"), follow) {
            Ok(thread) => Ok(Running { main: Signaller { pid, main }, thread }),
            Err(error) => end(child, error),
        }
    }
}

fn not_a_process(pid: u32) -> StartError {
    match process::of_thread(pid) {
        Some(process) => StartError::Thread { pid, process },
        None => StartError::Gone(pid),
    }
}

fn no_thread() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no thread begins. Does the driver hang?")
}

pub(crate) fn handle(pid: u32) -> rustix::io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    pidfd_open(pid, PidfdFlags::empty())
}

/// A command that cannot be measured is not left running.
fn end<T>(mut child: Child, error: io::Error) -> Result<T, SpawnError> {
    child.kill()?;
    child.wait()?;
    Err(SpawnError::Other(error))
}
