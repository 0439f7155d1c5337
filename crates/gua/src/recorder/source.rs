//! Where ticks come from, and when each was made.

use std::time::{Duration, Instant};

use crate::ledger::Clocks;
use crate::sampler::{Sampler, Tick};

/// Reads a host again and again.
pub trait Source {
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
    /// How long the look took.
    pub took: Duration,
}

impl Seen {
    /// Looks now.
    pub fn by(source: &mut impl Source) -> Self {
        let began = Instant::now();
        let tick = source.tick();
        let (clocks, ended) = (probe::clocks::now(), Instant::now());
        Self { tick, clocks, ended, took: ended - began }
    }
}
