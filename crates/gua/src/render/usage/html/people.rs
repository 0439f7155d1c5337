//! Whose the time was: accounts, and the sessions in which somebody held a card idle.

use maud::{Markup, html};

use super::address::{Address, Sort};
use super::headline::{in_money, price_of};
use super::marks::{Mark, bar};
use super::text::{count, moment, shown};
use super::wide::name_of;
use super::{Dress, Sheet, caption, wide};
use crate::render::table::Align;
use crate::render::usage::accounts::{self, Figure, Most};
use crate::render::usage::figures::length;
use crate::render::usage::sections::{NO_ACCOUNTS, as_recorded};
use crate::render::usage::sessions::{self, Standing};
use crate::render::words::memory;
use crate::report::accounts::By;
use crate::report::usage::{Account, Session, Usage};

/// So many accounts are shown at once; the others are folded away.
const MOST_ACCOUNTS: usize = 12;
/// So many sessions of each standing, where nothing else is asked for.
pub const MOST_SESSIONS: usize = 12;
/// And never more than this: a page is for reading, JSON has all.
pub const ALL_SESSIONS: usize = 500;

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    html! {
        section id="people" aria-labelledby="people-title" {
            h2 id="people-title" { "People" }
            @if usage.accounts.is_none() {
                p { (NO_ACCOUNTS) }
            } @else {
                @if let Some(recorded) = as_recorded(usage, &sheet.view.tz) { p.quiet { (recorded) } }
                @for by in accounts::kinds(usage) { (table(sheet, *by)) }
                (sessions(sheet))
            }
        }
    }
}

fn table(sheet: &Sheet<'_>, by: By) -> Markup {
    let usage = &sheet.page.usage;
    let mut all = accounts::of(usage, by);
    let figures = weightiest_first(accounts::figures(usage, by));
    let sort = sheet.address().map(|address| address.sort).unwrap_or_default();
    sorted(&mut all, sort);
    let (first, rest) = all.split_at(all.len().min(MOST_ACCOUNTS));
    html! {
        h3 { (format!("By {}", by.slug())) }
        @if all.is_empty() { p.quiet { "nobody held a card" } } @else {
            @let id = format!("by-{}", by.slug());
            @let order = order(sort);
            (rows(sheet, by, &figures, first, &Named { id: &id, words: format!("By {}, {order}", by.slug()) }))
            @if !rest.is_empty() {
                @let id = format!("more-{id}");
                details id=(format!("{id}-folded")) {
                    summary { (count(rest.len(), "more account")) }
                    (rows(sheet, by, &figures, rest, &Named { id: &id, words: format!("The others by {}, {order}", by.slug()) }))
                }
            }
            p.quiet { (accounts::legend(usage, &figures)) }
        }
    }
}

/// A table and what it is called.
struct Named<'a> {
    id: &'a str,
    words: String,
}

/// What accounts are in the order of, in words.
const fn order(sort: Sort) -> &'static str {
    match sort {
        Sort::IdleHeld => "most idle-held first",
        Sort::Name => "in the order of their names",
        Sort::Present => "longest present first",
        Sort::Worked => "most worked first",
        Sort::Idle => "longest idle first",
        Sort::Unknown => "most unknown first",
        Sort::Memory => "most memory held idle first",
        Sort::Cost => "costliest first",
    }
}

/// Whose, how much for nothing, and what it cost come first: on a phone the rest is beyond the edge.
fn weightiest_first(mut figures: Vec<Figure>) -> Vec<Figure> {
    figures.sort_by_key(|figure| match figure {
        Figure::Name => 0,
        Figure::User => 1,
        Figure::IdleHeld => 2,
        Figure::Cost => 3,
        Figure::Share => 4,
        Figure::Present => 5,
        Figure::Worked => 6,
        Figure::Idle => 7,
        Figure::Unknown => 8,
        Figure::Memory => 9,
    });
    figures
}

fn rows(
    sheet: &Sheet<'_>,
    by: By,
    figures: &[Figure],
    all: &[&Account],
    named: &Named<'_>,
) -> Markup {
    let usage = &sheet.page.usage;
    let most = Most::of(&accounts::of(usage, by));
    html! {
        (wide(named.id, &html! { table.accounts {
            (caption(named.id, &named.words))
            thead { tr {
                @for figure in figures { (head(sheet, by, *figure)) }
                td.share-bar aria-hidden="true" {}
            } }
            tbody { @for account in all { tr {
                @for figure in figures {
                    @let text = accounts::cell(usage, account, *figure, &most);
                    @if *figure == Figure::Name { th scope="row" { (shown(&text)) } }
                    @else { td class=(align(*figure)) { (shown(&text)) } }
                }
                td.share-bar aria-hidden="true" { (bar(account.idle_held_share.unwrap_or(0.0), Mark::Held)) }
            } } }
        } }))
    }
}

fn align(figure: Figure) -> &'static str {
    if figure.align() == Align::Right { "number" } else { "words" }
}

fn head(sheet: &Sheet<'_>, by: By, figure: Figure) -> Markup {
    let sort = sort_by(figure);
    let current = sheet.address().map(|address| address.sort);
    let is_current = sort.is_some() && current == sort;
    let direction = if sort == Some(Sort::Name) { "ascending" } else { "descending" };
    html! {
        th scope="col" class=(align(figure)) aria-sort=[is_current.then_some(direction)] {
            @match (sheet.address(), sort) {
                (Some(address), Some(sort)) => a href=(address.sorted(sort)) { (figure.head(by)) },
                _ => (figure.head(by)),
            }
        }
    }
}

const fn sort_by(figure: Figure) -> Option<Sort> {
    match figure {
        Figure::Name => Some(Sort::Name),
        Figure::Present => Some(Sort::Present),
        Figure::Worked => Some(Sort::Worked),
        Figure::IdleHeld => Some(Sort::IdleHeld),
        Figure::Idle => Some(Sort::Idle),
        Figure::Unknown => Some(Sort::Unknown),
        Figure::Memory => Some(Sort::Memory),
        Figure::Cost => Some(Sort::Cost),
        Figure::User | Figure::Share => None,
    }
}

fn sorted(accounts: &mut [&Account], sort: Sort) {
    let key = |account: &Account| match sort {
        Sort::IdleHeld | Sort::Name => account.idle_held_gpu_hours,
        Sort::Present => account.gpu_hours,
        Sort::Worked => account.worked_gpu_hours,
        Sort::Idle => account.idle_gpu_hours,
        Sort::Unknown => account.unknown_gpu_hours,
        Sort::Memory => account.held_idle_gb_hours,
        Sort::Cost => account.cost.unwrap_or(-1.0),
    };
    match sort {
        Sort::IdleHeld => {}
        Sort::Name => accounts.sort_by(|a, b| {
            (a.name.is_none(), &a.name, &a.user).cmp(&(b.name.is_none(), &b.name, &b.user))
        }),
        _ => accounts.sort_by(|a, b| key(b).total_cmp(&key(a))),
    }
}

fn sessions(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let asked = sheet.address().is_some_and(|address| address.all_sessions);
    let most = match sheet.dress {
        Dress::Served(_) if asked => ALL_SESSIONS,
        Dress::Served(_) => MOST_SESSIONS,
        Dress::File => sheet.view.sessions.min(ALL_SESSIONS),
    };
    html! {
        h3 { "Holding sessions" }
        @if usage.sessions.as_ref().is_none_or(Vec::is_empty) {
            p.quiet { "Nobody held a card without working." }
        }
        @if let Some(host) = sessions::elsewhere(usage, sheet.view.is_here) { p.quiet { (host) } }
        @for standing in Standing::ALL {
            @let (shown, more) = sessions::shown(usage, standing, most);
            @if !shown.is_empty() {
                (of_standing(sheet, standing, &shown))
                @if more > 0 {
                    p.quiet { "and " (more) " more; "
                        @match sheet.dress {
                            Dress::Served(address) if !asked => a href=(address.with_all_sessions()) { "show them" },
                            Dress::Served(address) => a href=(address.api("report")) { "JSON has all" },
                            Dress::File if most < ALL_SESSIONS => { code { "gua report --sessions all" } " shows them" }
                            Dress::File => { code { "gua report --json" } " has all" }
                        }
                    }
                }
            }
        }
    }
}

const fn id_of(standing: Standing) -> &'static str {
    match standing {
        Standing::Open => "sessions-open",
        Standing::Unclear => "sessions-unclear",
        Standing::Ended => "sessions-ended",
    }
}

fn of_standing(sheet: &Sheet<'_>, standing: Standing, all: &[&Session]) -> Markup {
    let usage = &sheet.page.usage;
    let has_money = usage.money.is_some();
    let has_commands = all.iter().any(|session| session.ask.is_some() || session.end.is_some());
    let is_of_one = usage.person.is_some();
    let id = id_of(standing);
    html! {
        (wide(id, &html! { table.sessions {
            caption id=(name_of(id)) { (standing.title()) }
            thead { tr {
                th.number scope="col" { "idle" }
                @if !is_of_one { th scope="col" { "who" } }
                th.number scope="col" { "card" }
                @if has_money { th.number scope="col" { "cost" } }
                th scope="col" { "when" }
                th scope="col" { "what" } th.number scope="col" { "memory" }
                th.number scope="col" { "pid" }
                @if has_commands { th scope="col" { "ask, or end it" } }
            } }
            tbody { @for session in all { tr {
                td.number { strong { (idle(session)) } }
                @if !is_of_one { th scope="row" { (sessions::who(session)) } }
                td.number { (sessions::place(session)) }
                @if has_money { td.number { (cost(usage, session)) } }
                td { (when(sheet, session)) }
                td.what { (sessions::what(session)) }
                td.number { (session.peak_memory_bytes.map_or_else(|| "unknown".to_owned(), memory)) }
                td.number { (session.pid) }
                @if has_commands { td { (commands(session)) } }
            } } }
        } }))
    }
}

fn idle(session: &Session) -> String {
    let is_all = session.from_seen && (session.to_seen || session.is_open());
    let mark = if is_all { "" } else { "≥ " };
    format!("{mark}{}", length(session.idle_seconds))
}

fn when(sheet: &Sheet<'_>, session: &Session) -> Markup {
    let tz = &sheet.view.tz;
    html! {
        @if session.is_open() { "since " (moment(session.from, tz)) }
        @else { (moment(session.from, tz)) " → " (moment(session.to, tz)) }
    }
}

fn cost(usage: &Usage, session: &Session) -> String {
    let card = usage.cards.iter().find(|card| card.uuid == session.card_uuid);
    let price = card.and_then(|card| price_of(usage, card.name.as_deref()));
    let cost = price.and_then(|price| in_money(usage, price * session.idle_held_gpu_hours));
    cost.unwrap_or_else(|| "?".to_owned())
}

fn commands(session: &Session) -> Markup {
    html! {
        @for command in [&session.ask, &session.end].into_iter().flatten() {
            code { (shown(command)) } " "
        }
    }
}

impl<'a> Sheet<'a> {
    /// Where it is served, if it is.
    pub(super) const fn address(&self) -> Option<&'a Address> {
        match self.dress {
            Dress::File => None,
            Dress::Served(address) => Some(address),
        }
    }
}
