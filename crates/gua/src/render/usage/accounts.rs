//! Whose the time was: a table for each kind of account, with columns that add up.

use gua_query::usage::{Account, By, Unattributed, Usage};

use super::figures::{apportion, format_units, hour_decimals, units};
use super::label::{label, shortened};
use super::money::{amount_of_units, money_decimals};
use super::page::{INDENT, Page};
use super::sections::active_threshold;
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell, Column, Line, fit, put_row, total};
use crate::render::words::{cut_front, width};

pub(in crate::render) const TITLE: &str =
    "§4 Accounts (GPU-hours; shared cards are split; columns add up to §1)";

/// Accounts of each kind that have a row of their own.
pub(super) const MOST: usize = 10;
/// Names are not cut below this before a column is left out.
const SHORTEST_NAME: usize = 15;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Name,
    User,
    Active,
    IdleHeld,
    Unused,
    LowUse,
    Unknown,
    Total,
    Share,
    Cost,
}

impl Figure {
    /// In the order in which they are left out if there is little room.
    const DISPENSABLE: [&[Self]; 5] = [
        &[Self::Share],
        &[Self::Unused, Self::LowUse],
        &[Self::Unknown],
        &[Self::Cost],
        &[Self::User],
    ];

    pub(super) const fn head(self, by: By) -> &'static str {
        match self {
            Self::Name => by.slug(),
            Self::User => "who",
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::Unused => "= unused",
            Self::LowUse => "+ low use",
            Self::Unknown => "unknown",
            Self::Total => "total",
            Self::Share => "share",
            Self::Cost => "cost of idle",
        }
    }

    pub(super) const fn align(self) -> Align {
        match self {
            Self::Name | Self::User => Align::Left,
            _ => Align::Right,
        }
    }
}

/// Returns the accounts of one kind, in their order.
pub(super) fn of_kind(usage: &Usage, by: By) -> Vec<&Account> {
    usage.accounts.iter().filter(|account| account.by == by).collect()
}

/// Returns the columns for accounts of one kind.
pub(super) fn figures(usage: &Usage, by: By) -> Vec<Figure> {
    let mut figures = vec![Figure::Name];
    let has_user = by.has_user() || of_kind(usage, by).iter().any(|it| it.user.is_some());
    if has_user && usage.person.is_none() {
        figures.push(Figure::User);
    }
    figures.extend([Figure::Active, Figure::IdleHeld, Figure::Unused, Figure::LowUse]);
    figures.extend([Figure::Unknown, Figure::Total, Figure::Share]);
    if usage.money.is_some() {
        figures.push(Figure::Cost);
    }
    figures
}

/// Accounts of one kind as they are printed: rounded so that parts add up to their sums, in rows and in
/// columns.
#[derive(Debug, Clone)]
pub(super) struct PrintedAccounts {
    /// One row per account, in the order that was given.
    pub rows: Vec<PrintedAccount>,
    /// Accounts without a row of their own, taken together.
    pub rest: Option<PrintedAccount>,
    pub sum: PrintedAccount,
}

/// Printed figures of one account.
#[derive(Debug, Clone, Default)]
pub(super) struct PrintedAccount {
    name: String,
    user: String,
    active: String,
    idle_held: String,
    unused: String,
    low_use: String,
    unknown: String,
    total: String,
    share: String,
    cost: String,
}

impl PrintedAccount {
    pub(super) fn cell(&self, figure: Figure) -> &str {
        match figure {
            Figure::Name => &self.name,
            Figure::User => &self.user,
            Figure::Active => &self.active,
            Figure::IdleHeld => &self.idle_held,
            Figure::Unused => &self.unused,
            Figure::LowUse => &self.low_use,
            Figure::Unknown => &self.unknown,
            Figure::Total => &self.total,
            Figure::Share => &self.share,
            Figure::Cost => &self.cost,
        }
    }

    fn cells(&self, figures: &[Figure]) -> Vec<String> {
        figures.iter().map(|figure| self.cell(*figure).to_owned()).collect()
    }
}

impl PrintedAccounts {
    /// Prints accounts, of which `most` have a row of their own.
    pub(super) fn new(usage: &Usage, accounts: &[&Account], most: usize) -> Self {
        let (shown, others) = accounts.split_at(most.min(accounts.len()));
        let mut rows: Vec<Row> = shown.iter().map(|account| Row::new(account, usage)).collect();
        if !others.is_empty() {
            let name = format!("{} more", others.len());
            rows.push(
                others
                    .iter()
                    .map(|it| Row::new(it, usage))
                    .fold(Row::named(name), |sum, row| sum.add(&row)),
            );
        }
        let sum = rows.iter().fold(Row::named("all".to_owned()), Row::add);
        let mut printed = print(&rows, &sum, usage);
        let sum = printed.pop().unwrap_or_default();
        let rest = if others.is_empty() { None } else { printed.pop() };
        Self { rows: printed, rest, sum }
    }

    /// Returns the cells of all rows below their heads, the sum last.
    pub(super) fn cells(&self, figures: &[Figure]) -> Vec<Vec<String>> {
        let rows = self.rows.iter().chain(&self.rest).chain([&self.sum]);
        rows.map(|row| row.cells(figures)).collect()
    }
}

/// Figures of one row before they are rounded.
#[derive(Debug, Clone, Default)]
struct Row {
    name: String,
    user: String,
    /// Active, unused, low use and unknown hours.
    hours: [f64; 4],
    share: Option<f64>,
    cost: Option<f64>,
    is_partly_priced: bool,
}

impl Row {
    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    fn new(account: &Account, usage: &Usage) -> Self {
        Self {
            name: label(account, usage),
            user: account.user.as_deref().map_or_else(String::new, |user| shortened(user, 200)),
            hours: [
                account.active_gpu_hours,
                account.unused_gpu_hours,
                account.low_use_gpu_hours,
                account.unknown_gpu_hours,
            ],
            share: account.share_of_total,
            cost: account.cost,
            is_partly_priced: account.unpriced_gpu_hours > 0.0,
        }
    }

    /// Adds a row to a sum, which keeps its name.
    fn add(mut self, other: &Self) -> Self {
        let add = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (known, None) | (None, known) => known,
        };
        for (sum, hours) in self.hours.iter_mut().zip(other.hours) {
            *sum += hours;
        }
        self.share = add(self.share, other.share);
        self.cost = add(self.cost, other.cost);
        self.is_partly_priced |= other.is_partly_priced;
        self
    }
}

/// Prints rows and their sum, which comes last. Active, idle-held and unknown time of the sum are rounded
/// as anywhere else; their parts follow.
fn print(rows: &[Row], sum: &Row, usage: &Usage) -> Vec<PrintedAccount> {
    let [active, unused, low_use, unknown] = sum.hours;
    let decimals = hour_decimals(active + unused + low_use + unknown);
    let idle_held = units(unused + low_use, decimals);
    let idle_parts = apportion(&[unused, low_use], idle_held);
    let [unused, low_use] = [0, 1].map(|part| idle_parts.get(part).copied().unwrap_or(0));
    let whole = [units(active, decimals), unused, low_use, units(unknown, decimals)];
    let column = |place: usize, whole: i64| {
        let parts: Vec<f64> =
            rows.iter().map(|row| row.hours.get(place).copied().unwrap_or(0.0)).collect();
        let mut column = apportion(&parts, whole);
        column.push(whole);
        column
    };
    let columns: Vec<Vec<i64>> =
        (0..).zip(whole).map(|(place, whole)| column(place, whole)).collect();
    let shares = column_of(rows, sum, |row| row.share, |share| units(share * 100.0, 0));
    let money = sum.cost.map_or(0, money_decimals);
    let costs = column_of(rows, sum, |row| row.cost, |cost| units(cost, money));
    let currency = usage.money.as_ref().map_or("", |money| &money.currency);
    let row = |(place, row): (usize, &Row)| {
        let of = |column: usize| columns.get(column)?.get(place).copied();
        let [active, unused, low_use, unknown] = [0, 1, 2, 3].map(|column| of(column).unwrap_or(0));
        let [a, u, l, d] = row.hours;
        let show = |units: i64, hours: f64| format_units(units, hours, decimals);
        PrintedAccount {
            name: row.name.clone(),
            user: row.user.clone(),
            active: show(active, a),
            idle_held: show(unused + low_use, u + l),
            unused: show(unused, u),
            low_use: show(low_use, l),
            unknown: show(unknown, d),
            total: show(active + unused + low_use + unknown, a + u + l + d),
            share: match shares.get(place).copied().flatten() {
                Some(percent) => {
                    format!("{} %", format_units(percent, row.share.unwrap_or(0.0), 0))
                }
                None => "–".to_owned(),
            },
            cost: match costs.get(place).copied().flatten() {
                Some(cost) => {
                    let least = if row.is_partly_priced { "≥" } else { "" };
                    let amount = amount_of_units((cost, row.cost.unwrap_or(0.0)), money, currency);
                    format!("{least}{amount}")
                }
                None => "?".to_owned(),
            },
        }
    };
    rows.iter().chain([sum]).enumerate().map(row).collect()
}

/// Rounds a column of figures that need not all be known, and its sum.
fn column_of(
    rows: &[Row],
    sum: &Row,
    figure: impl Fn(&Row) -> Option<f64>,
    round: impl Fn(f64) -> i64,
) -> Vec<Option<i64>> {
    let whole = figure(sum).map(round);
    let known: Vec<f64> = rows.iter().filter_map(&figure).collect();
    let mut parts = apportion(&known, whole.unwrap_or(0)).into_iter();
    let mut column: Vec<_> =
        rows.iter().map(|row| figure(row).and_then(|_| parts.next())).collect();
    column.push(whole);
    column
}

/// What the columns mean.
pub(super) fn legend(usage: &Usage) -> String {
    let mut legend = format!(
        "unused: memory held, no work. low use: work below {}.",
        active_threshold(usage, "of the card")
    );
    let has = |why| usage.accounts.iter().any(|account| account.unattributed == Some(why));
    if has(Unattributed::Unlisted) {
        legend.push_str(" unlisted: memory that no listed process holds.");
    }
    if has(Unattributed::HoldersUnknown) {
        legend.push_str(" holders unknown: time of cards whose processes could not be read.");
    }
    legend
}

pub(in crate::render) fn tables(page: &mut Page<'_>, usage: &Usage) {
    for (place, by) in usage.accounts_by.iter().enumerate() {
        if place > 0 {
            page.lines.push(String::new());
        }
        table(page, usage, *by);
    }
    if !usage.accounts.is_empty() {
        page.text(INDENT, &legend(usage), Ink::Quiet);
    }
}

pub(super) const NOBODY: &str = "nobody held a card";

/// Told below a table in which some accounts have no row of their own.
pub(super) fn and_more(accounts: usize) -> Option<&'static str> {
    (accounts > MOST).then_some("--json has all accounts")
}

fn table(page: &mut Page<'_>, usage: &Usage, by: By) {
    let accounts = of_kind(usage, by);
    if accounts.is_empty() {
        page.text(INDENT, NOBODY, Ink::Quiet);
        return;
    }
    let mut figures = figures(usage, by);
    let heads = figures.iter().map(|figure| Cell::new(figure.head(by), Ink::Quiet)).collect();
    let mut rows: Vec<Vec<Cell>> = vec![heads];
    let printed = PrintedAccounts::new(usage, &accounts, MOST).cells(&figures);
    rows.extend(printed.into_iter().map(|row| row.into_iter().map(Cell::plain).collect()));
    let columns = squeezed(&mut figures, &mut rows, page.view.width.saturating_sub(INDENT));
    if by == By::Notebook {
        let rows = rows.iter_mut().skip(1).zip(&accounts);
        let named = rows.filter(|(_, account)| account.name.is_some()).map(|(row, _)| row);
        keep_ends(named, columns.first().map_or(0, |column| column.width));
    }
    put(page, &rows, &columns);
    if let Some(more) = and_more(accounts.len()) {
        page.text(INDENT, more, Ink::Quiet);
    }
}

/// Leaves out what is least needed until names have enough room, and cuts names to what there is.
fn squeezed(figures: &mut Vec<Figure>, rows: &mut [Vec<Cell>], most: usize) -> Vec<Column> {
    let mut columns = fitted(figures, rows);
    let unknown = figures.iter().position(|figure| *figure == Figure::Unknown);
    let is_zero = |place: usize| {
        rows.iter().skip(1).all(|row| row.get(place).is_none_or(|it| it.text == "0"))
    };
    if let Some(place) = unknown.filter(|place| total(&columns) > most && is_zero(*place)) {
        columns = without(place, figures, rows);
    }
    for dispensable in Figure::DISPENSABLE {
        let name = columns.first().map_or(0, |column| column.width);
        if total(&columns) - name + name.min(SHORTEST_NAME) <= most {
            break;
        }
        while let Some(place) = figures.iter().position(|figure| dispensable.contains(figure)) {
            columns = without(place, figures, rows);
        }
    }
    crate::render::table::shorten(&mut columns, 0, 1, most);
    columns
}

fn fitted(figures: &[Figure], rows: &[Vec<Cell>]) -> Vec<Column> {
    let aligns: Vec<_> = figures.iter().map(|figure| figure.align()).collect();
    fit(&aligns, rows.iter().map(Vec::as_slice))
}

/// Leaves out a column, and returns the others.
fn without(place: usize, figures: &mut Vec<Figure>, rows: &mut [Vec<Cell>]) -> Vec<Column> {
    figures.remove(place);
    for row in rows.iter_mut() {
        row.remove(place);
    }
    fitted(figures, rows)
}

/// The end of a notebook's path says most.
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
