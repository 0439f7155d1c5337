//! Names, times and counts in the words of a page.

use gua_core::identity::Who;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use crate::render::identity;
use crate::render::words::safe;

/// Returns a name from outside without control characters, characters that turn the direction of text,
/// and those that XML forbids. Markup in it is escaped where it is put.
pub(super) fn shown(name: &str) -> String {
    safe(name).replace(['\u{fffe}', '\u{ffff}'], "?")
}

/// Formats whose something is.
pub(super) fn name_of_user(user: Option<&str>, uid: Option<u32>) -> String {
    match (user, uid) {
        (Some(user), _) => shown(user),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => identity::UNATTRIBUTED.to_owned(),
    }
}

/// Formats the job, container or notebook of a process and its script; `None` if none is known.
pub(super) fn brief(who: &Who) -> Option<String> {
    let brief = identity::brief(who);
    (!brief.is_empty()).then(|| shown(&brief))
}

/// Formats a time without its year: `13 Nov 05:54`.
pub(super) fn short(at: Timestamp, tz: &TimeZone) -> String {
    at.to_zoned(tz.clone()).strftime("%-d %b %H:%M").to_string()
}

/// Formats a time without its year, for people and programs.
pub(super) fn moment(at: Timestamp, tz: &TimeZone) -> Markup {
    html! { time datetime=(to_the_second(at)) { (short(at, tz)) } }
}

/// Formats a time of day, to the second.
pub(super) fn clock(at: Timestamp, tz: &TimeZone) -> Markup {
    let shown = at.to_zoned(tz.clone()).strftime("%H:%M:%S").to_string();
    html! { time datetime=(to_the_second(at)) { (shown) } }
}

fn to_the_second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a number of things: `1 card`, `3 cards`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
