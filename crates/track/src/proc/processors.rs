//! `/proc/stat`: how much of its time the whole machine was busy.

use std::time::Duration;

/// What the first line tells, since the machine started and over all its cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Busy {
    pub ticks: u64,
}

impl Busy {
    /// The time between two readings that the cores worked, added up.
    #[must_use]
    pub fn since(self, earlier: Self, ticks_per_second: u64) -> Duration {
        let ticks = self.ticks.saturating_sub(earlier.ticks);
        Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second.max(1))
    }
}

/// The places of what is not work, among the figures of the line: idle, waiting for a disk, and
/// the time of guests, which the kernel counts twice.
const NOT_WORK: [usize; 4] = [3, 4, 8, 9];

#[must_use]
pub fn parse(text: &str) -> Option<Busy> {
    let figures = text.lines().next()?.strip_prefix("cpu ")?;
    let mut ticks = 0_u64;
    for (place, figure) in figures.split_ascii_whitespace().enumerate() {
        let figure: u64 = figure.parse().ok()?;
        if !NOT_WORK.contains(&place) {
            ticks = ticks.saturating_add(figure);
        }
    }
    Some(Busy { ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_guests_are_no_work() {
        let busy = parse("cpu  10 1 5 1000 50 2 3 4 7 1\ncpu0 1 2 3\n").unwrap();
        assert_eq!(busy.ticks, 10 + 1 + 5 + 2 + 3 + 4);
        let later = Busy { ticks: busy.ticks + 150 };
        assert_eq!(later.since(busy, 100), Duration::from_millis(1500));
        assert_eq!(busy.since(later, 100), Duration::ZERO);
        assert_eq!(parse("intr 1 2"), None);
        assert_eq!(parse("cpu  1 x 3"), None);
    }
}
