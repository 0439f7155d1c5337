//! What the host's signals ask for.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals as Iterator;

/// What a signal means to a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Stop,
    ReopenLog,
}

/// Signals, caught from here on.
#[derive(Debug)]
pub struct Signals(Iterator);

impl Signals {
    /// Catches them. What comes before they are listened to is not lost.
    ///
    /// # Errors
    /// When the host does not let us.
    pub fn catch() -> io::Result<Self> {
        Ok(Self(Iterator::new([SIGTERM, SIGINT, SIGHUP, SIGXFSZ])?))
    }

    /// Tells of each on a thread of its own.
    pub(super) fn listen(mut self, tell: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in self.0.forever() {
                match signal {
                    SIGHUP => tell(Signal::ReopenLog),
                    // A file that may not grow: caught, so that the write fails instead.
                    SIGXFSZ => {}
                    _ => tell(Signal::Stop),
                }
            }
        })?;
        Ok(())
    }
}
