//! Energy in kilowatt-hours: by state, by card and by account, and what it cost.

use gua_query::usage::{Account, By, CardEnergy, CardUsage, EnergyMoney, Usage};

use super::accounts::of_kind;
use super::figures::{apportion, format_units, hours, units};
use super::label::label;
use super::money::{amount, amount_of_units, money_decimals};
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};

pub(in crate::render) const TITLE: &str =
    "Energy (kWh; accounts have that of active and idle-held)";

/// Accounts that have a row of their own.
const MOST: usize = 10;

/// Energy of states, in the order of the columns: active, idle-held, truly-idle, of unknown state.
type ByState = [f64; 4];

const STATES: [&str; 4] = ["active", "idle-held", "truly-idle", "unknown state"];

/// Energy by account, printed so that rows and columns add up.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct EnergyTable {
    pub heads: Vec<String>,
    /// The last row is the sum.
    pub rows: Vec<Vec<String>>,
}

/// A row before it is printed.
#[derive(Debug, Clone, Default)]
struct Row {
    name: String,
    /// `None` if nothing of it is known.
    kwh: Option<ByState>,
    cost: Option<f64>,
}

/// Returns energy by the first kind of account; `None` if there is none, or nothing of it is known.
pub(in crate::render) fn table(usage: &Usage) -> Option<EnergyTable> {
    let all = by_state(&usage.energy).filter(|all| all.iter().sum::<f64>() > 0.0)?;
    let by = usage.accounts_by.first().copied().unwrap_or(By::User);
    let mut rows = account_rows(usage, by);
    let [_, _, truly_idle, unknown] = all;
    if truly_idle > 0.0 || unknown > 0.0 {
        let money = usage.energy_money.as_ref();
        let costs = money.map(|it| [it.truly_idle_energy_cost, it.unknown_state_energy_cost]);
        let cost = costs.map(|costs| costs.into_iter().flatten().sum());
        rows.push(Row {
            name: "of no account".to_owned(),
            kwh: Some([0.0, 0.0, truly_idle, unknown]),
            cost,
        });
    }
    Some(print(usage, by, &rows, all))
}

/// Returns the accounts with most energy, and the others as one.
fn account_rows(usage: &Usage, by: By) -> Vec<Row> {
    let mut accounts = of_kind(usage, by);
    accounts.retain(|account| account.energy.energy_kwh != Some(0.0));
    let total = |account: &Account| account.energy.energy_kwh.unwrap_or(0.0);
    accounts.sort_by(|a, b| total(b).total_cmp(&total(a)));
    let row = |account: &&Account| {
        let both = account.energy.active_energy_kwh.zip(account.energy.idle_held_energy_kwh);
        let kwh = both.map(|(active, idle_held)| [active, idle_held, 0.0, 0.0]);
        Row { name: label(account, usage), kwh, cost: account.energy_cost }
    };
    let (shown, others) = accounts.split_at(accounts.len().min(MOST));
    let mut rows: Vec<Row> = shown.iter().map(row).collect();
    if !others.is_empty() {
        let others: Vec<Row> = others.iter().map(row).collect();
        let sum = |state: usize| others.iter().filter_map(|row| row.kwh?.get(state).copied()).sum();
        rows.push(Row {
            name: format!("{} more", others.len()),
            kwh: others.iter().any(|row| row.kwh.is_some()).then(|| [sum(0), sum(1), 0.0, 0.0]),
            cost: Some(others.iter().filter_map(|row| row.cost).sum()),
        });
    }
    rows
}

/// Rounds states so that they add up to all, rows so that they add up to their states, and prints them.
fn print(usage: &Usage, by: By, rows: &[Row], all: ByState) -> EnergyTable {
    let total: f64 = all.iter().sum();
    let decimals = kwh_decimals(total);
    let states = apportion(&all, units(total, decimals));
    let columns: Vec<Vec<i64>> = (0..all.len())
        .zip(&states)
        .map(|(state, whole)| {
            let exact = rows.iter().map(|row| row.kwh.map_or(0.0, |kwh| kwh[state]));
            apportion(&exact.collect::<Vec<_>>(), *whole)
        })
        .collect();
    let shown: Vec<usize> =
        (0..all.len()).filter(|state| *state < 2 || all[*state] > 0.0).collect();
    let mut heads = vec![by.slug().to_owned()];
    heads.extend(shown.iter().map(|state| STATES[*state].to_owned()));
    heads.push("total".to_owned());
    let line = |name: &str, exact: Option<ByState>, printed: &[i64]| {
        let mut cells = vec![name.to_owned()];
        let cell = |units: i64, exact: f64| format_units(units, exact, decimals);
        let Some(exact) = exact else {
            cells.resize(shown.len() + 2, "?".to_owned());
            return cells;
        };
        cells.extend(shown.iter().map(|state| match exact[*state] > 0.0 {
            true => cell(printed[*state], exact[*state]),
            false => String::new(),
        }));
        cells.push(cell(printed.iter().sum(), exact.iter().sum()));
        cells
    };
    let mut lines: Vec<Vec<String>> = Vec::with_capacity(rows.len() + 1);
    for (place, row) in rows.iter().enumerate() {
        let printed: Vec<i64> = columns.iter().map(|column| column[place]).collect();
        lines.push(line(&row.name, row.kwh, &printed));
    }
    lines.push(line("all", Some(all), &states));
    if let Some(money) = &usage.energy_money {
        heads.push("cost".to_owned());
        add_costs(&mut lines, rows, money);
    }
    EnergyTable { heads, rows: lines }
}

/// Adds what the energy of each row cost; the last line is the sum.
fn add_costs(lines: &mut [Vec<String>], rows: &[Row], money: &EnergyMoney) {
    let exact: Vec<f64> = rows.iter().map(|row| row.cost.unwrap_or(0.0)).collect();
    let sum: f64 = exact.iter().sum();
    let decimals = money_decimals(sum);
    let whole = units(sum, decimals);
    let parts = apportion(&exact, whole).into_iter().zip(&exact);
    let is_known = rows.iter().map(|row| row.cost.is_some()).chain([true]);
    let cells =
        parts.chain([(whole, &sum)]).zip(is_known).map(
            |((part, exact), is_known)| match is_known {
                true => amount_of_units((part, *exact), decimals, &money.currency),
                false => "?".to_owned(),
            },
        );
    lines.iter_mut().zip(cells).for_each(|(line, cell)| line.push(cell));
}

/// Returns the decimals of kilowatt-hours in a table of which the largest sum is this.
fn kwh_decimals(sum: f64) -> usize {
    match sum {
        kwh if kwh < 9.9995 => 3,
        kwh if kwh < 99.995 => 2,
        kwh if kwh < 999.95 => 1,
        _ => 0,
    }
}

fn by_state(energy: &CardEnergy) -> Option<ByState> {
    Some([
        energy.total.active_energy_kwh?,
        energy.total.idle_held_energy_kwh?,
        energy.truly_idle_energy_kwh?,
        energy.unknown_state_energy_kwh?,
    ])
}

/// Returns the energy of all cards as a sentence; `None` if there is none.
pub(in crate::render) fn headline(usage: &Usage) -> Option<String> {
    let Some(all) = by_state(&usage.energy) else { return Some("energy: unknown".to_owned()) };
    let total: f64 = all.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let decimals = kwh_decimals(total);
    let whole = units(total, decimals);
    let states = apportion(&all, whole).into_iter().zip(all).zip(STATES);
    let states = states.filter(|((_, kwh), _)| *kwh > 0.0);
    let states: Vec<_> = states
        .map(|((units, kwh), state)| format!("{state} {}", format_units(units, kwh, decimals)))
        .collect();
    let cost = usage
        .energy_money
        .as_ref()
        .and_then(|money| Some(format!("; {}", amount(money.energy_cost?, &money.currency))));
    let (total, cost) = (format_units(whole, total, decimals), cost.unwrap_or_default());
    Some(format!("energy: {total} kWh ({}){cost}", states.join(", ")))
}

/// Returns what the figures are based on, and what is missing in them.
pub(in crate::render) fn notes(usage: &Usage) -> Vec<String> {
    let energy = &usage.energy;
    let observed = usage.states.gpu_hours();
    let mut notes = Vec::new();
    if energy.energy_divided {
        notes.push(
            "MIG: the driver counts the energy of whole GPUs; it is divided by slices among their \
             instances and what these leave."
                .to_owned(),
        );
    }
    if energy.energy_estimated_gpu_hours > 0.0 {
        notes.push(format!(
            "Energy of {} GPU-h is from power × time: there is no energy counter.",
            hours(energy.energy_estimated_gpu_hours, observed)
        ));
    }
    if energy.total.energy_unknown_gpu_hours > 0.0 && energy.total.energy_kwh.is_some() {
        notes.push(format!(
            "Energy of {} GPU-h is unknown and not in the figures.",
            hours(energy.total.energy_unknown_gpu_hours, observed)
        ));
    }
    if let Some(money) = &usage.energy_money {
        notes.push(format!("Energy at {} a kWh.", amount(money.cost_per_kwh, &money.currency)));
    }
    notes
}

/// Returns the energy of each card as it is printed in a column; `None` if there is none, or none is known. The figures add
/// up to that of all cards.
pub(in crate::render) fn card_column(usage: &Usage) -> Option<Vec<String>> {
    usage.energy.total.energy_kwh.filter(|kwh| *kwh > 0.0)?;
    let of = |card: &CardUsage| card.energy.total.energy_kwh;
    let exact: Vec<f64> = usage.cards.iter().map(|card| of(card).unwrap_or(0.0)).collect();
    let total: f64 = exact.iter().sum();
    let decimals = kwh_decimals(total);
    let parts = apportion(&exact, units(total, decimals));
    let cell = |((card, units), exact): ((&CardUsage, i64), &f64)| match of(card) {
        Some(_) => format_units(units, *exact, decimals),
        None => "?".to_owned(),
    };
    Some(usage.cards.iter().zip(parts).zip(&exact).map(cell).collect())
}

/// Writes the section as text.
pub(in crate::render) fn section(page: &mut Page<'_>, usage: &Usage) {
    let Some(table) = table(usage) else { return };
    page.heading(TITLE);
    let mut aligns = vec![Align::Right; table.heads.len()];
    if let Some(first) = aligns.first_mut() {
        *first = Align::Left;
    }
    let mut rows: Vec<Vec<Cell>> =
        vec![table.heads.into_iter().map(|head| Cell::new(head, Ink::Quiet)).collect()];
    rows.extend(table.rows.into_iter().map(|row| row.into_iter().map(Cell::plain).collect()));
    page.table(&aligns, &rows, 0);
    notes(usage).iter().for_each(|note| page.text(INDENT, note, Ink::Quiet));
}

#[cfg(test)]
mod tests {
    use gua_core::Period;
    use gua_core::units::UnixMillis;
    use gua_query::usage::{Prices, UsageRequest, usage};
    use gua_store::Database;

    use super::*;
    use crate::demo::{self, Machine, Plan};

    /// The report on a day of the lab, with a price of energy.
    fn day() -> Usage {
        let end = UnixMillis(1_794_750_000_000);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let plan = Plan { machine: Machine::Lab, ..Plan::of_the_last_day(end) };
        let database = Database::open_to_write(&path).unwrap();
        let database = demo::record::write(database, &plan).unwrap();
        let window = Period::new(UnixMillis(end.0 - 86_400_000), end);
        let prices = Prices { currency: "EUR".into(), kwh: Some(0.3), ..Prices::default() };
        usage(&database, &UsageRequest { prices, ..UsageRequest::new(window, end) }).unwrap()
    }

    fn number(cell: &str) -> f64 {
        let digits: String = cell.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        if cell.starts_with('<') { 0.0 } else { digits.parse().unwrap_or(0.0) }
    }

    /// Printed figures add up, in rows and in columns.
    #[test]
    fn rows_and_columns_add_up() {
        let usage = day();
        let table = table(&usage).unwrap();
        let heads = ["user", "active", "idle-held", "truly-idle", "total", "cost"];
        assert_eq!(table.heads, heads);
        let (all, rows) = table.rows.split_last().unwrap();
        assert!(rows.len() > 3, "{rows:?}");
        for column in 1..heads.len() {
            let sum: f64 = rows.iter().map(|row| number(&row[column])).sum();
            assert!((sum - number(&all[column])).abs() < 1e-6, "{} of {rows:?}", heads[column]);
        }
        for row in &table.rows {
            let states: f64 = row[1..4].iter().map(|cell| number(cell)).sum();
            assert!((states - number(&row[4])).abs() < 1e-6, "{row:?}");
        }
        let free = rows.last().unwrap();
        assert_eq!(
            (free[0].as_str(), free[1].as_str(), free[2].as_str()),
            ("of no account", "", "")
        );
        let cards: f64 = card_column(&usage).unwrap().iter().map(|cell| number(cell)).sum();
        assert!((cards - number(&all[4])).abs() < 1e-6);
    }

    #[test]
    fn what_figures_are_based_on_is_said() {
        let mut usage = day();
        let said = |usage: &Usage| notes(usage).join(" ");
        assert!(said(&usage).contains("divided by slices"));
        assert!(said(&usage).contains("Energy at 0.30 EUR a kWh."));
        assert!(!said(&usage).contains("power × time"));
        usage.energy.energy_estimated_gpu_hours = 24.0;
        assert!(said(&usage).contains("Energy of 24 GPU-h is from power × time"));
        usage.energy.total.energy_kwh = None;
        usage.energy.total.active_energy_kwh = None;
        assert_eq!(headline(&usage).as_deref(), Some("energy: unknown"));
        assert!(table(&usage).is_none() && card_column(&usage).is_none());
    }
}
