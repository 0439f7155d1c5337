//! Hours, shares and bars.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::render::paint::Ink;
use crate::render::words;
use crate::report::usage::{Shown, States};

/// Hours with as many decimals as tell something beside the largest of a column: `0.31`,
/// `4.50`, `62.1`, `1,515`.
#[must_use]
pub fn hours(hours: f64, largest: f64) -> String {
    let (decimals, least) = match largest {
        h if h < 9.995 => (2, "0.01"),
        h if h < 99.95 => (1, "0.1"),
        _ => (0, "1"),
    };
    let shown = format!("{hours:.decimals$}");
    let is_nothing = shown.chars().all(|c| matches!(c, '0' | '.'));
    match is_nothing {
        true if hours > 0.0 => format!("<{least}"),
        true => "0".to_owned(),
        false if decimals == 0 => words::thousands(&shown),
        false => shown,
    }
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
pub const fn mark(state: Shown) -> char {
    match state {
        Shown::Active => '█',
        Shown::IdleHeld => '▒',
        Shown::TrulyIdle => '░',
        Shown::Unknown => '?',
    }
}

#[must_use]
pub const fn ink(state: Shown) -> Ink {
    match state {
        Shown::Active => Ink::Good,
        Shown::IdleHeld => Ink::Notice,
        Shown::TrulyIdle => Ink::Plain,
        Shown::Unknown => Ink::Bad,
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
pub fn bar(states: &States, columns: usize) -> Vec<(Shown, usize)> {
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
    use crate::report::usage::Amount;
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

    proptest! {
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
