//! When to look again, and what to do meanwhile.

use std::time::Duration;

use super::live::Cards;
use super::schedule::{Schedule, Task};
use crate::context::{Clock, Start};

/// The beat of the looks, which does not drift.
#[derive(Debug)]
pub(super) struct Pace {
    start: Start,
    schedule: Schedule,
    /// Whether utilization is to tell of all the time between two looks, of which the driver
    /// keeps some seconds only.
    drains: bool,
}

impl Pace {
    /// The first look is now.
    pub fn new(every: Duration, drains: bool, clock: Clock) -> Self {
        let start = Start::new(clock);
        Self { start, schedule: Schedule::new(every, start.instant()), drains }
    }

    pub fn looked(&mut self, cards: &Cards, clock: Clock) {
        let buffer = cards.buffer_length().filter(|_| self.drains);
        self.schedule.ticked(self.start.now(clock), buffer);
    }

    /// How long after the first look the next one is due.
    pub fn next_after_the_first(&self) -> Duration {
        self.schedule.tick_due().saturating_duration_since(self.start.instant())
    }

    /// Until the next look is due.
    pub fn wait(&mut self, cards: &mut Cards, clock: &mut Clock) {
        loop {
            let (task, at) = self.schedule.next();
            clock.wait(at.saturating_duration_since(self.start.now(*clock)));
            match task {
                Task::Tick => return,
                Task::Drain => {
                    cards.drain();
                    self.schedule.drained(self.start.now(*clock));
                }
            }
        }
    }
}
