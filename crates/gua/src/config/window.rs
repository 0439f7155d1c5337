//! Which time a question is about: from one moment to another.

use std::time::Duration;

use jiff::Timestamp;

use crate::cli::{self, CalendarPeriod, Zone};
use crate::failure::Failure;

/// How far back a question looks that does not say.
const SINCE: Duration = Duration::from_secs(86_400);

/// A stretch of time, and the zone in which it is shown.
#[derive(Debug, Clone)]
pub struct Window {
    pub from: Timestamp,
    pub until: Timestamp,
    pub zone: Zone,
}

impl Window {
    /// What was typed, as it is meant now; the last 24 hours where nothing was.
    ///
    /// # Errors
    /// When it ends before it begins, or is no time at all.
    pub fn new(typed: &cli::Window, now: Timestamp) -> Result<Self, Failure> {
        Self::with(typed, now, now, |until| back(until, SINCE))
    }

    /// What was typed, as it is meant now; so far back where nothing was.
    ///
    /// # Errors
    /// When it ends before it begins, or is no time at all.
    pub fn since(typed: &cli::Window, now: Timestamp, usual: Duration) -> Result<Self, Failure> {
        Self::with(typed, now, now, |until| back(until, usual))
    }

    /// What was typed, as it is meant now; all time where nothing was.
    ///
    /// # Errors
    /// When it ends before it begins, or is no time at all.
    pub fn of_all_time(typed: &cli::Window, now: Timestamp) -> Result<Self, Failure> {
        let end = if typed.since.is_some() { now } else { Timestamp::MAX };
        Self::with(typed, now, end, |_| Timestamp::MIN)
    }

    /// Returns the window of a period of the calendar; one that goes on ends now.
    fn of_period(period: CalendarPeriod, now: Timestamp, zone: &Zone) -> Result<Self, Failure> {
        let wrong = |what| Failure::Usage {
            what: format!("--period: {what}"),
            next: "Name a period that has begun; --tz is the zone of its days.".to_owned(),
        };
        let resolved = period.resolve(now, &zone.tz);
        let (from, end) = resolved.ok_or_else(|| wrong("no calendar has it".to_owned()))?;
        if from >= now {
            let begins = zone.second(from);
            return Err(wrong(format!("it has not begun: it begins on {begins}")));
        }
        Ok(Self { from, until: end.min(now), zone: zone.clone() })
    }

    fn with(
        typed: &cli::Window,
        now: Timestamp,
        end: Timestamp,
        begin: impl Fn(Timestamp) -> Timestamp,
    ) -> Result<Self, Failure> {
        let zone = &typed.tz.zone;
        if let Some(period) = typed.period {
            return Self::of_period(period, now, zone);
        }
        let resolve = |option, moment: cli::Moment| {
            moment.resolve(now, &zone.tz).ok_or_else(|| Failure::Usage {
                what: format!("{option} is a time that no clock shows"),
                next: "Name a time from the year -9999 to 9999.".to_owned(),
            })
        };
        let until = typed.until.map_or(Ok(end), |until| resolve("--until", until))?;
        let from = match (typed.from, typed.since) {
            (Some(from), _) => resolve("--from", from)?,
            (None, Some(since)) => back(until, since),
            (None, None) => begin(until),
        };
        if from >= until {
            return Err(Failure::Usage {
                what: format!(
                    "the time from {} until {} is none: it ends before it begins",
                    to_the_second(from),
                    to_the_second(until)
                ),
                next: "Name an earlier --from or a later --until; --until is now when left out."
                    .to_owned(),
            });
        }
        Ok(Self { from, until, zone: zone.clone() })
    }
}

fn to_the_second(at: Timestamp) -> Timestamp {
    at.round(jiff::Unit::Second).unwrap_or(at)
}

/// Back from a moment, at most to 1970: nobody can have recorded before.
fn back(until: Timestamp, since: Duration) -> Timestamp {
    let from = until.checked_sub(since).unwrap_or(Timestamp::UNIX_EPOCH);
    from.max(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-15T20:00:00Z";

    fn typed(period: Option<&str>, zone: &str) -> cli::Window {
        let period = period.map(|period| cli::period(period).unwrap());
        let tz = cli::Tz { zone: cli::zone(zone).unwrap() };
        cli::Window { since: None, period, from: None, until: None, tz }
    }

    fn resolved(period: Option<&str>, zone: &str) -> Result<(String, String), String> {
        let window = Window::new(&typed(period, zone), NOW.parse().unwrap());
        let window = window.map_err(|failure| failure.to_string())?;
        Ok((window.from.to_string(), window.until.to_string()))
    }

    #[test]
    fn usual_window_is_the_last_day() {
        let expected = ("2026-11-14T20:00:00Z".to_owned(), NOW.to_owned());
        assert_eq!(resolved(None, "UTC"), Ok(expected));
    }

    #[test]
    fn period_that_goes_on_ends_now() {
        let window = |period| resolved(Some(period), "Europe/Berlin").unwrap();
        assert_eq!(window("today"), ("2026-11-14T23:00:00Z".to_owned(), NOW.to_owned()));
        let october = ("2026-09-30T22:00:00Z".to_owned(), "2026-10-31T23:00:00Z".to_owned());
        assert_eq!([window("last-month"), window("2026-10")], [october.clone(), october]);
    }

    #[test]
    fn period_that_has_not_begun_is_refused() {
        let error = resolved(Some("2026-W47"), "Europe/Berlin").unwrap_err();
        assert!(error.contains("it begins on 2026-11-16 00:00:00 CET"), "{error}");
        assert!(error.contains("Name a period that has begun"), "{error}");
    }
}
