//! A period of the calendar: `today`, `last-month`, `2026-10`, `2026-W46`.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

/// A period of the calendar, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarPeriod {
    /// This many days before today.
    Day(i8),
    /// This many weeks before this week; weeks begin on Mondays.
    Week(i8),
    /// This many months before this month.
    Month(i8),
    /// The month that begins on this day.
    MonthOf(Date),
    /// The week that begins on this Monday.
    WeekOf(Date),
}

/// Words for periods, and what they mean.
const WORDS: [(&str, CalendarPeriod); 6] = [
    ("today", CalendarPeriod::Day(0)),
    ("yesterday", CalendarPeriod::Day(1)),
    ("this-week", CalendarPeriod::Week(0)),
    ("last-week", CalendarPeriod::Week(1)),
    ("this-month", CalendarPeriod::Month(0)),
    ("last-month", CalendarPeriod::Month(1)),
];

impl CalendarPeriod {
    /// Returns its begin, and the begin of the period after it, in a zone; `None` beyond the calendar.
    #[must_use]
    pub fn resolve(self, now: Timestamp, tz: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let today = now.to_zoned(tz.clone()).date();
        let (first, length) = self.days(today)?;
        let after = first.checked_add(length).ok()?;
        // A day begins when its clock does: that may be later than midnight, and a day may have 23 or
        // 25 hours.
        let begin = |date: Date| Some(date.to_zoned(tz.clone()).ok()?.timestamp());
        Some((begin(first)?, begin(after)?))
    }

    /// Returns the first day, and the length.
    fn days(self, today: Date) -> Option<(Date, Span)> {
        let back = |date: Date, span: Span| date.checked_sub(span).ok();
        Some(match self {
            Self::Day(days) => (back(today, days.days())?, 1.day()),
            Self::Week(weeks) => {
                let monday = back(today, today.weekday().to_monday_zero_offset().days())?;
                (back(monday, weeks.weeks())?, 1.week())
            }
            Self::Month(months) => (back(today.first_of_month(), months.months())?, 1.month()),
            Self::MonthOf(first) => (first, 1.month()),
            Self::WeekOf(monday) => (monday, 1.week()),
        })
    }
}

pub fn period(typed: &str) -> Result<CalendarPeriod, String> {
    let word = WORDS.iter().find(|(word, _)| typed.eq_ignore_ascii_case(word));
    let found = word.map(|(_, period)| *period).or_else(|| month(typed)).or_else(|| week(typed));
    found.ok_or_else(|| {
        let words = WORDS.map(|(word, _)| word).join(", ");
        format!("expected {words}, a month such as 2026-10, or a week such as 2026-W46")
    })
}

/// Reads a month: `2026-10`.
fn month(typed: &str) -> Option<CalendarPeriod> {
    let (year, month) = typed.split_once('-')?;
    let first = Date::new(digits(year, 4)?, digits(month, 2)?.try_into().ok()?, 1).ok()?;
    Some(CalendarPeriod::MonthOf(first))
}

/// Reads a week of ISO 8601: `2026-W46`.
fn week(typed: &str) -> Option<CalendarPeriod> {
    let (year, week) = typed.split_once("-W").or_else(|| typed.split_once("-w"))?;
    let week = digits(week, 2)?.try_into().ok()?;
    let monday = ISOWeekDate::new(digits(year, 4)?, week, Weekday::Monday).ok()?;
    Some(CalendarPeriod::WeekOf(monday.date()))
}

/// Reads a number of so many digits.
fn digits(text: &str, count: usize) -> Option<i16> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begin and end in UTC, and the length in hours.
    fn resolved(typed: &str, now: &str, zone: &str) -> (String, String, i64) {
        let tz = TimeZone::get(zone).unwrap();
        let (from, to) = period(typed).unwrap().resolve(now.parse().unwrap(), &tz).unwrap();
        (from.to_string(), to.to_string(), (to.as_second() - from.as_second()) / 3600)
    }

    #[test]
    fn periods_are_those_of_the_calendar() {
        // A Sunday.
        let now = "2026-11-15T20:00:00Z";
        for (typed, from, to, hours) in [
            ("today", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z", 24),
            ("yesterday", "2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z", 24),
            ("this-week", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z", 168),
            ("last-week", "2026-11-02T00:00:00Z", "2026-11-09T00:00:00Z", 168),
            ("this-month", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", 720),
            ("LAST-MONTH", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", 744),
            ("2026-02", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", 672),
            ("2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z", 744),
            ("2026-W46", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z", 168),
            ("2026-w01", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z", 168),
            ("2026-W53", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z", 168),
        ] {
            let expected = (from.to_owned(), to.to_owned(), hours);
            assert_eq!(resolved(typed, now, "UTC"), expected, "{typed}");
        }
    }

    /// In Berlin, 29 March 2026 has 23 hours and 25 October 2026 has 25.
    #[test]
    fn days_of_a_clock_change_have_23_or_25_hours() {
        let berlin = |typed: &str, now: &str| resolved(typed, now, "Europe/Berlin");
        let (from, to, hours) = berlin("today", "2026-03-29T12:00:00Z");
        assert_eq!((&*from, &*to, hours), ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", 23));
        let (from, to, hours) = berlin("yesterday", "2026-10-26T12:00:00Z");
        assert_eq!((&*from, &*to, hours), ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 25));
        assert_eq!(berlin("2026-10", "2026-11-15T20:00:00Z").2, 31 * 24 + 1);
        assert_eq!(berlin("2026-W13", "2026-11-15T20:00:00Z").2, 7 * 24 - 1);
        let (from, ..) = berlin("today", "2026-11-15T23:30:00Z");
        assert_eq!(from, "2026-11-15T23:00:00Z", "it is the 16th there");
    }

    #[test]
    fn zones_of_half_hours_have_their_own_days() {
        let (from, to, hours) = resolved("today", "2026-11-15T20:00:00Z", "Asia/Kolkata");
        assert_eq!((&*from, &*to, hours), ("2026-11-15T18:30:00Z", "2026-11-16T18:30:00Z", 24));
        // The clock of Lord Howe is set by half an hour.
        let (from, to, _) = resolved("2026-10", "2026-11-15T20:00:00Z", "Australia/Lord_Howe");
        assert_eq!((&*from, &*to), ("2026-09-30T13:30:00Z", "2026-10-31T13:00:00Z"));
    }

    /// In São Paulo, 4 November 2018 began at 1:00.
    #[test]
    fn day_without_midnight_begins_later() {
        let (from, _, hours) = resolved("today", "2018-11-04T12:00:00Z", "America/Sao_Paulo");
        assert_eq!((&*from, hours), ("2018-11-04T03:00:00Z", 23));
    }

    #[test]
    fn what_is_no_period_is_refused() {
        for typed in
            ["", "tomorrow", "2026", "2026-13", "2026-1", "2025-W53", "2026-W00", "2026-10-01"]
        {
            let error = period(typed).unwrap_err();
            assert!(
                error.starts_with("expected today, yesterday, this-week, "),
                "{typed}: {error}"
            );
        }
    }
}
