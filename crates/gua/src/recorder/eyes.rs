//! Looks on a thread of its own, so that a slow driver blocks nobody.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::beat::Message;
use super::clocks;
use crate::ledger::Clocks;
use crate::sampler::{Sampler, Tick};

/// Where ticks come from.
pub trait Source: Send + 'static {
    /// Reads everything once.
    fn tick(&mut self) -> Tick;

    /// Takes what the driver has sampled, for the next tick.
    fn drain(&mut self);

    /// How long the driver keeps its samples, where it does.
    fn buffer_length(&self) -> Option<Duration>;
}

impl Source for Sampler {
    fn tick(&mut self) -> Tick {
        Self::tick(self)
    }

    fn drain(&mut self) {
        Self::drain(self);
    }

    fn buffer_length(&self) -> Option<Duration> {
        Self::buffer_length(self)
    }
}

/// A tick, and when it was made.
#[derive(Debug)]
pub struct Seen {
    pub tick: Tick,
    pub clocks: Clocks,
    pub ended: Instant,
    pub buffer: Option<Duration>,
}

/// What the eyes are asked for.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Tick,
    Drain,
}

/// The asking side. One thing is asked at a time.
#[derive(Debug)]
pub struct Eyes {
    ask: Sender<Ask>,
    is_busy: bool,
}

impl Eyes {
    /// Lets a source look on a thread of its own and tell what it saw.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(super) fn open(mut source: impl Source, tell: Sender<Message>) -> io::Result<Self> {
        let (ask, asked) = mpsc::channel();
        thread::Builder::new().name("eyes".into()).spawn(move || {
            // Ends when nobody asks or nobody listens any more.
            for ask in asked {
                let told = match ask {
                    Ask::Tick => {
                        let tick = source.tick();
                        let (clocks, ended) = (clocks::now(), Instant::now());
                        let buffer = source.buffer_length();
                        Message::Seen(Box::new(Seen { tick, clocks, ended, buffer }))
                    }
                    Ask::Drain => {
                        source.drain();
                        Message::Drained
                    }
                };
                if tell.send(told).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { ask, is_busy: false })
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    pub(super) fn ask_for_tick(&mut self) {
        self.ask(Ask::Tick);
    }

    pub(super) fn ask_for_drain(&mut self) {
        self.ask(Ask::Drain);
    }

    /// What was asked for has come.
    pub(super) const fn answered(&mut self) {
        self.is_busy = false;
    }

    /// Eyes that are no longer there never answer: the beat notices by the missing ticks.
    fn ask(&mut self, ask: Ask) {
        self.is_busy = true;
        let _ = self.ask.send(ask);
    }
}
