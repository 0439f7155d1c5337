//! When to look again, and what to do meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use gua_query::snapshot::LiveSource;

use super::schedule::{Schedule, Task};

/// The beat of the looks, which does not drift.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    schedule: Schedule,
    /// Whether utilization is to tell of all the time between two looks, of which the driver
    /// keeps some seconds only.
    drains: bool,
}

impl Pace {
    /// The first look is now.
    pub fn new(every: Duration, drains: bool) -> Self {
        let began = Instant::now();
        Self { began, schedule: Schedule::new(every, began), drains }
    }

    pub fn looked(&mut self, source: &LiveSource) {
        let buffer = source.buffer_length().filter(|_| self.drains);
        self.schedule.ticked(Instant::now(), buffer);
    }

    /// How long after the first look the next one is due.
    pub fn next_after_the_first(&self) -> Duration {
        self.schedule.tick_due().saturating_duration_since(self.began)
    }

    /// Until the next look is due.
    pub fn wait(&mut self, source: &mut LiveSource) {
        loop {
            let (task, at) = self.schedule.next();
            thread::sleep(at.saturating_duration_since(Instant::now()));
            match task {
                Task::Tick => return,
                Task::Drain => {
                    source.drain();
                    self.schedule.drained(Instant::now());
                }
            }
        }
    }
}
