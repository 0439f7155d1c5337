//! Hours of the week as a clock in some zone shows them.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use probe::units::UnixMillis;

use crate::calendar;
use crate::ledger::{HOUR, Period};

/// One of the 7 × 24 hours of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HourOfWeek {
    /// 0 is Sunday.
    pub weekday: u8,
    pub hour: u8,
}

impl HourOfWeek {
    /// How many there are.
    pub const COUNT: usize = 7 * 24;

    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..7).flat_map(|weekday| (0..24).map(move |hour| Self { weekday, hour }))
    }

    /// Its place in the week, from 0.
    #[must_use]
    pub fn place(self) -> usize {
        usize::from(self.weekday) * 24 + usize::from(self.hour)
    }
}

/// Cuts time where a clock in the zone begins another hour. Finding out takes a while, and
/// spans come in the order of time, so the last answer is kept.
#[derive(Debug)]
pub(in crate::report) struct LocalHours {
    tz: TimeZone,
    last: Option<(Period, HourOfWeek)>,
}

impl LocalHours {
    pub fn new(tz: TimeZone) -> Self {
        Self { tz, last: None }
    }

    /// The parts of a period, each within one hour of a clock. What is too far off for a
    /// calendar is left out.
    pub fn parts(&mut self, period: Period, mut each: impl FnMut(Period, HourOfWeek)) {
        let mut rest = period;
        while !rest.is_empty() {
            let Some((around, hour)) = self.around(rest.from) else { return };
            let part = Period { to: rest.to.min(around.to), ..rest };
            each(part, hour);
            rest.from = part.to;
        }
    }

    /// The hour at a moment: from there on, and where it ends.
    fn around(&mut self, at: UnixMillis) -> Option<(Period, HourOfWeek)> {
        if let Some(last) = self.last
            && last.0.from <= at
            && at < last.0.to
        {
            return Some(last);
        }
        self.last = self.find(at);
        self.last
    }

    fn find(&self, at: UnixMillis) -> Option<(Period, HourOfWeek)> {
        let moment = calendar::timestamp(at)?;
        let offset = self.tz.to_offset(moment);
        let local = offset.to_datetime(moment);
        let since_the_hour = (at.0 + i64::from(offset.seconds()) * 1000).rem_euclid(HOUR);
        let end = self.end(moment, at.0 + HOUR - since_the_hour);
        let hour = HourOfWeek { weekday: weekday(local.weekday()), hour: hour(local.hour()) };
        Some((Period::new(at, UnixMillis(end)), hour))
    }

    /// The hour ends earlier where the clock is set within it.
    fn end(&self, from: Timestamp, end: i64) -> i64 {
        let set = self.tz.following(from).next().map(|set| set.timestamp().as_millisecond());
        set.map_or(end, |set| set.min(end))
    }
}

fn weekday(day: Weekday) -> u8 {
    u8::try_from(day.to_sunday_zero_offset()).unwrap_or(0)
}

fn hour(hour: i8) -> u8 {
    u8::try_from(hour).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(tz: &str, from: &str, to: &str) -> Vec<(u8, u8, i64)> {
        let at = |text: &str| UnixMillis(text.parse::<Timestamp>().unwrap().as_millisecond());
        let mut found = Vec::new();
        let mut hours = LocalHours::new(TimeZone::get(tz).unwrap());
        hours.parts(Period::new(at(from), at(to)), |part, hour| {
            found.push((hour.weekday, hour.hour, part.millis() / 60_000));
        });
        found
    }

    #[test]
    fn a_zone_of_half_an_hour_cuts_in_the_middle() {
        // 23:15 on Saturday in UTC is 04:45 on Sunday in Calcutta.
        let found = parts("Asia/Kolkata", "2026-11-07T23:15:00Z", "2026-11-08T00:45:00Z");
        assert_eq!(found, [(0, 4, 15), (0, 5, 60), (0, 6, 15)]);
    }

    #[test]
    fn the_hour_that_a_clock_shows_twice_counts_twice() {
        let found = parts("Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z");
        assert_eq!(found, [(0, 2, 60), (0, 2, 60), (0, 3, 60)]);
    }

    #[test]
    fn the_hour_that_a_clock_skips_is_not_there() {
        let found = parts("Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z");
        assert_eq!(found, [(0, 1, 60), (0, 3, 60)]);
    }

    /// On Lord Howe Island the clock is set by half an hour.
    #[test]
    fn a_clock_set_within_an_hour_cuts_it() {
        let found = parts("Australia/Lord_Howe", "2026-10-03T14:30:00Z", "2026-10-03T17:00:00Z");
        assert_eq!(found, [(0, 1, 60), (0, 2, 30), (0, 3, 60)]);
    }

    #[test]
    fn time_beyond_every_calendar_is_left_out() {
        let mut hours = LocalHours::new(TimeZone::UTC);
        let far = UnixMillis(i64::MAX - 10);
        hours.parts(Period::new(far, UnixMillis(i64::MAX)), |_, _| panic!("no such hour"));
    }
}
