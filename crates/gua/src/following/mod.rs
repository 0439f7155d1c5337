//! Follows a command to its end, and lets signals that are meant for it through.
//!
//! Who runs a command under another program thinks of the command: a signal that somebody
//! sends to us is for it. What a terminal sends (Ctrl-C) goes to the command as well as to us,
//! so that is only noted, unless the command has left our process group. Either way we stay to
//! tell what the command used.
//!
//! Who signals a whole process group (`timeout` does) reaches the command twice, once through
//! us: a signal does not tell whom else it was sent to.

mod ignored;
pub mod interpreter;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Cause;
use track::orphans::Children;
use track::{Finished, Left, Running};

/// What would end us, and with it the measurement.
const CAUGHT: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// Those of them that ask for an end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Those of them that are keys of a terminal. Its end (hangup) is none: who leaves our process
/// group may do so to outlive it.
const KEYS: [i32; 2] = [SIGINT, SIGQUIT];

/// How long descendants may take to end after their command did.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long those may take that are ended by force.
const FORCED: Duration = Duration::from_secs(1);

/// A signal that came to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub signal: i32,
    pub from: Source,
}

/// Where a signal came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A process, to us alone.
    Process,
    /// The kernel: a key of the terminal, or its end. Our whole process group got it.
    Terminal,
}

/// What became of a command.
#[derive(Debug)]
pub struct Followed {
    pub finished: Finished,
    /// How many of its descendants had to be ended by force, see [`Listener::follow`].
    pub killed: u32,
}

type Tell = Box<dyn FnMut(Heard) + Send>;

/// Signals, caught from here on. Catch them before the command is started, so that none is
/// lost and none ends us while the command goes on.
#[derive(Debug)]
pub struct Listener {
    caught: Vec<i32>,
    children: Children,
    tell: Sender<Tell>,
    handle: Handle,
    thread: JoinHandle<Vec<Heard>>,
}

impl Listener {
    /// Catches those that are not ignored: who started us with `nohup` wants both of us to go
    /// on. A command does not inherit that they are caught.
    ///
    /// # Errors
    /// When the host does not let us.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored::of_this_process();
        let caught: Vec<i32> = CAUGHT.into_iter().filter(|signal| !ignored.has(*signal)).collect();
        let mut signals = SignalsInfo::<WithOrigin>::new(&caught)?;
        let handle = signals.handle();
        let (tell, told) = mpsc::channel::<Tell>();
        let listen = move || {
            let mut heard = Vec::new();
            // Whatever comes before we know what to do with it waits in the iterator.
            let Ok(mut tell) = told.recv() else { return heard };
            for origin in signals.forever() {
                let new = Heard::from(&origin);
                heard.push(new);
                tell(new);
            }
            heard
        };
        let thread = thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(Self { caught, children: Children::to_come(), tell, handle, thread })
    }

    /// Tells of each signal, also of those that came already, on a thread of its own.
    pub fn tell(self, on_signal: impl FnMut(Heard) + Send + 'static) -> Hearing {
        // The thread waits for nothing else, so it is there to take it.
        let _ = self.tell.send(Box::new(on_signal));
        Hearing { caught: self.caught, handle: self.handle, thread: self.thread }
    }

    /// Waits for a command, and sends on what is sent to us meanwhile.
    ///
    /// Who ends us by a signal of theirs wants all of it to end: descendants that outlive the
    /// command get the same signal and, when they go on for [`GRACE`], an end. Those that
    /// outlive a key of the terminal got it themselves, or were put out of its reach, and those
    /// of a command that ends by itself were meant to.
    #[must_use]
    pub fn follow(self, running: Running) -> Followed {
        let (command, children) = (running.signaller(), self.children);
        let hearing = self.tell(move |heard| {
            let is_missed = KEYS.contains(&heard.signal) && !command.is_in_our_group();
            if heard.from == Source::Process || is_missed {
                // It may be gone by now; then there is nobody to be told.
                let _ = signal(heard.signal).map(|signal| command.send(signal));
            }
        });
        let finished = running.wait();
        match last_end(&hearing.end()) {
            Some(signal) => ended(finished, signal, children),
            None => Followed { finished, killed: 0 },
        }
    }
}

/// The last signal that was let through to the command, if it asks for an end.
fn last_end(heard: &[Heard]) -> Option<Signal> {
    let sent = heard.iter().rev().find(|heard| heard.from == Source::Process)?;
    ENDING.contains(&sent.signal).then(|| signal(sent.signal))?
}

fn signal(number: i32) -> Option<Signal> {
    Signal::from_named_raw(number)
}

/// A command of which all is to end: what goes on now has withstood even force.
fn ended(mut finished: Finished, signal: Signal, children: Children) -> Followed {
    let asked = end(finished.left, signal, GRACE, children);
    let forced = end(asked.left, Signal::KILL, FORCED, children);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    finished.usage.processes.left_running = count(forced.left.len());
    let killed = count(forced.told.saturating_sub(forced.left.len()));
    finished.left = forced.left;
    Followed { finished, killed }
}

/// What came of asking for an end.
struct Asked {
    told: usize,
    left: Vec<Left>,
}

/// Asks all that is left to end, and those as well whom they start meanwhile: when their
/// parents have ended they come to us.
fn end(mut left: Vec<Left>, signal: Signal, within: Duration, children: Children) -> Asked {
    let until = Instant::now() + within;
    let mut told = send(&left, signal);
    loop {
        left.retain(|process| !process.has_ended_by(until));
        let is_known = |pid: u32| left.iter().any(|process| process.pid == pid);
        let mut new = children.orphans();
        new.retain(|process| !is_known(process.pid));
        told += send(&new, signal);
        let is_over = new.is_empty() || Instant::now() >= until;
        left.append(&mut new);
        if is_over {
            return Asked { told, left };
        }
    }
}

/// How many there were.
fn send(processes: &[Left], signal: Signal) -> usize {
    for process in processes {
        // It may have ended meanwhile.
        let _ = process.send(signal);
    }
    processes.len()
}

/// Signals that are being told of.
#[derive(Debug)]
pub struct Hearing {
    caught: Vec<i32>,
    handle: Handle,
    thread: JoinHandle<Vec<Heard>>,
}

impl Hearing {
    /// Stops telling. From here on the second signal ends us: one may still be about what is
    /// over, and what is left to do, such as writing to a pipe that nobody reads, may take for
    /// ever.
    #[must_use]
    pub fn end(self) -> Vec<Heard> {
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in self.caught {
            // In this order: each looks at the flag before it sets it.
            let _ = flag::register_conditional_default(signal, Arc::clone(&is_second));
            let _ = flag::register(signal, Arc::clone(&is_second));
        }
        self.handle.close();
        self.thread.join().unwrap_or_default()
    }
}

impl From<&Origin> for Heard {
    fn from(origin: &Origin) -> Self {
        let from = match origin.cause {
            Cause::Kernel => Source::Terminal,
            _ => Source::Process,
        };
        Self { signal: origin.signal, from }
    }
}
