//! A whole number within bounds, in words of our own where it is none.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// More MB of 1024² bytes than any card has.
pub(crate) const MOST_MB: u64 = 1 << 30;

/// How many cards.
pub(super) fn cards(typed: &str) -> Result<u32, String> {
    within(typed, 1..=4096, "cards")
}

/// How many looks; there is no most.
pub(super) fn looks(typed: &str) -> Result<u64, String> {
    let expected = || "expected a number of looks from 1 on, such as 10".to_owned();
    typed.parse().ok().filter(|looks| *looks > 0).ok_or_else(expected)
}

/// How many files.
pub(super) fn files(typed: &str) -> Result<u32, String> {
    within(typed, 1..=1000, "files")
}

/// How many days.
pub(super) fn days(typed: &str) -> Result<u32, String> {
    within(typed, 1..=3650, "days")
}

/// How many ticks.
pub(super) fn ticks(typed: &str) -> Result<u32, String> {
    within(typed, 1..=1_000_000, "ticks")
}

/// How many cores.
pub(super) fn cores(typed: &str) -> Result<u32, String> {
    within(typed, 1..=1_000_000, "cores")
}

/// How many columns of a terminal.
pub(super) fn columns(typed: &str) -> Result<u16, String> {
    within(typed, 40..=300, "columns")
}

/// The number of a process.
pub(super) fn pid(typed: &str) -> Result<u32, String> {
    let expected = || "expected the number of a process, as `gua who` shows it".to_owned();
    typed.parse().ok().filter(|pid| *pid > 0).ok_or_else(expected)
}

fn within<T>(typed: &str, bounds: RangeInclusive<T>, of_what: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let expected = || {
        let (least, most) = (bounds.start(), bounds.end());
        format!("expected a number of {of_what} from {least} to {most}")
    };
    typed.parse().ok().filter(|number| bounds.contains(number)).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_part_of_what_may_be_typed() {
        assert_eq!((cards("1"), cards("4096")), (Ok(1), Ok(4096)));
        assert_eq!((looks("1"), looks("18446744073709551615")), (Ok(1), Ok(u64::MAX)));
        assert_eq!(pid("4194304"), Ok(4_194_304));
    }

    #[test]
    fn what_was_expected_is_said_in_words() {
        for typed in ["", "-1", "abc", "0", "4097", "1.5", "99999999999999999999"] {
            let said = cards(typed).unwrap_err();
            assert_eq!(said, "expected a number of cards from 1 to 4096", "{typed}");
        }
        assert_eq!(looks("0").unwrap_err(), "expected a number of looks from 1 on, such as 10");
    }
}
