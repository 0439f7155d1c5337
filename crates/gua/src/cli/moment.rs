//! A moment: `now`, RFC 3339, or a date and time of day in the zone that was asked for.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// A moment as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Now,
    At(Timestamp),
    /// By a clock in the zone that was asked for.
    Local(DateTime),
}

impl Moment {
    /// When it is. A local time that a clock shows twice is the first of the two; one that
    /// it skips is as much later. `None` where time has no such moment.
    #[must_use]
    pub fn resolve(self, now: Timestamp, tz: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Now => Some(now),
            Self::At(at) => Some(at),
            Self::Local(local) => tz.to_timestamp(local).ok(),
        }
    }
}

pub fn moment(typed: &str) -> Result<Moment, String> {
    let expected = "expected now, 2026-11-08, '2026-11-08 20:00' or 2026-11-08T20:00:00Z";
    if typed.eq_ignore_ascii_case("now") {
        return Ok(Moment::Now);
    }
    if let Ok(at) = typed.parse() {
        return Ok(Moment::At(at));
    }
    let local = local(typed).ok_or(expected)?;
    Ok(Moment::Local(local))
}

fn local(typed: &str) -> Option<DateTime> {
    let has_date_only = typed.len() == "2026-11-08".len();
    if has_date_only {
        return Some(typed.parse::<Date>().ok()?.at(0, 0, 0, 0));
    }
    // More than this parser would take a zone and leave it out of account.
    let is_plain = typed.chars().all(|c| c.is_ascii_digit() || "-:.T ".contains(c));
    typed.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(typed: &str, tz: &TimeZone) -> String {
        let now = Timestamp::from_second(0).unwrap();
        moment(typed).unwrap().resolve(now, tz).unwrap().to_string()
    }

    #[test]
    fn times_without_an_offset_are_local() {
        let tz = jiff::tz::offset(2).to_time_zone();
        assert_eq!(at("2026-11-08", &tz), "2026-11-07T22:00:00Z");
        assert_eq!(at("2026-11-08 20:00", &tz), "2026-11-08T18:00:00Z");
        assert_eq!(at("2026-11-08T20:00:30", &tz), "2026-11-08T18:00:30Z");
        assert_eq!(at("2026-11-08T20:00:00Z", &tz), "2026-11-08T20:00:00Z");
        assert_eq!(at("2026-11-08T20:00:00-05:00", &tz), "2026-11-09T01:00:00Z");
        assert_eq!(at("now", &tz), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for typed in ["", "yesterday", "2026-13-01", "2026-11-08 25:00", "20:00", "1e9", "٢٠٢٦"]
        {
            assert!(moment(typed).is_err(), "{typed}");
        }
    }
}
