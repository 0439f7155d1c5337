//! Whose the time was: a table for each kind of account, with columns that add up.

use gua_query::usage::{Account, By, Unattributed, Usage};

use super::energy::account_units;
use super::figures::{apportion, format_digits, format_units, hour_decimals, largest, units};
use super::label::{label, shortened};
use super::money::{amount_at_least, amount_of_units, money_decimals};
use super::page::{INDENT, Page};
use super::sections::active_threshold;
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell, Column, Line, fit, put_row, total};
use crate::render::words::{cut_front, memory, width};

pub(in crate::render) const TITLE: &str =
    "§4 Accounts (GPU-hours; shared cards are split; columns add up to §1)";

/// Accounts of each kind that have a row of their own, besides those of nobody.
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
    HeldIdle,
    Beside,
    Peak,
    Energy,
}

impl Figure {
    /// In the order in which they are left out if there is little room. Those of `--wide` come last.
    const DISPENSABLE: [&[Self]; 9] = [
        &[Self::Share],
        &[Self::Unused, Self::LowUse],
        &[Self::Unknown],
        &[Self::Cost],
        &[Self::User],
        &[Self::Peak],
        &[Self::Beside],
        &[Self::Energy],
        &[Self::HeldIdle],
    ];

    /// Columns of `--wide`.
    pub(super) const WIDE: [Self; 4] = [Self::HeldIdle, Self::Beside, Self::Peak, Self::Energy];

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
            Self::HeldIdle => "idle GiB-h",
            Self::Beside => "beside h",
            Self::Peak => "peak",
            Self::Energy => "kWh",
        }
    }

    pub(super) const fn align(self) -> Align {
        match self {
            Self::Name | Self::User => Align::Left,
            _ => Align::Right,
        }
    }

    /// Returns the meaning of a column of `--wide`.
    const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::HeldIdle => Some("idle GiB-h: memory held without working, over time."),
            Self::Beside => {
                Some("beside h: idle while others worked on the card, in hours of processes.")
            }
            Self::Peak => Some("peak: most memory of one process on one card."),
            Self::Energy => Some("kWh: energy of the active and idle-held time."),
            _ => None,
        }
    }
}

/// Returns the accounts of one kind, in their order.
pub(super) fn of_kind(usage: &Usage, by: By) -> Vec<&Account> {
    usage.accounts.iter().filter(|account| account.by == by).collect()
}

/// Returns the accounts of one kind that have a row. Without `--wide`, those are left out that have nothing in
/// its columns: they were only idle beside others.
pub(super) fn listed(usage: &Usage, by: By, is_wide: bool) -> Vec<&Account> {
    let all = of_kind(usage, by);
    if is_wide || !all.iter().any(|account| has_time(account)) {
        return all;
    }
    all.into_iter().filter(|account| has_time(account)).collect()
}

/// Returns true if some of the card time is the account's.
pub(super) fn has_time(account: &Account) -> bool {
    account.total_gpu_hours > 0.0
}

/// Returns the columns for accounts of one kind. Those of `--wide` are left out where nothing of them is
/// known.
pub(super) fn figures(usage: &Usage, by: By, is_wide: bool) -> Vec<Figure> {
    let accounts = of_kind(usage, by);
    let mut figures = vec![Figure::Name];
    let has_user = by != By::User && (by.has_user() || accounts.iter().any(|it| it.user.is_some()));
    if has_user && usage.person.is_none() {
        figures.push(Figure::User);
    }
    figures.extend([Figure::Active, Figure::IdleHeld, Figure::Unused, Figure::LowUse]);
    figures.extend([Figure::Unknown, Figure::Total, Figure::Share]);
    if usage.money.is_some() {
        figures.push(Figure::Cost);
    }
    let is_known = |figure: &Figure| {
        accounts.iter().any(|account| match figure {
            Figure::HeldIdle => account.held_idle_gib_hours.is_some(),
            Figure::Beside => account.idle_beside_process_hours.is_some(),
            Figure::Peak => account.peak_memory_bytes.is_some(),
            _ => account.energy.energy_kwh.is_some(),
        })
    };
    figures.extend(Figure::WIDE.into_iter().filter(|figure| is_wide && is_known(figure)));
    figures
}

/// Accounts of one kind as they are printed: rounded so that parts add up to their sums, in rows and in
/// columns. The same account is rounded alike however many have a row.
#[derive(Debug, Clone)]
pub(super) struct PrintedAccounts {
    /// Accounts with a row, in the order that was given.
    pub rows: Vec<PrintedAccount>,
    /// Accounts without one, and all of them taken together.
    pub others: Vec<PrintedAccount>,
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
    held_idle: String,
    beside: String,
    peak: String,
    energy: String,
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
            Figure::HeldIdle => &self.held_idle,
            Figure::Beside => &self.beside,
            Figure::Peak => &self.peak,
            Figure::Energy => &self.energy,
        }
    }

    fn cells(&self, figures: &[Figure]) -> Vec<String> {
        figures.iter().map(|figure| self.cell(*figure).to_owned()).collect()
    }
}

impl PrintedAccounts {
    /// Prints accounts, of which `most` have a row, and those of nobody.
    pub(super) fn new(usage: &Usage, accounts: &[&Account], most: usize) -> Self {
        let mut rows: Vec<Row> = accounts.iter().map(|account| Row::new(account, usage)).collect();
        let sum = rows.iter().fold(Row::named("all".to_owned()), Row::add);
        let rounding = Rounding::new(&sum, usage);
        rounding.round(&mut rows, &sum);
        let (_, energy) = account_units(usage, accounts);
        for (row, units) in rows.iter_mut().zip(energy) {
            row.parts[ENERGY].units = units.iter().sum();
        }
        let sum = rows.iter().fold(Row::named("all".to_owned()), Row::add);
        let (rows, others) = split(rows.into_iter().zip(accounts), most);
        let name = format!("{} more", others.len());
        let rest = (!others.is_empty()).then(|| others.iter().fold(Row::named(name), Row::add));
        let print = |row: &Row| rounding.print(row, usage);
        Self {
            rows: rows.iter().map(print).collect(),
            others: others.iter().map(print).collect(),
            rest: rest.as_ref().map(print),
            sum: print(&sum),
        }
    }

    /// Returns the cells of all rows below their heads, the sum last.
    pub(super) fn cells(&self, figures: &[Figure]) -> Vec<Vec<String>> {
        let rows = self.rows.iter().chain(&self.rest).chain([&self.sum]);
        rows.map(|row| row.cells(figures)).collect()
    }
}

/// Returns the accounts that have a row, and the others.
pub(super) fn split<'a, T>(
    accounts: impl Iterator<Item = (T, &'a &'a Account)>,
    most: usize,
) -> (Vec<T>, Vec<T>) {
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for (place, (row, account)) in accounts.enumerate() {
        if place < most || !account.is_of_processes() { shown.push(row) } else { others.push(row) }
    }
    (shown, others)
}

/// A figure of a row: exact, in units of its last printed decimal, and whether some of it is not known.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    exact: Option<f64>,
    units: i64,
    is_more: bool,
}

/// Figures that are rounded by the largest remainder, by the place of their column.
const ACTIVE: usize = 0;
const UNUSED: usize = 1;
const LOW_USE: usize = 2;
const UNKNOWN: usize = 3;
const SHARE: usize = 4;
const COST: usize = 5;
const HELD_IDLE: usize = 6;
const BESIDE: usize = 7;
const ENERGY: usize = 8;
const COLUMNS: usize = 9;

/// Figures of one row.
#[derive(Debug, Clone, Default)]
struct Row {
    name: String,
    user: String,
    parts: [Part; COLUMNS],
    peak: Option<u64>,
    is_peak_more: bool,
}

impl Row {
    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    fn new(account: &Account, usage: &Usage) -> Self {
        let exact = [
            Some(account.active_gpu_hours),
            Some(account.unused_gpu_hours),
            Some(account.low_use_gpu_hours),
            Some(account.unknown_gpu_hours),
            account.share_of_total.map(|share| share * 100.0),
            account.idle_held_cost,
            account.held_idle_gib_hours,
            account.idle_beside_process_hours,
            account.energy.energy_kwh,
        ];
        let mut parts = exact.map(|exact| Part { exact, units: 0, is_more: exact.is_none() });
        parts[COST].is_more |= account.unpriced_idle_held_gpu_hours > 0.0;
        parts[HELD_IDLE].is_more |= account.memory_unknown_process_hours > Some(0.0);
        parts[ENERGY].is_more |= account.energy.energy_unknown_gpu_hours > 0.0;
        Self {
            name: label(account, usage),
            user: account.user.as_deref().map_or_else(String::new, |user| shortened(user, 200)),
            parts,
            peak: account.peak_memory_bytes,
            is_peak_more: account.peak_memory_bytes.is_none(),
        }
    }

    /// Adds a row to a sum, which keeps its name.
    fn add(mut self, other: &Self) -> Self {
        for (sum, part) in self.parts.iter_mut().zip(&other.parts) {
            sum.exact = match (sum.exact, part.exact) {
                (Some(a), Some(b)) => Some(a + b),
                (known, None) | (None, known) => known,
            };
            sum.units += part.units;
            sum.is_more |= part.is_more;
        }
        self.peak = self.peak.max(other.peak);
        self.is_peak_more |= other.is_peak_more;
        self
    }

    fn exact(&self, column: usize) -> f64 {
        self.parts.get(column).and_then(|part| part.exact).unwrap_or(0.0)
    }
}

/// Decimals of each column.
struct Rounding {
    hours: usize,
    decimals: [usize; COLUMNS],
}

impl Rounding {
    fn new(sum: &Row, usage: &Usage) -> Self {
        let hours = hour_decimals(largest(&usage.states));
        let own = |column| hour_decimals(sum.exact(column));
        let mut decimals = [hours; COLUMNS];
        decimals[SHARE] = 0;
        decimals[COST] = money_decimals(sum.exact(COST));
        for column in [HELD_IDLE, BESIDE] {
            decimals[column] = own(column);
        }
        (decimals[ENERGY], _) = account_units(usage, &[]);
        Self { hours, decimals }
    }

    /// Rounds all rows so that each column adds up to its rounded sum. Of the hours, active, idle-held and
    /// unknown time of the sum are rounded as anywhere else; the parts of idle-held time follow.
    fn round(&self, rows: &mut [Row], sum: &Row) {
        let idle_parts = [sum.exact(UNUSED), sum.exact(LOW_USE)];
        let idle_held = units(idle_parts.iter().sum(), self.hours);
        let idle_parts = apportion(&idle_parts, idle_held);
        for (column, decimals) in self.decimals.into_iter().enumerate() {
            let whole = match column {
                UNUSED | LOW_USE => idle_parts.get(column - UNUSED).copied().unwrap_or(0),
                _ => units(sum.exact(column), decimals),
            };
            let exact: Vec<f64> = rows.iter().map(|row| row.exact(column)).collect();
            for (row, units) in rows.iter_mut().zip(apportion(&exact, whole)) {
                if let Some(part) = row.parts.get_mut(column) {
                    part.units = units;
                }
            }
        }
    }

    fn print(&self, row: &Row, usage: &Usage) -> PrintedAccount {
        let hours = |columns: &[usize]| {
            let parts = columns.iter().filter_map(|column| row.parts.get(*column));
            let (units, exact) = parts.fold((0, 0.0), |(units, exact), part| {
                (units + part.units, exact + part.exact.unwrap_or(0.0))
            });
            format_units(units, exact, self.hours)
        };
        let figure = |column: usize| self.figure(row, column);
        let currency = usage.money.as_ref().map_or("", |money| &money.currency);
        let cost = row.parts[COST];
        let decimals = self.decimals[COST];
        PrintedAccount {
            name: row.name.clone(),
            user: row.user.clone(),
            active: hours(&[ACTIVE]),
            idle_held: hours(&[UNUSED, LOW_USE]),
            unused: hours(&[UNUSED]),
            low_use: hours(&[LOW_USE]),
            unknown: hours(&[UNKNOWN]),
            total: hours(&[ACTIVE, UNUSED, LOW_USE, UNKNOWN]),
            share: match row.parts[SHARE].exact {
                Some(_) => format!("{} %", figure(SHARE)),
                None => "–".to_owned(),
            },
            cost: match cost.exact {
                Some(_) if cost.is_more => amount_at_least(cost.units, decimals, currency),
                Some(exact) => amount_of_units((cost.units, exact), decimals, currency),
                None => "?".to_owned(),
            },
            held_idle: figure(HELD_IDLE),
            beside: figure(BESIDE),
            peak: match row.peak.map(memory) {
                Some(peak) if row.is_peak_more => format!("≥{peak}"),
                Some(peak) => peak,
                None => "?".to_owned(),
            },
            energy: figure(ENERGY),
        }
    }

    fn figure(&self, row: &Row, column: usize) -> String {
        let (part, decimals) = (row.parts[column], self.decimals[column]);
        match part.exact {
            Some(_) if part.is_more => format!("≥{}", format_digits(part.units, decimals)),
            Some(exact) => format_units(part.units, exact, decimals),
            None => "?".to_owned(),
        }
    }
}

/// Returns what rows and columns mean.
pub(super) fn legend(usage: &Usage, figures: &[Figure]) -> String {
    let mut sentences = Vec::new();
    if figures.contains(&Figure::Unused) {
        sentences.push(format!(
            "unused: memory held, no work. low use: work below {}.",
            active_threshold(usage, "of the card")
        ));
    }
    let has = |why| usage.accounts.iter().any(|account| account.unattributed == Some(why));
    if has(Unattributed::Unlisted) {
        sentences.push("unlisted: memory that no listed process holds.".to_owned());
    }
    if has(Unattributed::HoldersUnknown) {
        let meaning = "holders unknown: time of cards whose processes could not be read or were \
                           not listed.";
        sentences.push(meaning.to_owned());
    }
    let wide = meanings(figures);
    sentences.extend((!wide.is_empty()).then_some(wide));
    sentences.join(" ")
}

/// Returns the meanings of those columns of `--wide` that are there.
pub(super) fn meanings(figures: &[Figure]) -> String {
    let wide = Figure::WIDE.into_iter().filter(|figure| figures.contains(figure));
    wide.filter_map(Figure::meaning).collect::<Vec<_>>().join(" ")
}

/// Writes a table for each kind of accounts, and what their rows and columns mean.
pub(in crate::render) fn tables(page: &mut Page<'_>, usage: &Usage) {
    let mut figures = Vec::new();
    for (place, by) in usage.accounts_by.iter().enumerate() {
        if place > 0 {
            page.lines.push(String::new());
        }
        figures.extend(table(page, usage, *by));
    }
    let legend = legend(usage, &figures);
    if !usage.accounts.is_empty() && !legend.is_empty() {
        page.text(INDENT, &legend, Ink::Quiet);
    }
}

pub(super) const NOBODY: &str = "nobody held a card";

/// Told below a table in which some accounts have no row of their own.
pub(super) fn and_more(printed: &PrintedAccounts) -> Option<&'static str> {
    printed.rest.as_ref().map(|_| "--json has all accounts")
}

/// Writes a table, and returns the columns for which there was room.
fn table(page: &mut Page<'_>, usage: &Usage, by: By) -> Vec<Figure> {
    let accounts = listed(usage, by, page.view.is_wide);
    if accounts.is_empty() {
        page.text(INDENT, NOBODY, Ink::Quiet);
        return Vec::new();
    }
    let mut figures = figures(usage, by, page.view.is_wide);
    let heads = figures.iter().map(|figure| Cell::new(figure.head(by), Ink::Quiet)).collect();
    let mut rows: Vec<Vec<Cell>> = vec![heads];
    let printed = PrintedAccounts::new(usage, &accounts, MOST);
    let cells = printed.cells(&figures);
    rows.extend(cells.into_iter().map(|row| row.into_iter().map(Cell::plain).collect()));
    let columns = squeezed(&mut figures, &mut rows, page.view.width.saturating_sub(INDENT));
    if by == By::Notebook {
        let (shown, _) = split(accounts.iter().zip(&accounts), MOST);
        let rows = rows.iter_mut().skip(1).zip(shown);
        let named = rows.filter(|(_, account)| account.name.is_some()).map(|(row, _)| row);
        keep_ends(named, columns.first().map_or(0, |column| column.width));
    }
    put(page, &rows, &columns);
    if let Some(more) = and_more(&printed) {
        page.text(INDENT, more, Ink::Quiet);
    }
    figures
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
