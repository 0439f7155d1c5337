//! Accounts, and the sessions in which somebody held a card idle.

use gua_query::usage::{Account, By, Session, Usage};
use maud::{Markup, html};

use super::address::{Address, Sort};
use super::headline::{in_money, price_of};
use super::marks::{Mark, stacked_bar};
use super::text::{count, moment, shown};
use super::wide::name_of;
use super::{Dress, Sheet, caption, wide};
use crate::render::table::Align;
use crate::render::usage::accounts::{self, Figure, PrintedAccount, PrintedAccounts};
use crate::render::usage::sessions::{self, Standing};
use crate::render::words::memory;

/// Accounts that are shown at once; the others are folded away.
const MOST_ACCOUNTS: usize = 12;
/// Sessions of each standing on a served page that does not show all.
pub const MOST_SESSIONS: usize = 12;
/// Sessions of each standing on any page. JSON has all.
pub const ALL_SESSIONS: usize = 500;

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    html! {
        section id="people" aria-labelledby="people-title" {
            h2 id="people-title" { @if sheet.page.usage.person.is_some() { "Where" } @else { "People" } }
            @for by in &sheet.page.usage.accounts_by { (accounts_by(sheet, *by)) }
            // Counters of many hosts say nothing about sessions.
            @if sheet.fleet.is_none() { (sessions(sheet)) }
        }
    }
}

fn accounts_by(sheet: &Sheet<'_>, by: By) -> Markup {
    let usage = &sheet.page.usage;
    let mut all = accounts::of_kind(usage, by);
    let figures = accounts::figures(usage, by, true);
    let sort = sheet.address().map(|address| address.sort).unwrap_or_default();
    sort_accounts(&mut all, sort);
    let printed = PrintedAccounts::new(usage, &all, MOST_ACCOUNTS);
    let (shown, folded) = accounts::split(all.iter().copied().zip(&all), MOST_ACCOUNTS);
    let rows = |printed: &[PrintedAccount], accounts: &[&Account]| {
        html! { @for (row, account) in printed.iter().zip(accounts) {
            (account_row(&figures, row, Some(account), accounts::has_time(account)))
        } }
    };
    let is_seen = folded.iter().any(|account| accounts::has_time(account));
    let hours = accounts::figures(usage, by, false);
    let id = format!("by-{}", by.slug());
    let more_id = format!("more-{id}");
    let order = format_order(sort);
    let table = |id: &str, words: String, rows: &Markup, sum: Option<&PrintedAccount>| {
        table(sheet, (by, &figures), rows, sum, (id, &words))
    };
    let first = html! {
        (rows(&printed.rows, &shown))
        @if let Some(rest) = &printed.rest { (account_row(&figures, rest, None, is_seen)) }
    };
    html! {
        h3 { (format!("By {}", by.slug())) }
        @if all.is_empty() { p.quiet { "Nobody held a card." } } @else {
            (table(&id, format!("By {}, {order}", by.slug()), &first, Some(&printed.sum)))
            @if !folded.is_empty() {
                details id=(format!("{more_id}-folded")) {
                    summary { (count(folded.len(), "more account")) }
                    (table(&more_id, format!("The others by {}, {order}", by.slug()), &rows(&printed.others, &folded), None))
                }
            }
            p.quiet {
                "In GPU-hours; shared cards are split"
                @if usage.person.is_none() { ", and columns add up to the card time above" }
                ". " (accounts::legend(usage, &hours)) " " span.more { (accounts::meanings(&figures)) }
            }
        }
    }
}

/// Formats the order of accounts.
const fn format_order(sort: Sort) -> &'static str {
    match sort {
        Sort::Total => "largest total first",
        Sort::Name => "by name",
        Sort::Active => "most active first",
        Sort::IdleHeld => "most idle-held first",
        Sort::Unused => "most unused first",
        Sort::LowUse => "most low use first",
        Sort::Unknown => "most unknown first",
        Sort::Cost => "costliest first",
    }
}

/// Returns a table of accounts. The sum is the last row.
fn table(
    sheet: &Sheet<'_>,
    (by, figures): (By, &[Figure]),
    rows: &Markup,
    sum: Option<&PrintedAccount>,
    (id, words): (&str, &str),
) -> Markup {
    html! {
        (wide(id, &html! { table.accounts {
            (caption(id, words))
            thead { tr {
                @for figure in figures { (head(sheet, by, *figure)) }
                td.share-bar aria-hidden="true" {}
            } }
            tbody { (rows) }
            @if let Some(sum) = sum { tfoot { (account_row(figures, sum, None, true)) } }
        } }))
    }
}

/// Returns a row. One without card time is seen only beside the columns in which it has something.
fn account_row(
    figures: &[Figure],
    row: &PrintedAccount,
    account: Option<&Account>,
    has_time: bool,
) -> Markup {
    html! {
        tr class=[(!has_time).then_some("more")] {
            @for figure in figures {
                @let text = shown(row.cell(*figure));
                @if *figure == Figure::Name { th scope="row" { (text) } }
                @else { td class=(align(*figure)) { (text) } }
            }
            td.share-bar aria-hidden="true" {
                @if let Some(account) = account { (account_bar(account)) }
            }
        }
    }
}

/// Draws an account's part of all card time that was not free, by state.
fn account_bar(account: &Account) -> Markup {
    let (total, all) = (account.total_gpu_hours, account.share_of_total.unwrap_or(0.0));
    let part = |hours: f64| if total > 0.0 { all * hours / total } else { 0.0 };
    stacked_bar(&[
        (part(account.active_gpu_hours), Mark::Active),
        (part(account.idle_held_gpu_hours), Mark::Held),
        (part(account.unknown_gpu_hours), Mark::Unknown),
    ])
}

fn align(figure: Figure) -> &'static str {
    match figure.align() {
        _ if Figure::WIDE.contains(&figure) => "number more",
        Align::Right => "number",
        Align::Left => "words",
    }
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
        Figure::Active => Some(Sort::Active),
        Figure::IdleHeld => Some(Sort::IdleHeld),
        Figure::Unused => Some(Sort::Unused),
        Figure::LowUse => Some(Sort::LowUse),
        Figure::Unknown => Some(Sort::Unknown),
        Figure::Total => Some(Sort::Total),
        Figure::Cost => Some(Sort::Cost),
        Figure::User
        | Figure::Share
        | Figure::HeldIdle
        | Figure::Beside
        | Figure::Peak
        | Figure::Energy => None,
    }
}

/// Sorts accounts that come with the largest total first.
fn sort_accounts(accounts: &mut [&Account], sort: Sort) {
    let key = |account: &Account| match sort {
        Sort::Total | Sort::Name => account.total_gpu_hours,
        Sort::Active => account.active_gpu_hours,
        Sort::IdleHeld => account.idle_held_gpu_hours,
        Sort::Unused => account.unused_gpu_hours,
        Sort::LowUse => account.low_use_gpu_hours,
        Sort::Unknown => account.unknown_gpu_hours,
        Sort::Cost => account.idle_held_cost.unwrap_or(-1.0),
    };
    match sort {
        Sort::Total => {}
        Sort::Name => accounts.sort_by(|a, b| {
            (a.name.is_none(), &a.name, &a.user).cmp(&(b.name.is_none(), &b.name, &b.user))
        }),
        _ => accounts.sort_by(|a, b| key(b).total_cmp(&key(a))),
    }
}

fn sessions(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let shows_all = sheet.address().is_some_and(|address| address.all_sessions);
    let most = match sheet.dress {
        Dress::Served(_) if shows_all => ALL_SESSIONS,
        Dress::Served(_) => MOST_SESSIONS,
        Dress::File => sheet.view.sessions.min(ALL_SESSIONS),
    };
    html! {
        h3 { "Holding sessions" }
        @if usage.sessions.is_empty() {
            p.quiet { "No process held a card idle for 5 minutes." }
        }
        @if let Some(host) = sessions::elsewhere(usage, sheet.view.is_here) { p.quiet { (host) } }
        @for standing in Standing::ALL {
            @let (shown, more) = sessions::shown(usage, standing, most);
            @if !shown.is_empty() {
                (sessions_table(sheet, standing, &shown))
                @if more > 0 {
                    p.quiet { "and " (more) " more; "
                        @match sheet.dress {
                            Dress::Served(address) if !shows_all => a href=(address.with_all_sessions()) { "show them" },
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

fn sessions_table(sheet: &Sheet<'_>, standing: Standing, all: &[&Session]) -> Markup {
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
                td.number { strong { (sessions::idle(session)) } }
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

fn when(sheet: &Sheet<'_>, session: &Session) -> Markup {
    let tz = &sheet.view.tz;
    html! {
        @if session.is_open() {
            "since " @if !session.from_seen { "before " } (moment(session.from, tz))
        }
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
    /// Returns the address of a served page.
    pub(super) const fn address(&self) -> Option<&'a Address> {
        match self.dress {
            Dress::File => None,
            Dress::Served(address) => Some(address),
        }
    }
}
