//! What the host's signals ask for.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals as Iterator;

/// What a signal asks a recorder for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Stop,
    ReopenLog,
}

/// Signals that are caught.
#[derive(Debug)]
pub struct Signals(Iterator);

impl Signals {
    /// Catches the signals. Those that come before somebody listens are not lost.
    pub fn catch() -> io::Result<Self> {
        Ok(Self(Iterator::new([SIGTERM, SIGINT, SIGHUP, SIGXFSZ])?))
    }

    /// Calls `handle` for each signal, on a thread of its own.
    pub(crate) fn listen(mut self, handle: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in self.0.forever() {
                match signal {
                    SIGHUP => handle(Signal::ReopenLog),
                    // The limit on the size of files: caught, so that the write fails instead.
                    SIGXFSZ => {}
                    _ => handle(Signal::Stop),
                }
            }
        })?;
        Ok(())
    }
}
