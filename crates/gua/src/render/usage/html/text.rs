//! Text that stays text, and moments.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use crate::render::words::safe;

/// A name from outside: no control characters, nothing that turns the direction of the text,
/// nothing that XML forbids. What is markup in it is escaped where it is put.
pub(super) fn shown(name: &str) -> String {
    safe(name).replace(['\u{fffe}', '\u{ffff}'], "?")
}

/// A moment of this year: `13 Nov 05:54`.
pub(super) fn short(at: Timestamp, tz: &TimeZone) -> String {
    at.to_zoned(tz.clone()).strftime("%-d %b %H:%M").to_string()
}

/// The same, which a program can read too.
pub(super) fn moment(at: Timestamp, tz: &TimeZone) -> Markup {
    html! { time datetime=(to_the_second(at)) { (short(at, tz)) } }
}

/// A time of day, to the second.
pub(super) fn clock(at: Timestamp, tz: &TimeZone) -> Markup {
    let shown = at.to_zoned(tz.clone()).strftime("%H:%M:%S").to_string();
    html! { time datetime=(to_the_second(at)) { (shown) } }
}

fn to_the_second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// One of something, or many: `1 card`, `3 cards`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
