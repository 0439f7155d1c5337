//! Hours of the day, on the host's clock: `20:00-07:00` goes through the night.

use std::fmt;

use jiff::civil::Time;

/// From one minute of the day up to another, which is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    from: u16,
    to: u16,
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;

impl Hours {
    /// Reads `20:00-07:00`; `None` where it is something else, or no time at all.
    #[must_use]
    pub fn parse(typed: &str) -> Option<Self> {
        let (from, to) = typed.split_once('-')?;
        let (from, to) = (minute(from.trim())?, minute(to.trim())?);
        (from < DAY && from != to).then_some(Self { from, to })
    }

    #[must_use]
    pub fn has(&self, time: Time) -> bool {
        let minute =
            u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs());
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

/// `7:05` or `07:05`; `24:00` is the end of the day.
fn minute(typed: &str) -> Option<u16> {
    let (hours, minutes) = typed.split_once(':')?;
    let is_number =
        |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(hours) || minutes.len() != 2 || !is_number(minutes) {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= DAY).then_some(minute)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::time;

    #[test]
    fn a_night_goes_through_midnight() {
        let night = Hours::parse("20:00-7:30").unwrap();
        assert!(
            [time(20, 0, 0, 0), time(23, 59, 59, 0), time(7, 29, 0, 0)]
                .iter()
                .all(|at| night.has(*at))
        );
        assert!(![time(19, 59, 59, 0), time(7, 30, 0, 0)].iter().any(|at| night.has(*at)));
        let day = Hours::parse("08:00 - 24:00").unwrap();
        assert!(day.has(time(8, 0, 0, 0)) && !day.has(time(7, 59, 0, 0)));
        assert_eq!(night.to_string(), "20:00-07:30");
    }

    #[test]
    fn what_are_no_hours_is_refused() {
        for typed in [
            "",
            "8-10",
            "08:00",
            "24:00-08:00",
            "08:00-08:00",
            "25:00-26:00",
            "8:60-9:00",
            "-",
            "8:0-9:00",
        ] {
            assert_eq!(Hours::parse(typed), None, "{typed}");
        }
    }
}
