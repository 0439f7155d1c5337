//! What an address asks for: from what was typed to what is meant.

use std::collections::BTreeMap;

use gua_query::usage::By;
use gua_query::who::WhoFilter;
use jiff::Timestamp;

use crate::cli::{self, duration, moment, period, zone};
use crate::config::Window;
use crate::render::usage::html::address::{Address, Sort};
use crate::render::usage::html::{ALL_SESSIONS, MOST_SESSIONS};

/// A window of time, and what to make accounts of.
#[derive(Debug, Clone)]
pub struct Asked {
    pub window: Window,
    pub by: Vec<By>,
    /// How many sessions of each standing are shown; `None`: everything is told.
    pub sessions: Option<usize>,
}

/// Why an address makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Senseless {
    #[error("`{name}={value}`: {why}")]
    Value { name: String, value: String, why: String },
    #[error("unknown parameter `{0}`: expected {1}")]
    Name(String, &'static str),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("{0}")]
    Window(String),
}

const PAGE: &str = "since, period, from, until, tz, by, sort or sessions";
const WHO: &str = "user or idle";

/// Why nothing can be sorted by cost.
pub const NO_PRICE: &str = "there is no price of a GPU-hour to sort by";

/// The names and values of an address. A value that is empty is none.
fn pairs(query: Option<&str>) -> Result<BTreeMap<String, String>, Senseless> {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decoded(name), decoded(value));
        if value.is_empty() {
            continue;
        }
        match pairs.get_mut(&name) {
            // As on the command line, `by` may be given several times.
            Some(kinds) if name == "by" => kinds.extend([",", &value]),
            Some(_) => return Err(Senseless::Twice(name)),
            None => _ = pairs.insert(name, value),
        }
    }
    Ok(pairs)
}

/// What `%41` and `+` stand for.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match (first, after.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a page is asked, and the address that says so. It has accounts of one kind.
pub(super) fn page(
    query: Option<&str>,
    now: Timestamp,
    has_prices: bool,
) -> Result<(Asked, Address), Senseless> {
    let (asked, address) = report(query, now, has_prices)?;
    match asked.by.as_slice() {
        [_] => Ok((asked, address)),
        several => {
            let value = several.iter().map(|by| by.slug()).collect::<Vec<_>>().join(",");
            Err(wrong(
                "by",
                &value,
                "expected one kind of accounts; /api/v1/report has several".to_owned(),
            ))
        }
    }
}

/// What `/api/v1/report` is asked, and the address of a page of the first kind of accounts.
pub(super) fn report(
    query: Option<&str>,
    now: Timestamp,
    has_prices: bool,
) -> Result<(Asked, Address), Senseless> {
    let mut pairs = pairs(query)?;
    let mut take = |name: &str| pairs.remove(name);
    let mut address = Address {
        since: take("since"),
        period: take("period"),
        from: take("from"),
        until: take("until"),
        tz: take("tz"),
        ..Address::default()
    };
    let (by, sort, sessions) = (take("by"), take("sort"), take("sessions"));
    if let Some(name) = pairs.into_keys().next() {
        return Err(Senseless::Name(name, PAGE));
    }
    let window = window(&address, now)?;
    // A moment is the same in every zone, the hour on a clock is not.
    address.from = address.from.map(|_| window.from.to_string());
    address.until = address.until.map(|_| window.until.to_string());
    let by = by.as_deref().map(kinds_of).transpose()?;
    address.by = by.as_ref().and_then(|by| by.first().copied());
    address.sort = sort.as_deref().map(sort_of).transpose()?.unwrap_or_default();
    if address.sort == Sort::Cost && !has_prices {
        return Err(wrong("sort", "cost", NO_PRICE.to_owned()));
    }
    address.all_sessions = sessions.as_deref().map(is_all).transpose()?.unwrap_or(false);
    let sessions = if address.all_sessions { ALL_SESSIONS } else { MOST_SESSIONS };
    let by = by.unwrap_or_else(|| vec![By::User]);
    Ok((Asked { window, by, sessions: Some(sessions) }, address))
}

fn window(address: &Address, now: Timestamp) -> Result<Window, Senseless> {
    if address.since.is_some() && address.from.is_some() {
        return Err(Senseless::Window("`since` and `from` cannot both be given".to_owned()));
    }
    let Address { since, period: of_calendar, from, until, tz, .. } = address;
    if of_calendar.is_some() && (since.is_some() || from.is_some() || until.is_some()) {
        let both = "`period` cannot be given with `since`, `from` or `until`";
        return Err(Senseless::Window(both.to_owned()));
    }
    let since = since.as_deref();
    let typed = cli::Window {
        since: since.map(|text| parsed("since", text, duration)).transpose()?,
        period: of_calendar.as_deref().map(|it| parsed("period", it, period)).transpose()?,
        from: from.as_deref().map(|text| parsed("from", text, moment)).transpose()?,
        until: until.as_deref().map(|text| parsed("until", text, moment)).transpose()?,
        tz: cli::Tz { zone: parsed("tz", tz.as_deref().unwrap_or("local"), zone)? },
    };
    Window::new(&typed, now).map_err(|failure| {
        let told = failure.to_string();
        let what = told.lines().next().unwrap_or_default().to_owned();
        let as_parameter =
            |text: String, name: &&str| text.replace(&format!("--{name}"), &format!("`{name}`"));
        Senseless::Window(["period", "from", "until"].iter().fold(what, as_parameter))
    })
}

fn parsed<T>(
    name: &str,
    value: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Senseless> {
    parse(value).map_err(|why| wrong(name, value, why))
}

fn wrong(name: &str, value: &str, why: String) -> Senseless {
    let value = value.chars().take(60).collect();
    Senseless::Value { name: name.to_owned(), value, why }
}

/// Returns kinds of accounts, each once.
fn kinds_of(value: &str) -> Result<Vec<By>, Senseless> {
    let mut kinds = Vec::new();
    for kind in value.split(',').map(by_of) {
        let kind = kind?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

fn by_of(value: &str) -> Result<By, Senseless> {
    let found = By::ALL.into_iter().find(|by| by.slug() == value);
    let all = || By::ALL.map(By::slug).join(", ");
    found.ok_or_else(|| wrong("by", value, format!("expected one of {}", all())))
}

fn sort_of(value: &str) -> Result<Sort, Senseless> {
    // The command line says `idle`.
    let slug = if value == "idle" { Sort::IdleHeld.slug() } else { value };
    let found = Sort::ALL.into_iter().find(|sort| sort.slug() == slug);
    let all = || Sort::ALL.map(Sort::slug).join(", ");
    found.ok_or_else(|| wrong("sort", value, format!("expected one of {}", all())))
}

fn is_all(value: &str) -> Result<bool, Senseless> {
    match value {
        "all" => Ok(true),
        _ => Err(wrong("sessions", value, "expected all".to_owned())),
    }
}

/// Whom `/api/v1/who` is asked about.
pub(super) fn holders(query: Option<&str>) -> Result<WhoFilter, Senseless> {
    let mut pairs = pairs(query)?;
    let idle = pairs.remove("idle").map(|text| parsed("idle", &text, duration)).transpose()?;
    let users = pairs.remove("user").into_iter().collect();
    match pairs.into_keys().next() {
        Some(name) => Err(Senseless::Name(name, WHO)),
        None => Ok(WhoFilter { idle, users, ..WhoFilter::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-11-15T20:00:00Z".parse().unwrap()
    }

    fn told(query: &str) -> String {
        page(Some(query), now(), false).map_or_else(
            |error| error.to_string(),
            |(asked, address)| {
                format!("{} → {} {}", asked.window.from, asked.window.until, address.href("/"))
            },
        )
    }

    #[test]
    fn an_address_is_read_as_the_command_line_is() {
        assert_eq!(told("tz=UTC"), "2026-11-14T20:00:00Z → 2026-11-15T20:00:00Z /?tz=UTC");
        assert_eq!(
            told("since=7d&tz=%2B02%3A00&sort=active&by=job"),
            "2026-11-08T20:00:00Z → 2026-11-15T20:00:00Z \
             /?since=7d&tz=%2B02:00&by=job&sort=active"
        );
        assert_eq!(
            told("from=2026-11-08T20:00&until=&tz=+01:00"),
            "`tz= 01:00`: expected local, UTC, a name such as Europe/Berlin, or an offset such \
             as +02:00"
        );
        assert_eq!(
            told("from=2026-11-08T20:00&tz=UTC"),
            "2026-11-08T20:00:00Z → 2026-11-15T20:00:00Z /?from=2026-11-08T20:00:00Z&tz=UTC"
        );
        assert_eq!(
            told("from=2026-11-08T20:00&until=2026-11-09&tz=Europe/Berlin"),
            "2026-11-08T19:00:00Z → 2026-11-08T23:00:00Z \
             /?from=2026-11-08T19:00:00Z&until=2026-11-08T23:00:00Z&tz=Europe/Berlin"
        );
    }

    #[test]
    fn address_may_name_a_period_of_the_calendar() {
        assert_eq!(
            told("period=last-month&tz=Europe/Berlin"),
            "2026-09-30T22:00:00Z → 2026-10-31T23:00:00Z \
             /?period=last-month&tz=Europe/Berlin"
        );
        assert_eq!(
            told("period=this-week&tz=UTC"),
            "2026-11-09T00:00:00Z → 2026-11-15T20:00:00Z /?period=this-week&tz=UTC"
        );
        assert_eq!(
            told("period=today&until=now"),
            "`period` cannot be given with `since`, `from` or `until`"
        );
        assert_eq!(
            told("period=2026-12&tz=UTC"),
            "`period`: it has not begun: it begins on 2026-12-01 00:00:00 UTC"
        );
        let wrong = told("period=soon");
        assert!(wrong.starts_with("`period=soon`: expected today, yesterday, "), "{wrong}");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for query in [
            "since=soon",
            "since=7d&from=2026-11-08",
            "from=2027-01-01&tz=UTC",
            "sort=up",
            "by=nobody",
            "by=user,job",
            "sessions=3",
            "since=1h&since=2h",
            "color=red",
        ] {
            assert!(page(Some(query), now(), true).is_err(), "{query}");
        }
        assert!(holders(Some("idle=x")).is_err() && holders(Some("x=1")).is_err());
        assert_eq!(holders(Some("user=b%20b")).unwrap().users, ["b b"]);
        assert!(report(Some("by=user,up"), now(), true).is_err());
    }

    #[test]
    fn kinds_may_be_given_several_times_and_count_once() {
        for query in ["by=user,job", "by=user&by=job", "by=user,job,user&by=job"] {
            let (asked, _) = report(Some(query), now(), false).unwrap();
            assert_eq!(asked.by, [By::User, By::Job], "{query}");
        }
        assert!(page(Some("by=user&by=user"), now(), false).is_ok());
    }

    #[test]
    fn order_is_that_of_the_command_line() {
        assert!(told("sort=idle&tz=UTC").ends_with(" /?tz=UTC&sort=idle-held"));
        assert_eq!(told("sort=cost"), "`sort=cost`: there is no price of a GPU-hour to sort by");
        assert!(page(Some("sort=cost"), now(), true).is_ok());
    }

    proptest! {
        #[test]
        fn no_address_does_harm(query in "\\PC{0,80}") {
            let _ = page(Some(&query), now(), true);
            let _ = holders(Some(&query));
        }
    }
}
