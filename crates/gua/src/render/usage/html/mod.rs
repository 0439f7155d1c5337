//! The report as a page: one file that needs nothing else, or what a browser is served.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `address` | what an address says, and links to others |
//! | `marks` | what a state looks like: a colour, a pattern and a word |
//! | `text` | text that stays text, moments |
//! | `headline` | the verdict and the money in one sentence, and what it rests on |
//! | `tiles` | every card now |
//! | `time` | every card's time as a band |
//! | `axis` | where a clock shows round times |
//! | `compared` | two windows side by side |
//! | `people` | accounts and sessions |
//! | `habit` | the hours of a week |
//! | `coverage` | what was not observed, and why |
//! | `wide` | tables that may be wider than a screen |
//! | `picture` | one of these as an SVG by itself |
//! | `style.css`, `script.js` | how it looks, and what moves |

pub mod address;
mod axis;
mod compared;
mod coverage;
mod habit;
mod headline;
mod marks;
mod people;
pub mod picture;
#[cfg(test)]
mod tests;
mod text;
mod tiles;
mod time;
mod wide;

pub use people::{ALL_SESSIONS, MOST_SESSIONS};
pub(in crate::render) use wide::{caption, wide};

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;
use gua_query::page::UsagePage;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::address::Address;
use self::text::shown;
use super::{View, header};

/// How it looks.
pub const STYLE: &str = include_str!("style.css");
/// What moves: live updates, pointing, zooming. All of the content is there without it.
pub const SCRIPT: &str = include_str!("script.js");

/// Where a page is seen.
#[derive(Debug, Clone, Copy)]
pub enum Dress<'a> {
    /// In a file of its own, which nothing else belongs to.
    File,
    /// From a server, at this address.
    Served(&'a Address),
}

/// A page and how it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Sheet<'a> {
    pub page: &'a UsagePage,
    pub view: &'a View,
    pub dress: Dress<'a>,
    /// Where it is about many hosts.
    pub fleet: Option<&'a FleetUsage>,
}

/// Writes it as a file by itself.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, page: &UsagePage, view: &View) -> io::Result<()> {
    let sheet = Sheet { page, view, dress: Dress::File, fleet: None };
    writeln!(out, "{}", document(&sheet).into_string())
}

/// The head of any of our pages: what a browser has to know, the title, and how it is dressed.
#[must_use]
pub fn head(title: &str, dress: &Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            (dress)
        }
    }
}

/// The whole page.
#[must_use]
pub fn document(sheet: &Sheet<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title(sheet), &dressed(sheet)))
            body data-tz=(sheet.page.usage.window.tz)
                data-address=[sheet.address().map(|address| address.href("/"))] {
                (marks::patterns())
                (top(sheet))
                main id="content" { (content(sheet)) }
                (foot(sheet))
                @if sheet.address().is_some() { p id="connection" role="status" {} }
            }
        }
    }
}

fn title(sheet: &Sheet<'_>) -> String {
    let usage = &sheet.page.usage;
    let host = usage.host.as_ref();
    let name = host.map_or_else(|| "GPU usage".to_owned(), |host| shown(&host.name));
    let person = usage.person.as_ref().and_then(|person| person.account.name.as_deref());
    let person = person.map_or_else(String::new, |person| format!("{} on ", shown(person)));
    format!("{person}{name}, {} — gua", shown(&header::dates(usage, &sheet.view.tz)))
}

fn dressed(sheet: &Sheet<'_>) -> Markup {
    html! {
        @match sheet.dress {
            Dress::File => style { (PreEscaped(STYLE)) },
            Dress::Served(_) => {
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/script.js" defer {}
            }
        }
    }
}

/// Whose page it is, and the ways to others.
fn top(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    html! {
        header.top {
            p.brand {
                @match (&sheet.fleet, &usage.host) {
                    (Some(fleet), _) => { strong { (super::super::fleet::heading(fleet)) } }
                    (None, Some(host)) => {
                        strong { (shown(&host.name)) }
                        @if let Some(driver) = &host.driver_version {
                            " " span.quiet { "driver " (shown(driver)) }
                        }
                    }
                    (None, None) => { strong { "gua" } }
                }
            }
            @if let Dress::Served(address) = sheet.dress {
                (address::navigation(address, sheet))
            }
        }
    }
}

/// Everything below the top: what a live update replaces.
#[must_use]
pub fn content(sheet: &Sheet<'_>) -> Markup {
    let UsagePage { usage, timeline, .. } = sheet.page;
    html! {
        p.quiet.window-line {
            (shown(&header::window(usage, &sheet.view.tz)))
            @if let Some(end) = header::end(usage, &sheet.view.tz) { "; " (end) }
        }
        (live(sheet))
        @if !usage.cards.is_empty() {
            @if let Some(timeline) = timeline { (time::section(sheet, timeline)) }
            @if let Some(fleet) = sheet.fleet {
                (super::super::fleet::tables(fleet))
            }
            (people::section(sheet))
            @if let Some(before) = &usage.compared { (compared::section(sheet, before)) }
            @if usage.person.is_none() { (habit::section(sheet)) }
            (coverage::section(sheet))
        }
    }
}

/// What changes from tick to tick. A page about a time that is over has nothing to follow; one
/// with nothing on it waits for the first.
#[must_use]
pub fn live(sheet: &Sheet<'_>) -> Markup {
    let UsagePage { usage, now, .. } = sheet.page;
    let made = usage.window.to.as_millisecond();
    let follows = now.is_some() || usage.cards.is_empty();
    html! {
        div id="live" data-made=(made) data-follows[follows] {
            (headline::section(sheet))
            @if let Some(now) = now { (tiles::section(sheet, now)) }
        }
    }
}

fn foot(sheet: &Sheet<'_>) -> Markup {
    html! {
        footer {
            p {
                "Made by gua " (env!("CARGO_PKG_VERSION")) ". "
                @if let Dress::Served(address) = sheet.dress {
                    "The same as JSON: "
                    a href=(address.api("report")) { "report" } ", "
                    a href="/api/v1/who" { "who" } ", "
                    a href="/api/v1/stat" { "stat" } ", "
                    a href="/api/v1/status" { "status" } "."
                }
            }
        }
    }
}
