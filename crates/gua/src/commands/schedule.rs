//! When to look, and when to drain the driver's samples in between.

use std::time::{Duration, Instant};

/// The share of the driver's buffer that may fill up before it is drained: the rest is for
/// drains that come late. A buffer of 16.7 s is drained once in 30 s then.
const FULL_ENOUGH: f64 = 0.9;

/// More drains than that between two ticks would cost more than they are worth.
const MOST_DRAINS: u32 = 1000;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Tick,
    Drain,
}

/// A beat that does not drift, and does not catch up on what it missed.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    interval: Duration,
    /// When the next tick is due.
    tick: Instant,
    /// How far apart drains are, where they are needed, and when the next one is due.
    drain: Option<(Duration, Instant)>,
}

impl Schedule {
    /// The first tick is due at once.
    #[must_use]
    pub const fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, tick: now, drain: None }
    }

    /// What is next, and when.
    #[must_use]
    pub fn next(&self) -> (Task, Instant) {
        match self.drain {
            Some((_, at)) if at < self.tick => (Task::Drain, at),
            _ => (Task::Tick, self.tick),
        }
    }

    /// When the next tick is due, or was.
    #[must_use]
    pub const fn tick_due(&self) -> Instant {
        self.tick
    }

    /// A tick was made. `buffer` is the length of the driver's buffer, where it has one.
    pub fn ticked(&mut self, now: Instant, buffer: Option<Duration>) {
        self.tick = after(self.tick, now, self.interval);
        let apart = buffer.and_then(|buffer| apart(self.interval, buffer));
        self.drain = apart.map(|apart| (apart, now + apart));
    }

    /// A drain was made.
    pub fn drained(&mut self, now: Instant) {
        self.drain = self.drain.map(|(apart, at)| (apart, after(at, now, apart)));
    }
}

/// The next moment in step with `due` that is still to come.
fn after(due: Instant, now: Instant, every: Duration) -> Instant {
    let missed = now.saturating_duration_since(due).as_nanos() / every.as_nanos().max(1);
    let missed = u32::try_from(missed).unwrap_or(u32::MAX - 1);
    due + every.saturating_mul(missed + 1)
}

/// How far apart drains have to be, where one look does not see all.
fn apart(interval: Duration, buffer: Duration) -> Option<Duration> {
    let parts = (interval.as_secs_f64() / (buffer.as_secs_f64() * FULL_ENOUGH)).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let parts = (parts as u32).min(MOST_DRAINS);
    (parts > 1).then(|| interval / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_beat_keeps_its_step_and_does_not_catch_up() {
        let start = Instant::now();
        let mut schedule = Schedule::new(seconds(30.0), start);
        assert_eq!(schedule.next(), (Task::Tick, start));
        schedule.ticked(start + seconds(0.4), None);
        assert_eq!(schedule.next(), (Task::Tick, start + seconds(30.0)));
        schedule.ticked(start + seconds(30.1), None);
        assert_eq!(schedule.next(), (Task::Tick, start + seconds(60.0)));
        schedule.ticked(start + seconds(155.0), None);
        assert_eq!(schedule.next(), (Task::Tick, start + seconds(180.0)), "one, not three");
    }

    #[test]
    fn the_buffer_is_drained_before_it_runs_over() {
        let start = Instant::now();
        let mut schedule = Schedule::new(seconds(30.0), start);
        schedule.ticked(start, Some(seconds(16.7)));
        let mut told = Vec::new();
        for _ in 0..2 {
            let (task, at) = schedule.next();
            told.push((task, at - start));
            match task {
                Task::Drain => schedule.drained(at),
                Task::Tick => schedule.ticked(at, Some(seconds(16.7))),
            }
        }
        let expected = [(Task::Drain, 15.0), (Task::Tick, 30.0)];
        assert_eq!(told, expected.map(|(task, at)| (task, seconds(at))));
    }

    #[test]
    fn what_one_look_sees_is_not_drained() {
        assert_eq!(apart(seconds(10.0), seconds(16.7)), None);
        assert_eq!(apart(seconds(3600.0), seconds(16.7)), Some(seconds(3600.0) / 240));
        assert_eq!(apart(seconds(3600.0), seconds(0.0)), Some(seconds(3.6)));
    }
}
