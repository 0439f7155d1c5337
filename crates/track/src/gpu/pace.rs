//! When to look again.

use std::time::Duration;

/// The driver itself samples no more often than this.
const CLOSEST: Duration = Duration::from_millis(10);

/// A look takes at most this part of the time: a twentieth.
const PART: u32 = 20;

/// How long looks take, and so how far apart they have to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    asked: Duration,
    took: Option<[Duration; 2]>,
    looks: u64,
}

impl Pace {
    pub const fn new(asked: Duration) -> Self {
        Self { asked, took: None, looks: 0 }
    }

    /// A look has taken this long. The first one wakes up cards and tells nothing of the next.
    pub fn took(&mut self, took: Duration) {
        self.looks += 1;
        if self.looks > 1 {
            let before = self.took.map_or(took, |[_, newest]| newest);
            self.took = Some([before, took]);
        }
    }

    /// From the begin of one look to the next. At first they are closer than was asked for, each
    /// as far from the last as that from the begin: a short command is not over before the
    /// second one. A single slow look does not count.
    pub fn gap(&self, since_begin: Duration) -> Duration {
        let asked = self.asked.min(since_begin).max(CLOSEST);
        let dear = self.took.map_or(Duration::ZERO, |took| {
            took.into_iter().min().unwrap_or_default().saturating_mul(PART)
        });
        asked.max(dear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const LATE: Duration = Duration::from_secs(3600);

    #[test]
    fn the_pace_is_as_asked_for_but_not_closer_than_the_driver_samples() {
        assert_eq!(Pace::new(ms(100)).gap(LATE), ms(100));
        assert_eq!(Pace::new(ms(1)).gap(LATE), ms(10));
        assert_eq!(Pace::new(ms(60_000)).gap(LATE), ms(60_000));
    }

    #[test]
    fn a_look_takes_a_twentieth_of_the_time_at_most() {
        let mut pace = Pace::new(ms(100));
        pace.took(ms(900));
        assert_eq!(pace.gap(LATE), ms(100), "the first one woke up the cards");
        pace.took(ms(40));
        assert_eq!(pace.gap(LATE), ms(800));
        pace.took(ms(2));
        assert_eq!(pace.gap(LATE), ms(100), "that was one slow look");
        pace.took(ms(40));
        assert_eq!(pace.gap(LATE), ms(100));
        pace.took(ms(50));
        assert_eq!(pace.gap(LATE), ms(800));
    }

    #[test]
    fn the_first_looks_are_closer() {
        let pace = Pace::new(ms(1000));
        let gaps = [0, 30, 60, 400, 5000].map(|since| pace.gap(ms(since)));
        assert_eq!(gaps, [10, 30, 60, 400, 1000].map(ms));
    }
}
