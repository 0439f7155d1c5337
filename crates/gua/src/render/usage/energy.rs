//! Energy in kilowatt-hours: by state, by card and by account, and what it cost.

use gua_query::usage::{Account, By, CardEnergy, CardUsage, EnergyMoney, Usage};

use super::accounts::of_kind;
use super::figures::{apportion, format_digits, format_units, hours, units};
use super::label::label;
use super::money::{amount, amount_at_least, amount_of_units, money_decimals};
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};

pub(in crate::render) const TITLE: &str =
    "Energy (kWh; accounts have that of active and idle-held)";

/// Accounts that have a row of their own.
const MOST: usize = 10;

/// Energy of states, in the order of the columns: active, idle-held, truly-idle, of unknown state. `None`
/// if nothing of it is known.
type ByState = [Option<f64>; 4];

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
    kwh: ByState,
    /// The same as printed, in units of the last decimal.
    units: [i64; 4],
    /// Which of it is not known in full.
    is_more: [bool; 4],
    cost: Option<f64>,
}

impl Row {
    fn is_any_more(&self) -> bool {
        self.is_more.contains(&true)
    }
}

/// Time below which unknown energy is rounding, in hours.
const LEAST_UNKNOWN_HOURS: f64 = 1e-6;

/// Returns energy by the first kind of account; `None` if there is none, or nothing of it is known.
pub(in crate::render) fn table(usage: &Usage) -> Option<EnergyTable> {
    let all = by_state(&usage.energy);
    if known(&all) <= 0.0 {
        return None;
    }
    let by = first_kind(usage);
    let is_more = is_more(usage);
    let (decimals, units) = state_units(usage);
    let mut rows = account_rows(usage, by);
    let [_, _, truly_idle, unknown] = all;
    if truly_idle != Some(0.0) || unknown > Some(0.0) {
        let money = usage.energy_money.as_ref();
        let costs = money.map(|it| [it.truly_idle_energy_cost, it.unknown_state_energy_cost]);
        rows.push(Row {
            name: "of no account".to_owned(),
            kwh: [Some(0.0), Some(0.0), truly_idle, unknown],
            units: [0, 0, units[2], units[3]],
            is_more: [false, false, is_more[2], is_more[3]],
            cost: costs.and_then(|costs| sum(costs.into_iter())),
        });
    }
    let all = Row { name: "all".to_owned(), kwh: all, units, is_more, cost: None };
    Some(print(usage, by, decimals, &rows, &all))
}

/// Returns the decimals of kilowatt-hours, and the energy of each state in units of the last one: the parts
/// add up to the rounded energy of all.
fn state_units(usage: &Usage) -> (usize, [i64; 4]) {
    let all = by_state(&usage.energy);
    let total = known(&all);
    let decimals = kwh_decimals(total);
    let parts = apportion(&all.map(Option::unwrap_or_default), units(total, decimals));
    (decimals, std::array::from_fn(|state| parts.get(state).copied().unwrap_or(0)))
}

/// Returns the decimals of kilowatt-hours, and the active and idle-held energy of each account in units of
/// the last one. All tables print these, so that each figure is the same everywhere.
pub(super) fn account_units(usage: &Usage, accounts: &[&Account]) -> (usize, Vec<[i64; 2]>) {
    let (decimals, of_states) = state_units(usage);
    let column = |state: usize, kwh: fn(&Account) -> Option<f64>| {
        let exact: Vec<f64> = accounts.iter().map(|it| kwh(it).unwrap_or(0.0)).collect();
        let sum = units(exact.iter().sum(), decimals);
        // Apart by more than rounding, they are not the energy of the same cards.
        let is_whole = (of_states[state] - sum).abs() <= 1;
        apportion(&exact, if is_whole { of_states[state] } else { sum })
    };
    let active = column(0, |account| account.energy.active_energy_kwh);
    let idle_held = column(1, |account| account.energy.idle_held_energy_kwh);
    (decimals, active.into_iter().zip(idle_held).map(<[i64; 2]>::from).collect())
}

fn first_kind(usage: &Usage) -> By {
    usage.accounts_by.first().copied().unwrap_or(By::User)
}

/// Returns of which states energy is not known in full: of those of accounts, and of others.
fn is_more(usage: &Usage) -> [bool; 4] {
    let of_accounts = of_kind(usage, first_kind(usage)).into_iter();
    let of_accounts: f64 = of_accounts.map(|it| it.energy.energy_unknown_gpu_hours).sum();
    let rest = usage.energy.total.energy_unknown_gpu_hours - of_accounts;
    let [is_accounts, is_rest] = [of_accounts, rest].map(|hours| hours > LEAST_UNKNOWN_HOURS);
    // All of it may be that of unknown state.
    let is_of_unknown_state = usage.energy.unknown_state_energy_kwh.is_none()
        && rest - usage.states.unknown.gpu_hours <= LEAST_UNKNOWN_HOURS;
    [is_accounts, is_accounts, is_rest && !is_of_unknown_state, is_rest]
}

/// Returns true if the energy of a state is shown. Of unknown state, only what is known.
fn is_shown(state: usize, kwh: Option<f64>) -> bool {
    kwh.map_or(state < 3, |kwh| kwh > 0.0)
}

/// Returns the accounts with most energy, and the others as one.
fn account_rows(usage: &Usage, by: By) -> Vec<Row> {
    let mut accounts = of_kind(usage, by);
    accounts.retain(|account| account.energy.energy_kwh != Some(0.0));
    let total = |account: &Account| account.energy.energy_kwh.unwrap_or(0.0);
    accounts.sort_by(|a, b| total(b).total_cmp(&total(a)));
    let (_, printed) = account_units(usage, &accounts);
    let row = |(account, [active_units, idle_held_units]): (&&Account, [i64; 2])| {
        let energy = account.energy;
        let [active, idle_held] = [energy.active_energy_kwh, energy.idle_held_energy_kwh];
        Row {
            name: label(account, usage),
            kwh: [active, idle_held, Some(0.0), Some(0.0)],
            units: [active_units, idle_held_units, 0, 0],
            is_more: [energy.energy_unknown_gpu_hours > 0.0; 4],
            cost: account.energy_cost,
        }
    };
    let mut rows: Vec<Row> = accounts.iter().zip(printed).map(row).collect();
    let others = rows.split_off(rows.len().min(MOST));
    if !others.is_empty() {
        let state = |state: usize| sum(others.iter().map(|row| row.kwh[state]));
        let units = |state: usize| others.iter().map(|row| row.units[state]).sum();
        rows.push(Row {
            name: format!("{} more", others.len()),
            kwh: [state(0), state(1), Some(0.0), Some(0.0)],
            units: [units(0), units(1), 0, 0],
            is_more: [others.iter().any(|row| row.is_more[0]); 4],
            cost: sum(others.iter().map(|row| row.cost)),
        });
    }
    rows
}

/// Returns the sum of what is known of some figures; `None` if that is nothing.
fn sum(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures.fold(None, |sum, figure| match (sum, figure) {
        (Some(sum), Some(figure)) => Some(sum + figure),
        (known, None) | (None, known) => known,
    })
}

/// Returns what is known of all states together.
fn known(kwh: &ByState) -> f64 {
    kwh.iter().flatten().sum()
}

/// Shows a number of last decimals of an energy; nothing if it is zero.
fn format_kwh(units: i64, kwh: Option<f64>, decimals: usize, is_more: bool) -> String {
    match kwh {
        None => "?".to_owned(),
        Some(kwh) if kwh <= 0.0 => String::new(),
        Some(_) if is_more => format!("≥{}", format_digits(units, decimals)),
        Some(kwh) => format_units(units, kwh, decimals),
    }
}

fn print(usage: &Usage, by: By, decimals: usize, rows: &[Row], all: &Row) -> EnergyTable {
    let shown: Vec<usize> =
        (0..STATES.len()).filter(|state| *state < 2 || is_shown(*state, all.kwh[*state])).collect();
    let mut heads = vec![by.slug().to_owned()];
    heads.extend(shown.iter().map(|state| STATES[*state].to_owned()));
    heads.push("total".to_owned());
    let line = |row: &Row| {
        let mut cells = vec![row.name.clone()];
        cells.extend(shown.iter().map(|state| {
            format_kwh(row.units[*state], row.kwh[*state], decimals, row.is_more[*state])
        }));
        let total = Some(known(&row.kwh)).filter(|total| *total > 0.0);
        cells.push(format_kwh(row.units.iter().sum(), total, decimals, row.is_any_more()));
        cells
    };
    let mut lines: Vec<Vec<String>> = rows.iter().chain([all]).map(line).collect();
    if let Some(money) = &usage.energy_money {
        heads.push("cost".to_owned());
        add_costs(&mut lines, rows, all.is_any_more(), money);
    }
    EnergyTable { heads, rows: lines }
}

/// Adds what the energy of each row cost; the last line is the sum.
fn add_costs(lines: &mut [Vec<String>], rows: &[Row], is_more: bool, money: &EnergyMoney) {
    let exact: Vec<f64> = rows.iter().map(|row| row.cost.unwrap_or(0.0)).collect();
    let sum: f64 = exact.iter().sum();
    let decimals = money_decimals(sum);
    let whole = units(sum, decimals);
    let cell = |cost: Option<f64>, units: i64, is_more: bool| match cost {
        Some(_) if is_more => amount_at_least(units, decimals, &money.currency),
        Some(exact) => amount_of_units((units, exact), decimals, &money.currency),
        None => "?".to_owned(),
    };
    let parts = apportion(&exact, whole).into_iter().zip(rows);
    let parts = parts.map(|(units, row)| cell(row.cost, units, row.is_any_more()));
    let cells = parts.chain([cell(Some(sum), whole, is_more)]);
    lines.iter_mut().zip(cells).for_each(|(line, cell)| line.push(cell));
}

/// Returns the decimals of kilowatt-hours in a report on this energy.
fn kwh_decimals(sum: f64) -> usize {
    match sum {
        kwh if kwh < 9.9995 => 3,
        kwh if kwh < 99.995 => 2,
        kwh if kwh < 999.95 => 1,
        _ => 0,
    }
}

const fn by_state(energy: &CardEnergy) -> ByState {
    [
        energy.total.active_energy_kwh,
        energy.total.idle_held_energy_kwh,
        energy.truly_idle_energy_kwh,
        energy.unknown_state_energy_kwh,
    ]
}

/// Returns the energy of all cards as a sentence; `None` if there is none.
pub(in crate::render) fn headline(usage: &Usage) -> Option<String> {
    let all = by_state(&usage.energy);
    let total = known(&all);
    if total <= 0.0 {
        return all.contains(&None).then(|| "energy: unknown".to_owned());
    }
    let (decimals, parts) = state_units(usage);
    let whole = units(total, decimals);
    let is_more = is_more(usage);
    let is_any_more = is_more.contains(&true);
    let shown = (0..STATES.len()).filter(|state| is_shown(*state, all[*state]));
    let states: Vec<_> = shown
        .map(|state| {
            let kwh = format_kwh(parts[state], all[state], decimals, is_more[state]);
            format!("{} {kwh}", STATES[state])
        })
        .collect();
    let money = usage.energy_money.as_ref();
    let cost = money.and_then(|money| {
        let (cost, currency) = (money.energy_cost?, &money.currency);
        let decimals = money_decimals(cost);
        Some(match is_any_more {
            true => format!("; {}", amount_at_least(units(cost, decimals), decimals, currency)),
            false => format!("; {}", amount(cost, currency)),
        })
    });
    let total = format_kwh(whole, Some(total), decimals, is_any_more);
    let cost = cost.unwrap_or_default();
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
    let cell = |(card, units): (&CardUsage, i64)| match of(card) {
        Some(_) if card.energy.total.energy_unknown_gpu_hours > 0.0 => {
            format!("≥{}", format_digits(units, decimals))
        }
        Some(exact) => format_units(units, exact, decimals),
        None => "?".to_owned(),
    };
    Some(usage.cards.iter().zip(parts).map(cell).collect())
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

    use super::super::accounts::{Figure, PrintedAccounts};
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
        let accounts = PrintedAccounts::new(&usage, &of_kind(&usage, By::User), usize::MAX);
        for account in &accounts.rows {
            let [name, kwh] = [Figure::Name, Figure::Energy].map(|figure| account.cell(figure));
            if let Some(row) = rows.iter().find(|row| row[0] == name) {
                assert_eq!(row[4], kwh, "{name} is the same in both tables");
            }
        }
        let free = rows.last().unwrap();
        assert_eq!(
            (free[0].as_str(), free[1].as_str(), free[2].as_str()),
            ("of no account", "", "")
        );
        let cards: f64 = card_column(&usage).unwrap().iter().map(|cell| number(cell)).sum();
        assert!((cards - number(&all[4])).abs() < 1e-6);
    }

    /// Energy of which some is not known is marked, and never zero.
    #[test]
    fn unknown_energy_is_marked() {
        let mut usage = day();
        usage.energy.total.energy_unknown_gpu_hours = 24.0;
        let first = usage.accounts.iter_mut().find(|it| it.energy.energy_kwh > Some(1.0)).unwrap();
        first.energy.active_energy_kwh = None;
        first.energy.idle_held_energy_kwh = Some(1e-6);
        first.energy.energy_kwh = Some(1e-6);
        first.energy.energy_unknown_gpu_hours = 24.0;
        let name = first.name.clone().unwrap();
        let table = table(&usage).unwrap();
        let row = |name: &str| table.rows.iter().find(|row| row[0] == name).unwrap();
        assert_eq!(row(&name)[1..5], ["?", "≥0.00", "", "≥0.00"]);
        let marked = |name: &str| row(name).iter().filter(|cell| cell.starts_with('≥')).count();
        assert_eq!(["all", "of no account"].map(marked), [4, 0], "truly-idle is not");
        let headline = headline(&usage).unwrap();
        assert!(headline.starts_with("energy: ≥") && headline.contains("; ≥"), "{headline}");
        usage.energy.total.active_energy_kwh = None;
        assert!(super::headline(&usage).unwrap().contains("(active ?, idle-held ≥"));
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
        usage.energy.total.idle_held_energy_kwh = None;
        usage.energy.truly_idle_energy_kwh = None;
        usage.energy.unknown_state_energy_kwh = None;
        assert_eq!(headline(&usage).as_deref(), Some("energy: unknown"));
        assert!(table(&usage).is_none() && card_column(&usage).is_none());
    }
}
