//! A time zone: `UTC`, `local`, an IANA name or an offset.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// A time zone and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    pub tz: TimeZone,
    pub name: String,
}

pub fn zone(typed: &str) -> Result<Zone, String> {
    let expected = "expected UTC, local, a name such as Europe/Berlin, or an offset such as +02:00";
    if typed.eq_ignore_ascii_case("utc") {
        return Ok(Zone { tz: TimeZone::UTC, name: "UTC".to_owned() });
    }
    if typed.eq_ignore_ascii_case("local") {
        let tz = TimeZone::try_system()
            .map_err(|error| format!("the time zone of this host is unknown: {error}"))?;
        let name = tz.iana_name().unwrap_or("local").to_owned();
        return Ok(Zone { tz, name });
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
        assert_eq!(zone("utc").unwrap().name, "UTC");
    }
}
