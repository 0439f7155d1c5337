//! Which time a tick speaks for, by three clocks: what no tick speaks for is a gap.

use std::time::Duration;

use probe::Clocks;
use probe::units::UnixMillis;

use super::event::Trouble;
use super::period::Period;

/// How much more time than its interval a tick may speak for: half as much again.
const MOST_TENTHS: i64 = 15;

/// The time from one tick to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// It ends at the tick; empty where the tick speaks for no time.
    pub covers: Period,
    /// Why there is a gap before it, where there is one.
    pub gap: Option<Trouble>,
}

/// The clocks at the last tick, against which the next one is held.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    interval_millis: i64,
    last: Option<Clocks>,
}

impl Timeline {
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval_millis: millis(interval), last: None }
    }

    /// What a tick at these clocks speaks for. The first one has nothing before it.
    pub fn tick(&mut self, now: Clocks) -> Stretch {
        let stretch = self.stretch(now);
        self.last = Some(now);
        stretch
    }

    /// The next tick has nothing before it.
    pub fn break_off(&mut self) {
        self.last = None;
    }

    fn stretch(&self, now: Clocks) -> Stretch {
        let nothing = |gap| Stretch { covers: Period::none_at(now.wall), gap };
        let Some(last) = self.last else { return nothing(None) };
        let by_wall = now.wall.0.saturating_sub(last.wall.0);
        if by_wall <= 0 || now.was_set_since(&last) {
            return nothing(Some(Trouble::ClockSet));
        }
        if now.slept_since(&last) {
            return nothing(Some(Trouble::Suspended));
        }
        let most = self.interval_millis * MOST_TENTHS / 10;
        let from = last.wall.max(UnixMillis(now.wall.0 - most));
        let gap = (from > last.wall).then_some(Trouble::Late);
        Stretch { covers: Period::new(from, now.wall), gap }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(wall: i64, since_boot: u64, awake: u64) -> Clocks {
        Clocks {
            wall: UnixMillis(wall),
            since_boot: Duration::from_millis(since_boot),
            awake: Duration::from_millis(awake),
        }
    }

    /// The second of two ticks of a run with ticks every 30 s.
    fn second(now: Clocks) -> (i64, Option<Trouble>) {
        let mut timeline = Timeline::new(Duration::from_secs(30));
        let first = timeline.tick(clocks(1_000_000, 50_000, 40_000));
        assert_eq!(first, Stretch { covers: Period::none_at(UnixMillis(1_000_000)), gap: None });
        let stretch = timeline.tick(now);
        assert_eq!(stretch.covers.to, now.wall);
        (stretch.covers.millis(), stretch.gap)
    }

    #[test]
    fn a_tick_speaks_for_the_time_since_the_last() {
        assert_eq!(second(clocks(1_030_000, 80_000, 70_000)), (30_000, None));
        assert_eq!(second(clocks(1_030_020, 80_000, 70_000)), (30_020, None));
        assert_eq!(second(clocks(1_045_000, 95_000, 85_000)), (45_000, None));
    }

    #[test]
    fn it_speaks_for_half_as_much_again_as_its_interval_at_most() {
        assert_eq!(second(clocks(1_046_000, 96_000, 86_000)), (45_000, Some(Trouble::Late)));
    }

    #[test]
    fn of_a_night_asleep_nothing_is_known() {
        let night = clocks(1_000_000 + 8 * 3_600_000, 50_000 + 8 * 3_600_000, 70_000);
        assert_eq!(second(night), (0, Some(Trouble::Suspended)));
    }

    #[test]
    fn a_clock_that_was_set_covers_nothing() {
        for wall in [1_030_000 + 3_600_000, 1_030_000 - 3_600_000, 1_000_000, 1_031_000] {
            let found = second(clocks(wall, 80_000, 70_000));
            assert_eq!(found, (0, Some(Trouble::ClockSet)), "{wall}");
        }
    }

    #[test]
    fn after_a_break_nothing_is_covered() {
        let mut timeline = Timeline::new(Duration::from_secs(30));
        timeline.tick(clocks(1_000_000, 50_000, 40_000));
        timeline.break_off();
        assert!(timeline.tick(clocks(1_030_000, 80_000, 70_000)).covers.is_empty());
    }
}
