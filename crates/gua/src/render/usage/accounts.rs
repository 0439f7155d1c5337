//! Whose the time was, in a table for each kind of account.

use super::figures::{hours, percent};
use super::label::{label, shortened};
use super::money::cost;
use super::page::{INDENT, Page};
use super::sections::{NO_ACCOUNTS, active_line, as_recorded};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell, Column, Line, fit, put_row, total};
use crate::render::words::{cut_front, gib_hours, width};
use crate::report::accounts::By;
use crate::report::usage::{Account, Usage};

/// How many of each kind are shown.
pub(super) const MOST: usize = 10;
/// Names are not cut below this before a column is left out.
const SHORTEST_NAME: usize = 10;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Name,
    User,
    Present,
    Worked,
    IdleHeld,
    Share,
    Idle,
    Unknown,
    Memory,
    Cost,
}

impl Figure {
    /// In the order in which they are left out where there is little room.
    const DISPENSABLE: [Self; 7] = [
        Self::Memory,
        Self::Worked,
        Self::Share,
        Self::Unknown,
        Self::Cost,
        Self::User,
        Self::Present,
    ];

    pub(super) const fn head(self, by: By) -> &'static str {
        match self {
            Self::Name => by.slug(),
            Self::User => "who",
            Self::Present => "present",
            Self::Worked => "worked",
            Self::IdleHeld => "idle-held",
            Self::Share => "of all",
            Self::Idle => "all idle",
            Self::Unknown => "unknown",
            Self::Memory => "GiB-h idle",
            Self::Cost => "cost",
        }
    }

    pub(super) const fn align(self) -> Align {
        match self {
            Self::Name | Self::User => Align::Left,
            _ => Align::Right,
        }
    }
}

/// The accounts of one kind, in their order.
pub(super) fn of(usage: &Usage, by: By) -> Vec<&Account> {
    usage.accounts.iter().flatten().filter(|account| account.by == by).collect()
}

/// The kinds that there are, in the order in which they were asked for.
pub(super) fn kinds(usage: &Usage) -> &[By] {
    &usage.accounts_by
}

/// The columns that say something about accounts of this kind.
pub(super) fn figures(usage: &Usage, by: By) -> Vec<Figure> {
    let is_person = usage.person.is_some();
    let mut figures = vec![Figure::Name];
    let is_somebodys = of(usage, by).iter().any(|account| account.user.is_some());
    if (by.is_of_a_user() || is_somebodys) && !is_person {
        figures.push(Figure::User);
    }
    figures.extend([Figure::Present, Figure::Worked, Figure::IdleHeld, Figure::Share]);
    figures.push(Figure::Idle);
    // As with cards: only where something is.
    if of(usage, by).iter().any(|account| account.unknown_gpu_hours > 0.0) {
        figures.push(Figure::Unknown);
    }
    figures.push(Figure::Memory);
    if usage.money.is_some() {
        figures.push(Figure::Cost);
    }
    figures
}

/// One cell.
pub(super) fn cell(usage: &Usage, account: &Account, figure: Figure, most: &Most) -> String {
    match figure {
        Figure::Name => label(account, usage),
        Figure::User => {
            account.user.as_deref().map_or_else(String::new, |user| shortened(user, 200))
        }
        Figure::Present => hours(account.gpu_hours, most.hours),
        Figure::Worked => hours(account.worked_gpu_hours, most.hours),
        Figure::IdleHeld => hours(account.idle_held_gpu_hours, most.hours),
        Figure::Share => percent(account.idle_held_share),
        Figure::Idle => hours(account.idle_gpu_hours, most.hours),
        Figure::Unknown => hours(account.unknown_gpu_hours, most.hours),
        Figure::Memory => hours(gib_hours(account.held_idle_gb_hours), most.gib_hours),
        Figure::Cost => usage.money.as_ref().map_or_else(String::new, |money| {
            cost(account.cost, account.unpriced_gpu_hours, &money.currency)
        }),
    }
}

/// What the figures of the columns are shown beside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    hours: f64,
    gib_hours: f64,
}

impl Most {
    pub(super) fn of(accounts: &[&Account]) -> Self {
        let shown = || accounts.iter().take(MOST);
        Self {
            hours: shown().map(|account| account.gpu_hours).fold(0.0, f64::max),
            gib_hours: shown()
                .map(|account| gib_hours(account.held_idle_gb_hours))
                .fold(0.0, f64::max),
        }
    }
}

/// What the columns mean, and how shared cards are split.
pub(super) fn legend(usage: &Usage, shown: &[Figure]) -> String {
    let recorded = usage.accounts_judged_by.as_ref().map(|it| it.idle_held_gpu_hours);
    let all = recorded.unwrap_or(usage.states.idle_held.gpu_hours);
    let all = hours(all, all);
    let sum = match usage.person {
        None => format!("so this column adds up to the cards' {all}"),
        Some(_) => format!("the cards' are {all}"),
    };
    let idle_held = format!(
        "idle-held: their part of the cards' idle-held time; a shared card is split by memory, {sum}"
    );
    let meanings = [
        (Figure::Present, "present: with a process on a card"),
        (Figure::IdleHeld, idle_held.as_str()),
        (
            Figure::Idle,
            "all idle: whenever they held memory without working, also while others worked on the \
             card",
        ),
        (Figure::Unknown, "unknown: whether they worked, or held much, could not be told"),
        (Figure::Memory, "GiB-h idle: that memory × time"),
        (Figure::Cost, "cost: of idle-held"),
    ];
    let told = meanings.into_iter().filter(|(figure, _)| shown.contains(figure));
    let told: Vec<_> = told.map(|(_, meaning)| meaning).collect();
    format!("in GPU-hours. {}", told.join(". "))
}

pub(super) fn tables(page: &mut Page<'_>, usage: &Usage) {
    if usage.accounts.is_none() {
        page.text(INDENT, NO_ACCOUNTS, Ink::Quiet);
        return;
    }
    if let Some(recorded) = as_recorded(usage, &page.view.tz) {
        page.text(INDENT, &recorded, Ink::Notice);
    }
    let mut shown: Vec<Figure> = Vec::new();
    for (place, by) in kinds(usage).iter().enumerate() {
        if place > 0 {
            page.lines.push(String::new());
        }
        shown.extend(table(page, usage, *by));
    }
    if !shown.is_empty() {
        page.text(INDENT, &legend(usage, &shown), Ink::Quiet);
    }
    for remark in remarks(usage) {
        page.text(INDENT, &remark, Ink::Quiet);
    }
}

/// What the figures rest on besides what each process did.
pub(super) fn remarks(usage: &Usage) -> Vec<String> {
    let of_one_kind = kinds(usage).first().map(|by| of(usage, *by)).unwrap_or_default();
    let sum = |hours: fn(&Account) -> f64| of_one_kind.iter().map(|it| hours(it)).sum::<f64>();
    let as_the_card = sum(|account| account.as_the_card_gpu_hours);
    let little = sum(|account| account.worked_on_idle_held_gpu_hours);
    let line = active_line(usage);
    let shown = |value: f64| hours(value, value);
    let as_the_card = (as_the_card > 0.0).then(|| {
        let told = "by their card's state, as the driver did not tell what each process did";
        format!("{} GPU-hours of these are {told}", shown(as_the_card))
    });
    let little = (little > 0.0).then(|| {
        let what = "GPU-hours of what was worked were less than";
        format!("{} {what} {line} of their card, which is idle-held then", shown(little))
    });
    as_the_card.into_iter().chain(little).collect()
}

/// Puts one; gives the columns that it has room for.
fn table(page: &mut Page<'_>, usage: &Usage, by: By) -> Vec<Figure> {
    let accounts = of(usage, by);
    if accounts.is_empty() {
        page.text(INDENT, "nobody held a card", Ink::Quiet);
        return Vec::new();
    }
    let most = Most::of(&accounts);
    let mut figures = figures(usage, by);
    let heads = figures.iter().map(|figure| Cell::new(figure.head(by), Ink::Quiet)).collect();
    let mut rows: Vec<Vec<Cell>> = vec![heads];
    for account in accounts.iter().take(MOST) {
        let cells = figures.iter().map(|figure| cell(usage, account, *figure, &most));
        rows.push(cells.map(Cell::plain).collect());
    }
    let columns = squeezed(&mut figures, &mut rows, page.view.width.saturating_sub(INDENT));
    if by == By::Notebook {
        let rows = rows.iter_mut().skip(1).zip(&accounts);
        let named = rows.filter(|(_, account)| account.name.is_some()).map(|(row, _)| row);
        keep_ends(named, columns.first().map_or(0, |column| column.width));
    }
    put(page, &rows, &columns);
    if let Some(more) = and_more(accounts.len()) {
        page.text(INDENT, &more, Ink::Quiet);
    }
    figures
}

pub(super) fn and_more(accounts: usize) -> Option<String> {
    let more = accounts.saturating_sub(MOST);
    (more > 0).then(|| format!("and {more} more; --json has all"))
}

/// Leaves out what is least needed until names have enough room, and cuts names to what there is.
fn squeezed(figures: &mut Vec<Figure>, rows: &mut [Vec<Cell>], most: usize) -> Vec<Column> {
    let fitted = |figures: &[Figure], rows: &[Vec<Cell>]| {
        let aligns: Vec<_> = figures.iter().map(|figure| figure.align()).collect();
        fit(&aligns, rows.iter().map(Vec::as_slice))
    };
    let mut columns = fitted(figures, rows);
    for dispensable in Figure::DISPENSABLE {
        let name = columns.first().map_or(0, |column| column.width);
        if total(&columns) - name + name.min(SHORTEST_NAME) <= most {
            break;
        }
        if let Some(place) = figures.iter().position(|figure| *figure == dispensable) {
            figures.remove(place);
            for row in rows.iter_mut() {
                row.remove(place);
            }
            columns = fitted(figures, rows);
        }
    }
    crate::render::table::shorten(&mut columns, 0, 1, most);
    columns
}

/// Of a notebook's path the end tells most.
fn keep_ends<'a>(rows: impl Iterator<Item = &'a mut Vec<Cell>>, most: usize) {
    for cell in rows.filter_map(|row| row.first_mut()) {
        if width(&cell.text) > most {
            cell.text = cut_front(&cell.text, most);
        }
    }
}

fn put(page: &mut Page<'_>, rows: &[Vec<Cell>], columns: &[Column]) {
    let (most, paint) = (page.view.width, page.view.paint);
    for row in rows {
        let mut line = Line::default();
        put_row(&mut line, INDENT, row, columns, most, paint);
        page.lines.push(line.text);
    }
}
