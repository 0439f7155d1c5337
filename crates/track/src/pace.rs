//! When to look: samples at the beat that was asked for, glances in between, and the dear
//! reading of memory maps within a budget.

use std::time::{Duration, Instant};

/// Between samples the tree is glanced at so often, so that no process of some age is missed
/// and the last high-water mark before an end is fresh.
const GLANCE: Duration = Duration::from_millis(10);

/// While nobody works the distance doubles up to this: who sleeps takes no memory and starts
/// nobody.
const IDLE_GLANCE: Duration = Duration::from_millis(80);

/// A glance may cost the 200th part of the time, so twice as long a glance comes half as often.
const GLANCE_SHARE: u32 = 200;

/// A sample may cost a tenth of the time, also where a shorter distance was asked for.
const SAMPLE_SHARE: u32 = 10;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Sample,
    Glance,
}

/// Decides what is due when.
#[derive(Debug)]
pub struct Pace {
    every: Duration,
    sample: Instant,
    glance: Instant,
    /// From one glance to the next.
    distance: Duration,
}

/// What a look took, and what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub cpu: Duration,
    /// Nobody had worked since the look before.
    pub is_idle: bool,
}

impl Pace {
    #[must_use]
    pub fn new(every: Duration, begin: Instant) -> Self {
        Self { every, sample: begin + every, glance: begin + GLANCE, distance: GLANCE }
    }

    /// What is due next, and when.
    #[must_use]
    pub fn next(&self) -> (Instant, Due) {
        if self.glance < self.sample {
            (self.glance, Due::Glance)
        } else {
            (self.sample, Due::Sample)
        }
    }

    /// It was done from `begun` to `ended`.
    pub fn done(&mut self, due: Due, begun: Instant, cost: Cost, ended: Instant) {
        self.distance = if cost.is_idle { (self.distance * 2).min(IDLE_GLANCE) } else { GLANCE };
        match due {
            Due::Sample => {
                let earliest = begun + cost.cpu * SAMPLE_SHARE;
                while self.sample <= ended.max(earliest) {
                    self.sample += self.every;
                }
                self.glance = ended + self.distance;
            }
            Due::Glance => self.glance = begun + self.distance.max(cost.cpu * GLANCE_SHARE),
        }
    }
}

/// What may be spent on something dear: a share of the time, saved up to a limit. One reading
/// may cost more than is there; the next one waits until that is paid for.
#[derive(Debug)]
pub struct Budget {
    /// Nanoseconds; below zero while in debt.
    saved: i128,
    counted: Instant,
}

impl Budget {
    /// The 200th part of the time.
    const SHARE: i128 = 200;
    /// So that after a quiet time one reading of some gigabytes is paid for at once.
    const MOST: i128 = 50_000_000;
    const AT_FIRST: i128 = 10_000_000;

    #[must_use]
    pub const fn new(begin: Instant) -> Self {
        Self { saved: Self::AT_FIRST, counted: begin }
    }

    /// As much saved as can be.
    #[must_use]
    pub const fn full(begin: Instant) -> Self {
        Self { saved: Self::MOST, counted: begin }
    }

    /// Whether something may be spent now.
    pub fn allows(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.counted);
        self.counted = now;
        self.saved = (self.saved + nanoseconds(passed) / Self::SHARE).min(Self::MOST);
        self.saved > 0
    }

    pub fn spend(&mut self, cost: Duration) {
        self.saved -= nanoseconds(cost);
    }
}

fn nanoseconds(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// What is due within `whole` when a sample and a glance cost so much.
    fn play(every: Duration, sample: Duration, glance: Duration, whole: Duration) -> [usize; 2] {
        play_while(false, every, sample, glance, whole)
    }

    fn play_while(
        is_idle: bool,
        every: Duration,
        sample: Duration,
        glance: Duration,
        whole: Duration,
    ) -> [usize; 2] {
        let begin = Instant::now();
        let mut pace = Pace::new(every, begin);
        let mut counts = [0, 0];
        let mut now = begin;
        loop {
            let (at, due) = pace.next();
            now = now.max(at);
            if now > begin + whole {
                return counts;
            }
            let (cost, count) = if due == Due::Sample { (sample, 0) } else { (glance, 1) };
            counts[count] += 1;
            pace.done(due, now, Cost { cpu: cost, is_idle }, now + cost);
            now += cost;
        }
    }

    #[test]
    fn samples_keep_their_beat_whatever_they_cost() {
        let [samples, glances] = play(ms(100), ms(3), Duration::from_micros(20), ms(10_000));
        assert_eq!(samples, 100);
        assert!((800..=900).contains(&glances), "{glances}");
    }

    #[test]
    fn a_dear_sample_comes_at_a_later_beat() {
        let [samples, _] = play(ms(100), ms(25), ms(0), ms(10_000));
        assert_eq!(samples, 34, "25 ms may come every 250 ms at most, so every third beat");
    }

    #[test]
    fn dear_glances_are_rarer() {
        let [_, glances] = play(ms(1000), ms(0), ms(1), ms(10_000));
        assert!((40..=50).contains(&glances), "{glances}");
    }

    #[test]
    fn who_sleeps_is_glanced_at_rarely() {
        let [samples, glances] = play_while(true, ms(1000), ms(0), ms(0), ms(10_000));
        assert_eq!(samples, 10);
        assert!((110..=130).contains(&glances), "{glances}");
    }

    #[test]
    fn there_are_no_glances_between_samples_that_are_close() {
        let [samples, glances] = play(ms(5), ms(0), ms(0), ms(1000));
        assert_eq!((samples, glances), (200, 0));
    }

    #[test]
    fn what_costs_too_much_waits_until_it_is_paid_for() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        let mut readings = 0;
        for second in 0..100 {
            if budget.allows(begin + Duration::from_secs(second)) {
                budget.spend(ms(50));
                readings += 1;
            }
        }
        assert!((9..=11).contains(&readings), "50 ms each 10 s: {readings}");
    }
}
