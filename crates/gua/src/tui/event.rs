//! What happens while the view is shown, from all sides, one after the other.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::key::Key;
use super::look::Look;
use super::past::Past;
use super::source::Source;
use crate::failure::Failure;
use crate::interval::Interval;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    Look(Box<Look>),
    /// What was recorded, or why it could not be read.
    Past(Result<Past, Failure>),
    Key(Key),
    Resized,
    Signal(i32),
    /// There is nothing to look at, and will not be.
    Failed(Failure),
    /// Nobody can press a key any more.
    InputEnded,
}

/// Reads what was recorded; it may take its time.
pub type ReadPast = Box<dyn FnOnce() -> Result<Past, Failure> + Send>;

/// Looks at the beat on a thread of its own: a driver that hangs keeps no key waiting.
///
/// # Errors
/// When the host does not let us have a thread.
pub fn watch(
    mut source: Box<dyn Source>,
    every: Duration,
    past: Option<ReadPast>,
) -> io::Result<(Sender<Event>, Receiver<Event>)> {
    let (tell, events) = mpsc::channel();
    if let Some(read) = past {
        let tell = tell.clone();
        spawn("history", move || drop(tell.send(Event::Past(read()))))?;
    }
    let looks = Looks(tell.clone());
    spawn("looks", move || {
        let mut interval = Interval::new(every, Instant::now());
        loop {
            let event = match source.look() {
                Ok(look) => Event::Look(Box::new(look)),
                Err(failure) => Event::Failed(failure),
            };
            let is_last = matches!(event, Event::Failed(_));
            if looks.0.send(event).is_err() || is_last {
                return;
            }
            thread::sleep(interval.until_next(Instant::now()));
        }
    })?;
    Ok((tell, events))
}

/// Tells when there will be no more of them, also when the thread that looks has fallen over.
struct Looks(Sender<Event>);

impl Drop for Looks {
    fn drop(&mut self) {
        // Nobody listens any more where the view has ended.
        let _ = self.0.send(Event::Failed(Failure::Failed {
            what: "the thread that looks at the cards has ended".to_owned(),
            next: "This is a mistake of gua; please report it.".to_owned(),
        }));
    }
}

/// Catches the signals that would leave the terminal as it must not be left.
///
/// # Errors
/// When the host does not let us.
pub fn catch_signals(tell: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT])?;
    spawn("signals", move || {
        for signal in signals.forever() {
            if tell.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    })
}

/// Waits for keys, for as long as there is a terminal.
///
/// # Errors
/// When the host does not let us have a thread.
pub fn read_keys(tell: Sender<Event>) -> io::Result<()> {
    spawn("keys", move || {
        loop {
            let event = match crossterm::event::read() {
                Ok(crossterm::event::Event::Resize(..)) => Some(Event::Resized),
                Ok(event) => Key::of(&event).map(Event::Key),
                Err(_) => Some(Event::InputEnded),
            };
            let is_last = matches!(event, Some(Event::InputEnded));
            let is_heard = event.is_none_or(|event| tell.send(event).is_ok());
            if is_last || !is_heard {
                return;
            }
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}
