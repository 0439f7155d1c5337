//! A time zone: `UTC`, `local`, an IANA name or an offset.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// The time zone of a view, as typed.
#[derive(Debug, Clone, Args)]
pub struct Tz {
    /// Time zone of times without an offset and of what is shown: local, UTC, a name such as
    /// Europe/Berlin, or an offset such as +02:00
    // An offset may begin with a minus.
    #[arg(long = "tz", value_name = "ZONE", value_parser = zone, default_value = "local",
          allow_hyphen_values = true)]
    pub zone: Zone,
}

/// A time zone and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    pub tz: TimeZone,
    pub name: String,
}

impl Zone {
    #[must_use]
    pub fn utc() -> Self {
        Self { tz: TimeZone::UTC, name: "UTC".to_owned() }
    }

    /// Returns the reader's zone: that of TZ or of this host, or UTC if neither can be read.
    #[must_use]
    pub fn local() -> Self {
        TimeZone::try_system().map_or_else(|_| Self::utc(), Self::from_system)
    }

    fn from_system(tz: TimeZone) -> Self {
        match tz.iana_name() {
            _ if tz == TimeZone::UTC || tz.is_unknown() => Self::utc(),
            Some(
                "Etc/UTC" | "Etc/UCT" | "Etc/Zulu" | "Etc/Universal" | "UCT" | "Zulu" | "Universal",
            ) => Self::utc(),
            Some(name) => Self { name: name.to_owned(), tz },
            // The offset of today can be typed, and names what is shown.
            None => {
                Self { name: Timestamp::now().to_zoned(tz.clone()).strftime("%:z").to_string(), tz }
            }
        }
    }

    /// Formats a time of day with the zone's name then: `14:05:09 CET`.
    #[must_use]
    pub fn clock(&self, at: Timestamp) -> String {
        self.format(at, "%H:%M:%S %Z")
    }

    /// Formats a date and a time of day with the zone's name then: `2026-11-15 14:05:09 CET`.
    #[must_use]
    pub fn second(&self, at: Timestamp) -> String {
        self.format(at, "%Y-%m-%d %H:%M:%S %Z")
    }

    /// Formats a time of day, with the day if it is another than now.
    #[must_use]
    pub fn moment(&self, at: Timestamp, now: Timestamp) -> String {
        let [day, today] = [at, now].map(|at| at.to_zoned(self.tz.clone()).date());
        let format = match () {
            () if day == today => "%H:%M",
            () if day.year() == today.year() => "%a %-d %b %H:%M",
            () => "%a %-d %b %Y %H:%M",
        };
        self.format(at, format)
    }

    /// Formats a time by a pattern of `strftime`.
    #[must_use]
    pub fn format(&self, at: Timestamp, pattern: &str) -> String {
        at.to_zoned(self.tz.clone()).strftime(pattern).to_string()
    }
}

pub fn zone(typed: &str) -> Result<Zone, String> {
    let expected = "expected local, UTC, a name such as Europe/Berlin, or an offset such as +02:00";
    if ["utc", "z"].iter().any(|utc| typed.eq_ignore_ascii_case(utc)) {
        return Ok(Zone::utc());
    }
    if typed.eq_ignore_ascii_case("local") {
        return Ok(Zone::local());
    }
    if let Some(offset) = offset(typed) {
        return Ok(Zone { tz: offset.to_time_zone(), name: typed.to_owned() });
    }
    let is_a_name = typed.chars().all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c));
    let tz = named(typed).filter(|_| is_a_name).ok_or(expected)?;
    let name = tz.iana_name().unwrap_or(typed).to_owned();
    Ok(Zone { tz, name })
}

/// As this host knows it; where it has no zones, or fewer than the world, as we do.
fn named(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).or_else(|_| TimeZoneDatabase::bundled().get(name)).ok()
}

/// `+02:00`, `-0330` or `+2`.
fn offset(typed: &str) -> Option<Offset> {
    let (sign, rest) = match typed.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "00"),
    };
    let number = |text: &str, most: i32| -> Option<i32> {
        let is_short = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|number| is_short && *number <= most)
    };
    let seconds = number(hours, 25)? * 3_600 + number(minutes, 59)? * 60;
    Offset::from_seconds(sign * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_in_the_usual_ways() {
        let seconds = |typed| zone(typed).unwrap().tz.to_fixed_offset().unwrap().seconds();
        assert_eq!(
            ["+02:00", "-03:30", "+0530", "+2", "-00:00"].map(seconds),
            [7_200, -12_600, 19_800, 7_200, 0]
        );
    }

    #[test]
    fn what_is_no_zone_is_refused() {
        for typed in ["", "+", "+99:00", "+2:60", "+2:", "Nowhere/Town", "../etc/passwd", "+1é"] {
            assert!(zone(typed).is_err(), "{typed}");
        }
        assert_eq!(["utc", "Z"].map(|utc| zone(utc).unwrap()), [Zone::utc(), Zone::utc()]);
    }

    #[test]
    fn zone_of_a_host_has_a_name() {
        let named = |tz: TimeZone| Zone::from_system(tz).name;
        assert_eq!(named(TimeZone::get("Europe/Berlin").unwrap()), "Europe/Berlin");
        assert_eq!(named(TimeZone::get("Etc/UTC").unwrap()), "UTC");
        assert_eq!(named(TimeZone::unknown()), "UTC");
        assert_eq!(named(TimeZone::posix("XYZ-5:45").unwrap()), "+05:45");
    }

    #[test]
    fn times_name_their_zone() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (summer, winter) = (at("2026-10-25T00:30:00Z"), at("2026-10-25T01:30:00Z"));
        let berlin = zone("Europe/Berlin").unwrap();
        assert_eq!(berlin.clock(summer), "02:30:00 CEST");
        assert_eq!(berlin.clock(winter), "02:30:00 CET");
        assert_eq!(zone("Asia/Kolkata").unwrap().second(winter), "2026-10-25 07:00:00 IST");
        assert_eq!(zone("+05:45").unwrap().clock(winter), "07:15:00 +05:45");
        assert_eq!(berlin.moment(winter, at("2026-10-25T20:00:00Z")), "02:30");
        assert_eq!(berlin.moment(winter, at("2026-10-25T23:00:00Z")), "Sun 25 Oct 02:30");
        assert_eq!(berlin.moment(winter, at("2027-01-01T00:00:00Z")), "Sun 25 Oct 2026 02:30");
    }
}
