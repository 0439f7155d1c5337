//! When to poll, when to store a tick and when to read process samples. Pure.

use std::time::{Duration, Instant};

/// Longest time between two polls.
const LONGEST_POLL: Duration = Duration::from_secs(5);

/// Time between two readings of process samples and of exits.
const SECOND: Duration = Duration::from_secs(1);

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Read process samples, and notice exits.
    Samples,
    Poll,
    /// Poll, and store a tick.
    Tick,
}

/// A schedule that does not drift and does not catch up on what it missed.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    interval: Duration,
    poll_every: Duration,
    tick: Instant,
    poll: Instant,
    samples: Option<Instant>,
}

/// Returns the time between two polls: as many of them as needed fill the interval evenly.
#[must_use]
pub fn poll_interval(interval: Duration) -> Duration {
    let polls = interval.as_nanos().div_ceil(LONGEST_POLL.as_nanos()).max(1);
    interval / u32::try_from(polls).unwrap_or(u32::MAX)
}

impl Schedule {
    /// Returns a schedule whose first tick is due at once.
    #[must_use]
    pub fn new(interval: Duration, now: Instant) -> Self {
        let poll_every = poll_interval(interval);
        Self { interval, poll_every, tick: now, poll: now, samples: None }
    }

    /// Returns what is next, and when.
    #[must_use]
    pub fn next(&self) -> (Task, Instant) {
        match self.samples {
            Some(at) if at < self.poll => (Task::Samples, at),
            _ if self.tick <= self.poll => (Task::Tick, self.poll),
            _ => (Task::Poll, self.poll),
        }
    }

    /// Plans what follows a task. `are_samples_needed` is whether to read something each second.
    pub fn done(&mut self, task: Task, now: Instant, are_samples_needed: bool) {
        match task {
            Task::Samples => {}
            Task::Tick => {
                self.poll = after(self.poll, now, self.poll_every);
                self.tick = after(self.tick, now, self.interval);
            }
            Task::Poll => self.poll = after(self.poll, now, self.poll_every),
        }
        let due = self.samples.unwrap_or(now);
        self.samples = are_samples_needed.then(|| match task {
            Task::Samples => after(due, now, SECOND),
            _ => now + SECOND,
        });
    }
}

/// Returns the next moment in step with `due` that is still to come.
fn after(due: Instant, now: Instant, every: Duration) -> Instant {
    let missed = now.saturating_duration_since(due).as_nanos() / every.as_nanos().max(1);
    let missed = u32::try_from(missed).unwrap_or(u32::MAX - 1);
    due + every.saturating_mul(missed + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Runs a schedule for some time, with tasks that take no time.
    fn tasks(interval: Duration, samples: bool, length: Duration) -> Vec<(Task, Duration)> {
        let start = Instant::now();
        let mut schedule = Schedule::new(interval, start);
        let mut tasks = Vec::new();
        loop {
            let (task, at) = schedule.next();
            if at - start > length {
                return tasks;
            }
            tasks.push((task, at - start));
            schedule.done(task, at, samples);
        }
    }

    #[test]
    fn polls_come_at_least_every_five_seconds_and_each_tick_with_one() {
        let all = tasks(seconds(30), false, seconds(60));
        let expected: Vec<_> = (0..=12)
            .map(|poll| (if poll % 6 == 0 { Task::Tick } else { Task::Poll }, seconds(5 * poll)))
            .collect();
        assert_eq!(all, expected);
        assert_eq!(tasks(seconds(1), false, seconds(2)).len(), 3);
        assert!(tasks(seconds(1), false, seconds(2)).iter().all(|(task, _)| *task == Task::Tick));
        assert_eq!(poll_interval(seconds(12)), seconds(4));
        assert_eq!(poll_interval(seconds(7)), Duration::from_millis(3500));
        assert_eq!(poll_interval(Duration::from_millis(100)), Duration::from_millis(100));
    }

    #[test]
    fn samples_are_read_each_second_between_polls() {
        let all = tasks(seconds(10), true, seconds(10));
        let names: String = all
            .iter()
            .map(|(task, _)| match task {
                Task::Samples => 's',
                Task::Poll => 'p',
                Task::Tick => 't',
            })
            .collect();
        assert_eq!(names, "tsssspsssst");
    }

    #[test]
    fn late_tasks_keep_step_and_are_not_made_up_for() {
        let start = Instant::now();
        let mut schedule = Schedule::new(seconds(30), start);
        schedule.done(Task::Tick, start + Duration::from_millis(400), false);
        assert_eq!(schedule.next(), (Task::Poll, start + seconds(5)));
        schedule.done(Task::Poll, start + seconds(17), false);
        assert_eq!(schedule.next(), (Task::Poll, start + seconds(20)), "one, not three");
        schedule.done(Task::Poll, start + seconds(91), false);
        assert_eq!(schedule.next(), (Task::Tick, start + seconds(95)), "the tick is overdue");
        schedule.done(Task::Tick, start + seconds(95), false);
        assert_eq!(schedule.next(), (Task::Poll, start + seconds(100)));
        for poll in 1..5 {
            schedule.done(Task::Poll, start + seconds(95 + 5 * poll), false);
        }
        assert_eq!(schedule.next(), (Task::Tick, start + seconds(120)));
    }
}
