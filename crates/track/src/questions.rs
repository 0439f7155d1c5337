//! What was used so far, for whoever asks while it is measured.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use rustix::event::{EventfdFlags, eventfd};

use crate::usage::Usage;

/// Asks a measurement from anywhere.
#[derive(Debug, Clone)]
pub struct Asker {
    ask: Sender<Sender<Usage>>,
    bell: Arc<OwnedFd>,
}

impl Asker {
    /// What was used until now; `None` when the measurement is over.
    #[must_use]
    pub fn so_far(&self) -> Option<Usage> {
        let (answer, answered) = mpsc::channel();
        self.ask.send(answer).ok()?;
        // It fails only when it was rung 2^64 times.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        answered.recv().ok()
    }
}

/// The measurement's side.
#[derive(Debug)]
pub(crate) struct Questions {
    asked: Receiver<Sender<Usage>>,
    pub(crate) rung: Arc<OwnedFd>,
}

impl Questions {
    pub(crate) fn new() -> io::Result<(Asker, Self)> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (ask, asked) = mpsc::channel();
        Ok((Asker { ask, bell: Arc::clone(&bell) }, Self { asked, rung: bell }))
    }

    /// Answers all that have asked, with the same.
    pub(crate) fn answer(&self, so_far: impl FnOnce() -> Usage) {
        // Empty already means that somebody was answered before the bell was heard.
        let _ = rustix::io::read(&self.rung, &mut [0_u8; 8]);
        let waiting: Vec<_> = self.asked.try_iter().collect();
        if waiting.is_empty() {
            return;
        }
        let usage = so_far();
        for answer in waiting {
            // Who asked may have gone.
            let _ = answer.send(usage.clone());
        }
    }
}
