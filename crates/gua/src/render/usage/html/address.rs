//! What an address says: the window, the zone and the order, and links to others.

use gua_query::usage::By;
use maud::{Markup, html};

use super::Sheet;
use super::text::shown;

/// What was asked in an address, after it was found to make sense. What it does not say is as
/// usual.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Address {
    /// How far back, as in `7d`.
    pub since: Option<String>,
    /// A period of the calendar, as in `last-month`.
    pub period: Option<String>,
    pub from: Option<String>,
    pub until: Option<String>,
    pub tz: Option<String>,
    pub by: Option<By>,
    pub sort: Sort,
    /// Whether all sessions are to be shown.
    pub all_sessions: bool,
}

/// Column that accounts are sorted by: names from A on, figures from the largest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    #[default]
    Total,
    Name,
    Active,
    IdleHeld,
    Unused,
    LowUse,
    Unknown,
    Cost,
}

impl Sort {
    pub const ALL: [Self; 8] = [
        Self::Total,
        Self::Name,
        Self::Active,
        Self::IdleHeld,
        Self::Unused,
        Self::LowUse,
        Self::Unknown,
        Self::Cost,
    ];

    /// Its word in an address.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Name => "name",
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::Unused => "unused",
            Self::LowUse => "low-use",
            Self::Unknown => "unknown",
            Self::Cost => "cost",
        }
    }
}

/// The window of a page that does not say.
const USUAL_SINCE: &str = "24h";

/// Windows that are one click away.
const WINDOWS: [(&str, &str); 3] = [("24h", "24 h"), ("7d", "7 d"), ("30d", "30 d")];
const PERIODS: [(&str, &str); 2] = [("this-month", "this month"), ("last-month", "last month")];

impl Address {
    /// The same page over the time from so long ago until now.
    #[must_use]
    pub fn since(&self, since: &str) -> String {
        let since = Some(since.to_owned());
        Self { since, period: None, from: None, until: None, ..self.clone() }.href("/")
    }

    /// Returns the same page over a period of the calendar.
    fn over(&self, period: &str) -> String {
        let period = Some(period.to_owned());
        Self { period, since: None, from: None, until: None, ..self.clone() }.href("/")
    }

    #[must_use]
    pub fn sorted(&self, sort: Sort) -> String {
        format!("{}#people", Self { sort, ..self.clone() }.href("/"))
    }

    #[must_use]
    pub fn with_all_sessions(&self) -> String {
        format!("{}#people", Self { all_sessions: true, ..self.clone() }.href("/"))
    }

    fn in_zone(&self, tz: &str) -> String {
        Self { tz: Some(tz.to_owned()), ..self.clone() }.href("/")
    }

    fn by(&self, by: By) -> String {
        format!("{}#people", Self { by: Some(by), ..self.clone() }.href("/"))
    }

    /// The same question to the interface for programs.
    #[must_use]
    pub fn api(&self, what: &str) -> String {
        let plain = Self { sort: Sort::default(), all_sessions: false, ..self.clone() };
        plain.href(&format!("/api/v1/{what}"))
    }

    /// What is asked, below a path.
    #[must_use]
    pub fn href(&self, path: &str) -> String {
        let texts = [
            ("since", self.since.as_deref()),
            ("period", self.period.as_deref()),
            ("from", self.from.as_deref()),
            ("until", self.until.as_deref()),
            ("tz", self.tz.as_deref()),
            ("by", self.by.map(By::slug)),
            ("sort", (self.sort != Sort::default()).then(|| self.sort.slug())),
            ("sessions", self.all_sessions.then_some("all")),
        ];
        let given = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let given: Vec<_> = given.map(|(name, text)| format!("{name}={}", encoded(text))).collect();
        if given.is_empty() { path.to_owned() } else { format!("{path}?{}", given.join("&")) }
    }
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The ways to other windows, zones and accounts.
pub(super) fn navigation(address: &Address, sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let is_free = address.from.is_some() || address.until.is_some();
    let current = address.since.as_deref().unwrap_or(USUAL_SINCE);
    let is_utc = usage.window.tz == "UTC";
    let minute = |at: jiff::Timestamp| {
        at.to_zoned(sheet.view.tz.clone()).strftime("%Y-%m-%dT%H:%M").to_string()
    };
    html! {
        nav aria-label="Window" {
            ul.windows {
                @for (since, words) in WINDOWS {
                    @let is_this = !is_free && address.period.is_none() && since == current;
                    li { a href=(address.since(since)) aria-current=[is_this.then_some("page")] { (words) } }
                }
                @for (period, words) in PERIODS {
                    @let is_this = address.period.as_deref() == Some(period);
                    li { a href=(address.over(period)) aria-current=[is_this.then_some("page")] { (words) } }
                }
            }
            details id="another-window" open[is_free] {
                summary { "Another window" }
                form.window method="get" action="/" {
                    label { "from " input type="datetime-local" name="from" required value=(minute(usage.window.from)); }
                    label { "until " input type="datetime-local" name="until" value=(minute(usage.window.to)); }
                    // The same hours for everybody whom the address is given to.
                    input type="hidden" name="tz" value=(usage.window.tz);
                    @if let Some(by) = address.by { input type="hidden" name="by" value=(by.slug()); }
                    @if address.sort != Sort::default() { input type="hidden" name="sort" value=(address.sort.slug()); }
                    button type="submit" { "Show" }
                }
            }
            p.zone {
                "Times in " (shown(&usage.window.tz)) ". "
                @if is_utc { a.scripted id="local-time" href=(address.in_zone("local")) { "Local time" } }
                @else { a href=(address.in_zone("UTC")) { "UTC" } }
            }
            p.kinds {
                "By "
                @for (place, by) in [By::User, By::Job, By::Container, By::Notebook, By::Program].into_iter().enumerate() {
                    @if place > 0 { " · " }
                    a href=(address.by(by)) aria-current=[(address.by.unwrap_or(By::User) == by).then_some("true")] { (by.slug()) }
                }
            }
        }
    }
}
