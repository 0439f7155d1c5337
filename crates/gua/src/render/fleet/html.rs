//! Hosts, models and accounts on a page about many hosts, which has no sessions.

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;
use gua_query::page::UsagePage;
use maud::{Markup, html};

use super::rows;
use crate::render::usage::View;
use crate::render::usage::html::{Dress, Sheet, caption, document, wide};
use crate::render::words::safe;

/// Writes the page as a file by itself.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage, view: &View) -> io::Result<()> {
    let page = UsagePage::from(fleet.usage.clone());
    let sheet = Sheet { page: &page, view, dress: Dress::File, fleet: Some(fleet) };
    writeln!(out, "{}", document(&sheet).into_string())
}

/// Returns what stands at the top.
pub(in crate::render) fn heading(fleet: &FleetUsage) -> String {
    rows::title(fleet)
}

/// Returns the tables of hosts and models.
pub(in crate::render) fn tables(fleet: &FleetUsage) -> Markup {
    html! {
        section id="hosts" aria-labelledby="hosts-title" {
            h2 id="hosts-title" { "Hosts" }
            @if let Some(silent) = rows::silent(fleet) { p.doubt { (silent) } }
            @for warning in &fleet.source.warnings { p.doubt { "incomplete: " (safe(warning)) } }
            (table("hosts-table", "Shares by host", &rows::hosts(fleet)))
            h3 { "Models" }
            (table("models-table", "Shares by model", &rows::models(fleet)))
        }
    }
}

/// Returns a table. The first column is a name, the others are figures; the first row is the head.
fn table(id: &str, words: &str, rows: &[Vec<String>]) -> Markup {
    html! {
        (wide(id, &html! { table {
            (caption(id, words))
            @if let Some((head, body)) = rows.split_first() {
                thead { tr { @for (place, cell) in head.iter().enumerate() {
                    th scope="col" class=(if place == 0 { "words" } else { "number" }) { (cell) }
                } } }
                tbody { @for row in body { tr { @for (place, cell) in row.iter().enumerate() {
                    @if place == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                } } } }
            }
        } }))
    }
}
