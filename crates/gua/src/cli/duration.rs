//! Lengths of time as they are typed.

use std::time::Duration;

/// The units, and how many milliseconds each has.
const UNITS: [(&str, f64); 5] =
    [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3), ("d", 86_400e3)];

/// The longest that is told apart: a thousand years.
const LONGEST_MILLIS: f64 = 1000.0 * 365.0 * 86_400e3;

/// A number with a unit, or several of them: `30s`, `1.5h`, `1h30m`.
pub fn duration(typed: &str) -> Result<Duration, String> {
    let expected = || "expected a number with ms, s, m, h or d, such as 30s or 1h30m".to_owned();
    let mut millis = 0.0;
    let mut rest = typed.trim();
    if rest.is_empty() {
        return Err(expected());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(expected)?;
        let number: f64 = rest[..end].parse().map_err(|_| expected())?;
        rest = &rest[end..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = UNITS.iter().find(|(name, _)| *name == &rest[..end]).ok_or_else(expected)?;
        millis += number * unit.1;
        rest = &rest[end..];
    }
    if millis < 1.0 {
        return Err("it must be at least 1ms".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held in range")]
    Ok(Duration::from_millis(millis.min(LONGEST_MILLIS).round() as u64))
}

/// How often a recorder may look.
pub fn interval(typed: &str) -> Result<Duration, String> {
    let interval = duration(typed)?;
    let may_be = Duration::from_millis(100)..=Duration::from_secs(3600);
    if may_be.contains(&interval) { Ok(interval) } else { Err("expected 100ms to 1h".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_add_up() {
        let millis = |typed| duration(typed).unwrap().as_millis();
        assert_eq!(millis("30s"), 30_000);
        assert_eq!(millis("1.5h"), 5_400_000);
        assert_eq!(millis("1h30m"), 5_400_000);
        assert_eq!(millis("250ms"), 250);
        assert_eq!(millis("99999999999999d"), 31_536_000_000_000);
    }

    #[test]
    fn what_is_no_length_of_time_is_refused() {
        for typed in ["", "30", "s", "-5s", "1e3s", "5 s", "1h30", "NaNs", "infs", "5w", "0s", ".s"]
        {
            assert!(duration(typed).is_err(), "{typed}");
        }
        for typed in ["99ms", "61m", "0.05s", "2h"] {
            assert!(interval(typed).is_err(), "{typed}");
        }
        assert_eq!(interval("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(interval("1h"), Ok(Duration::from_secs(3600)));
    }
}
