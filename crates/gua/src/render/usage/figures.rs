//! Hours, shares and bars.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::render::paint::Ink;
use crate::render::words;
use gua_query::usage::{States, TotalState};

/// Hours with as many decimals as tell something beside the largest of a column: `0.31`,
/// `4.50`, `62.1`, `1,515`.
#[must_use]
pub fn hours(hours: f64, largest: f64) -> String {
    let decimals = hour_decimals(largest);
    format_units(units(hours, decimals), hours, decimals)
}

/// Returns the decimals of hours in a column, of which one is the largest.
pub(super) fn hour_decimals(largest: f64) -> usize {
    match largest {
        hours if hours < 9.995 => 2,
        hours if hours < 99.95 => 1,
        _ => 0,
    }
}

/// Returns the largest of the hours that a report prints: free time, or all other time together. So hours
/// by state and the sums of accounts have the same decimals.
pub(in crate::render) fn largest(states: &States) -> f64 {
    let held = states.active.gpu_hours + states.idle_held.gpu_hours + states.unknown.gpu_hours;
    held.max(states.truly_idle.gpu_hours)
}

/// Returns a figure as a number of its last shown decimal, rounded as it is shown. Sums that differ in their
/// last bits are rounded alike.
pub(super) fn units(figure: f64, decimals: usize) -> i64 {
    let figure = (figure * 1e6).round() / 1e6;
    let digits: String = format!("{figure:.decimals$}").chars().filter(|c| *c != '.').collect();
    digits.parse().unwrap_or(0)
}

/// Shows a number of last decimals of what is exactly `figure`.
pub(super) fn format_units(units: i64, figure: f64, decimals: usize) -> String {
    format_decimals(&digits(units, decimals), figure)
}

/// Shows a number of last decimals with all of its digits, as for a figure of which some is not known:
/// `≥0.00`.
pub(super) fn format_digits(units: i64, decimals: usize) -> String {
    let digits = digits(units, decimals);
    if decimals == 0 { words::thousands(&digits) } else { digits }
}

fn digits(units: i64, decimals: usize) -> String {
    let digits = format!("{units:0least$}", least = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    if decimals == 0 { digits } else { format!("{whole}.{part}") }
}

/// Shows rounded digits of a figure: a little is not nothing.
fn format_decimals(digits: &str, figure: f64) -> String {
    let is_nothing = digits.chars().all(|c| matches!(c, '0' | '.'));
    let is_whole = !digits.contains('.');
    match is_nothing {
        true if figure > 0.0 && is_whole => "<1".to_owned(),
        true if figure > 0.0 => format!("<{}1", &digits[..digits.len() - 1]),
        true => "0".to_owned(),
        false if is_whole => words::thousands(digits),
        false => digits.to_owned(),
    }
}

/// Splits a whole number into parts in the ratio of figures, by the largest remainder: each is rounded up
/// or down, and they add up to the whole.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "printed figures have few digits"
)]
pub(super) fn apportion(figures: &[f64], whole: i64) -> Vec<i64> {
    let sum: f64 = figures.iter().sum();
    if sum <= 0.0 {
        return vec![0; figures.len()];
    }
    let exact: Vec<f64> = figures.iter().map(|figure| figure / sum * whole as f64).collect();
    let mut parts: Vec<i64> = exact.iter().map(|part| part.floor() as i64).collect();
    let missing = usize::try_from(whole - parts.iter().sum::<i64>()).unwrap_or(0);
    let mut order: Vec<usize> = (0..figures.len()).collect();
    let remainder = |place: &usize| exact.get(*place).map_or(0.0, |part| part.fract());
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    for place in order.into_iter().take(missing) {
        if let Some(part) = parts.get_mut(place) {
            *part += 1;
        }
    }
    parts
}

/// A share in percent. A little is not nothing, and almost all is not all.
#[must_use]
pub fn percent(share: Option<f64>) -> String {
    match share {
        None => "–".to_owned(),
        Some(share) if share > 0.0 && share < 0.0005 => "<0.1 %".to_owned(),
        Some(share) if (0.9995..1.0).contains(&share) => ">99.9 %".to_owned(),
        Some(share) => format!("{:.1} %", share * 100.0),
    }
}

/// A length of time without the small unit where that is nothing: `7d`, `1h20m`.
#[must_use]
pub fn length(seconds: f64) -> String {
    let shown = words::duration(seconds);
    let short = shown.strip_suffix("00h").or_else(|| shown.strip_suffix("00m"));
    short.map_or_else(|| shown.clone(), str::to_owned)
}

/// What a state is drawn with.
#[must_use]
pub const fn mark(state: TotalState) -> char {
    match state {
        TotalState::Active => '█',
        TotalState::IdleHeld => '▒',
        TotalState::TrulyIdle => '░',
        TotalState::Unknown => '?',
    }
}

#[must_use]
pub const fn ink(state: TotalState) -> Ink {
    match state {
        TotalState::Active => Ink::Good,
        TotalState::IdleHeld => Ink::Notice,
        TotalState::TrulyIdle => Ink::Plain,
        TotalState::Unknown => Ink::Bad,
    }
}

/// How many of so many columns each state takes: at least one where there is any of it.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "columns of a screen"
)]
pub fn bar(states: &States, columns: usize) -> Vec<(TotalState, usize)> {
    let shares = states.all().map(|(state, amount)| (state, amount.share.unwrap_or(0.0)));
    let there: Vec<_> = shares.into_iter().filter(|(_, share)| *share > 0.0).collect();
    let mut parts: Vec<_> = there
        .iter()
        .map(|(state, share)| (*state, ((share * columns as f64).round() as usize).max(1)))
        .collect();
    // Rounding may leave some over or too few; the longest notices least.
    while !parts.is_empty() && columns >= parts.len() {
        let taken: usize = parts.iter().map(|(_, columns)| columns).sum();
        let Some(longest) = parts.iter_mut().max_by_key(|(_, columns)| *columns) else { break };
        match taken.cmp(&columns) {
            std::cmp::Ordering::Less => longest.1 += 1,
            std::cmp::Ordering::Greater => longest.1 -= 1,
            std::cmp::Ordering::Equal => break,
        }
    }
    parts
}

/// A day and a time of day: `8 Nov 2026 20:00`.
#[must_use]
pub fn moment(at: Timestamp, tz: &TimeZone) -> String {
    at.to_zoned(tz.clone()).strftime("%-d %b %Y %H:%M").to_string()
}

/// From one moment to another, without what both have in common.
#[must_use]
pub fn stretch(from: Timestamp, to: Timestamp, tz: &TimeZone, zone: &str) -> String {
    let [begin, end] = [from, to].map(|at| at.to_zoned(tz.clone()));
    // Where minutes are few, seconds matter.
    let is_short = to.as_second() - from.as_second() < 600;
    let clock = if is_short { "%H:%M:%S" } else { "%H:%M" };
    let day = if begin.year() == end.year() && begin.date() != end.date() {
        "%-d %b "
    } else {
        "%-d %b %Y "
    };
    let begin_shown = begin.strftime(&format!("{day}{clock}")).to_string();
    let end_day = if begin.date() == end.date() { "" } else { "%-d %b %Y " };
    let end_shown = end.strftime(&format!("{end_day}{clock}")).to_string();
    format!("{begin_shown} → {end_shown} {zone}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_query::usage::Amount;
    use proptest::prelude::*;

    #[test]
    fn hours_show_what_tells_something() {
        let shown = [0.0, 0.001, 0.31, 4.5, 9.999, 62.14, 99.96, 1515.2, 1_234_567.0];
        let shown = shown.map(|h| hours(h, h));
        let expected = ["0", "<0.01", "0.31", "4.50", "10.0", "62.1", "100", "1,515", "1,234,567"];
        assert_eq!(shown, expected);
        assert_eq!([0.0, 0.3, 7.0, 62.1].map(|h| hours(h, 500.0)), ["0", "<1", "7", "62"]);
        assert_eq!([0.01, 7.0].map(|h| hours(h, 62.1)), ["<0.1", "7.0"]);
    }

    #[test]
    fn a_little_is_not_nothing() {
        let shares = [None, Some(0.0), Some(0.0001), Some(0.213), Some(0.9999), Some(1.0)];
        let expected = ["–", "0.0 %", "<0.1 %", "21.3 %", ">99.9 %", "100.0 %"];
        assert_eq!(shares.map(percent), expected);
    }

    #[test]
    fn lengths_leave_out_nothing() {
        assert_eq!(
            [604_800.0, 4_800.0, 3_600.0, 90_000.0].map(length),
            ["7d", "1h20m", "1h", "1d01h"]
        );
    }

    #[test]
    fn units_are_what_is_shown() {
        for (figure, decimals, shown) in [
            (62.14, 1, "62.1"),
            (0.25, 1, "0.2"),
            (1515.2, 0, "1,515"),
            (0.004, 2, "<0.01"),
            (0.0, 1, "0"),
        ] {
            assert_eq!(format_units(units(figure, decimals), figure, decimals), shown);
        }
        assert_eq!([3, 0].map(|units| format_units(units, 0.03, 2)), ["0.03", "<0.01"]);
    }

    #[test]
    fn parts_add_up_by_the_largest_remainder() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 100), [34, 33, 33]);
        assert_eq!(apportion(&[0.4, 0.35, 0.25], 1), [1, 0, 0]);
        assert_eq!(apportion(&[62.6, 0.0, 0.4], 63), [63, 0, 0]);
        assert_eq!(apportion(&[0.0, 0.0], 0), [0, 0]);
    }

    proptest! {
        #[test]
        fn parts_are_rounded_up_or_down(
            figures in proptest::collection::vec(0.0..500.0_f64, 1..12),
            decimals in 0_usize..3,
        ) {
            let whole = units(figures.iter().sum(), decimals);
            let parts = apportion(&figures, whole);
            let scale = [1.0, 10.0, 100.0][decimals];
            if figures.iter().any(|figure| *figure > 0.0) {
                prop_assert_eq!(parts.iter().sum::<i64>(), whole);
            }
            for (part, figure) in parts.iter().zip(&figures) {
                prop_assert!((*part as f64 - figure * scale).abs() < 1.51, "{} {}", part, figure);
            }
        }

        #[test]
        fn a_bar_is_as_long_as_it_may_be(
            a in 0_i32..1000, b in 0_i32..1000, c in 0_i32..1000, d in 0_i32..1000,
            columns in 4_usize..100,
        ) {
            let all = f64::from(a + b + c + d);
            prop_assume!(all > 0.0);
            let amount = |n: i32| Amount { gpu_hours: f64::from(n), share: Some(f64::from(n) / all) };
            let states = States {
                active: amount(a), idle_held: amount(b), truly_idle: amount(c), unknown: amount(d),
            };
            let bar = bar(&states, columns);
            prop_assert_eq!(bar.iter().map(|(_, columns)| columns).sum::<usize>(), columns);
            prop_assert!(bar.iter().all(|(_, columns)| *columns > 0));
        }
    }
}
