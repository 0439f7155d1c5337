//! A length of time: `30s`, `1.5h`, `1h30m`.

use std::time::Duration;

const EXPECTED: &str =
    "expected a number and ms, s, m, h, d, w or mo (30 days), such as 90s, 1.5h, 1h30m or 7d";

/// How far a decimal fraction may be from what was typed.
const BINARY_FRACTION: f64 = 1e-9;

/// Reads one. There is no longest: what is longer than can be counted is as long as can be.
pub fn duration(typed: &str) -> Result<Duration, String> {
    let mut rest = typed.trim();
    if rest.is_empty() {
        return Err(EXPECTED.to_owned());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (part, after) = part(rest).ok_or(EXPECTED)?;
        seconds += part;
        rest = after;
    }
    let millis = seconds * 1000.0_f64;
    // Looked at before it is rounded to what is kept of a time: half of it is not taken for one.
    if millis < 1.0 - BINARY_FRACTION {
        return Err("expected at least 1ms, such as 500ms, 90s or 1.5h".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    Ok(Duration::from_millis(millis.round() as u64))
}

/// How long something is kept.
pub fn age(typed: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
    let age = duration(typed)?;
    let expected = || "expected at most 36500d, which are 100 years".to_owned();
    (age <= LONGEST).then_some(age).ok_or_else(expected)
}

/// How often a recorder may look.
pub fn interval(typed: &str) -> Result<Duration, String> {
    let may_be = Duration::from_millis(100)..=Duration::from_secs(3600);
    let expected = || "expected 100ms to 1h, such as 30s".to_owned();
    duration(typed).ok().filter(|interval| may_be.contains(interval)).ok_or_else(expected)
}

/// How often a view may look again: as `gua stat -i` has it in seconds, or with a unit.
pub(super) fn refresh(typed: &str) -> Result<Duration, String> {
    let is_number = typed.chars().all(|c| c.is_ascii_digit() || c == '.');
    let refresh = if is_number { duration(&format!("{typed}s")) } else { duration(typed) };
    let may_be = Duration::from_millis(100)..=Duration::from_secs(86_400);
    let expected = || "expected seconds or a time, 100ms to 1d, such as 2 or 500ms".to_owned();
    refresh.ok().filter(|refresh| may_be.contains(refresh)).ok_or_else(expected)
}

/// The seconds of the first number with its unit, and what follows.
fn part(text: &str) -> Option<(f64, &str)> {
    // Digits and a point only: no sign, no exponent, neither NaN nor infinity.
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 7.0 * 86_400.0,
        "mo" => 30.0 * 86_400.0,
        _ => return None,
    };
    Some((number * seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_with_units_add_up() {
        let millis = |typed| duration(typed).unwrap().as_millis();
        assert_eq!(
            ["250ms", "30s", "1.5h", "1h30m", "7d", "1d2h3m4.5s", ".5s", " 2m "].map(millis),
            [250, 30_000, 5_400_000, 5_400_000, 604_800_000, 93_784_500, 500, 120_000]
        );
    }

    #[test]
    fn weeks_and_months_are_days() {
        let days = |typed| duration(typed).unwrap().as_secs() / 86_400;
        assert_eq!(["1w", "2w", "1mo", "1mo2d"].map(days), [7, 14, 30, 32]);
        assert_eq!(duration("1m"), Ok(Duration::from_secs(60)));
    }

    #[test]
    fn a_recorder_looks_neither_all_the_time_nor_hardly_ever() {
        for typed in ["99ms", "61m", "0.05s", "2h"] {
            assert!(interval(typed).is_err(), "{typed}");
        }
        assert_eq!(interval("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(interval("1h"), Ok(Duration::from_secs(3600)));
    }

    #[test]
    fn the_shortest_can_be_written_in_any_unit() {
        let shortest = Ok(Duration::from_millis(1));
        for typed in ["1ms", "1.0ms", "0.001s", "0.000016666666666667m", "0.5ms0.5ms"] {
            assert_eq!(duration(typed), shortest, "{typed}");
        }
    }

    #[test]
    fn nothing_is_kept_for_more_than_a_hundred_years() {
        assert!(age("36500d").is_ok());
        for typed in ["36500d1ms", "999999999999d", "1d 2d"] {
            assert!(age(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_view_refreshes_by_seconds_or_by_a_time() {
        let millis = |typed| refresh(typed).map(|time| time.as_millis());
        assert_eq!(["1", "0.5", "2s", "250ms"].map(millis), [1000, 500, 2000, 250].map(Ok));
        for typed in ["", "0", "0.05", "soon", "2d", "-1", "1 2"] {
            assert!(refresh(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for typed in [
            "", " ", "0s", "0", "5", "s", "-5s", "+5s", "NaNs", "infs", "1e3s", "1y", "1h 30m",
            "1..5h", ".s", "0.0001ms", "0.5ms", "0.99ms", "0.0009s", "5S", "１s",
        ] {
            assert!(duration(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn there_is_no_longest() {
        let huge = format!("{}d", "9".repeat(400));
        assert_eq!(duration(&huge).unwrap().as_millis(), u128::from(u64::MAX));
        assert!(duration("99999999999999999999d").is_ok());
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_makes_it_fall_over(typed in "\\PC*") {
            let _ = duration(&typed);
        }

        #[test]
        fn nothing_like_a_time_makes_it_fall_over(typed in "[0-9.]{0,5}(ms|s|m|h|d|x)?[0-9a-z]*") {
            let _ = duration(&typed);
        }
    }
}
