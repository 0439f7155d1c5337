//! How many notices and ends there may be in an hour.

use std::collections::VecDeque;

/// By the engine's clock.
const HOUR_MILLIS: i64 = 3_600_000;

/// What was done in the last hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    ends: VecDeque<i64>,
    /// To whom, and when.
    notices: VecDeque<(u32, i64)>,
}

impl Limits {
    /// As it was before a restart, in the order of time.
    #[must_use]
    pub fn of(
        ends: impl IntoIterator<Item = i64>,
        notices: impl IntoIterator<Item = (u32, i64)>,
    ) -> Self {
        Self { ends: ends.into_iter().collect(), notices: notices.into_iter().collect() }
    }

    pub fn forget_before(&mut self, clock_millis: i64) {
        let is_old = |at: i64| at <= clock_millis - HOUR_MILLIS;
        while self.ends.front().is_some_and(|at| is_old(*at)) {
            self.ends.pop_front();
        }
        while self.notices.front().is_some_and(|(_, at)| is_old(*at)) {
            self.notices.pop_front();
        }
    }

    /// Whether one more may be ended; counts it.
    pub fn end(&mut self, most: u32, clock_millis: i64) -> bool {
        let may = self.ends.len() < most as usize;
        if may {
            self.ends.push_back(clock_millis);
        }
        may
    }

    /// Whether somebody may be told once more; counts it.
    pub fn notice(&mut self, uid: u32, most: u32, clock_millis: i64) -> bool {
        let may = self.notices.iter().filter(|(to, _)| *to == uid).count() < most as usize;
        if may {
            self.notices.push_back((uid, clock_millis));
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_later_there_is_room_again() {
        let mut limits = Limits::default();
        assert!(limits.end(2, 0) && limits.end(2, 10) && !limits.end(2, 20));
        limits.forget_before(HOUR_MILLIS - 1);
        assert!(!limits.end(2, HOUR_MILLIS - 1));
        limits.forget_before(HOUR_MILLIS);
        assert!(limits.end(2, HOUR_MILLIS) && !limits.end(2, HOUR_MILLIS));
    }

    #[test]
    fn everybody_has_notices_of_their_own() {
        let mut limits = Limits::default();
        assert!(limits.notice(7, 1, 0) && !limits.notice(7, 1, 0) && limits.notice(8, 1, 0));
    }
}
