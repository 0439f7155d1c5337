//! What the host's signals ask for.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Iterator;

use super::beat::Message;

/// What a signal means to a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
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
        Ok(Self(Iterator::new([SIGTERM, SIGINT, SIGHUP])?))
    }

    pub(super) fn listen(mut self, tell: Sender<Message>) -> io::Result<()> {
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in self.0.forever() {
                let meant = if signal == SIGHUP { Signal::ReopenLog } else { Signal::Stop };
                if tell.send(Message::Signal(meant)).is_err() {
                    break;
                }
            }
        })?;
        Ok(())
    }
}
