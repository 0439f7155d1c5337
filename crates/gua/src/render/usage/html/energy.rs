//! Energy by card and by account, and what it cost.

use maud::{Markup, html};

use super::text::shown;
use super::{Sheet, caption, wide};
use crate::render::usage::energy::{EnergyTable, card_column, notes, table};
use crate::render::usage::sections::{called, place};

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let Some(by_account) = table(usage).filter(|_| usage.person.is_none()) else { return html! {} };
    html! {
        section id="energy" aria-labelledby="energy-title" {
            h2 id="energy-title" { "Energy" }
            (written("energy-table", "Energy by account in kWh", &by_account))
            @for note in notes(usage) { p.quiet { (shown(&note)) } }
            // There are too many cards of many hosts.
            @if sheet.fleet.is_none() {
                details id="energy-cards" {
                    summary { "By card" }
                    (written("energy-cards-table", "Energy by card in kWh", &by_card(sheet)))
                }
            }
        }
    }
}

fn by_card(sheet: &Sheet<'_>) -> EnergyTable {
    let usage = &sheet.page.usage;
    let energy = card_column(usage).unwrap_or_default();
    let rows = usage.cards.iter().zip(energy);
    EnergyTable {
        heads: ["card", "model", "total"].map(str::to_owned).to_vec(),
        rows: rows.map(|(card, kwh)| vec![place(card), called(card), kwh]).collect(),
    }
}

/// Returns a table. The first column is a name.
fn written(id: &str, words: &str, table: &EnergyTable) -> Markup {
    let is_number =
        |column: usize| column > 0 && table.heads.get(column).is_none_or(|it| it != "model");
    let class = |column: usize| if is_number(column) { "number" } else { "words" };
    html! {
        (wide(id, &html! { table {
            (caption(id, words))
            thead { tr { @for (column, head) in table.heads.iter().enumerate() {
                th scope="col" class=(class(column)) { (head) }
            } } }
            tbody { @for row in &table.rows { tr { @for (column, cell) in row.iter().enumerate() {
                @if column == 0 { th scope="row" { (shown(cell)) } }
                @else { td class=(class(column)) { (shown(cell)) } }
            } } } }
        } }))
    }
}
