//! The report over many hosts as text, Markdown, CSV and HTML.

pub mod csv;
mod html;
pub mod markdown;
pub mod now;
mod rows;

pub use html::write as write_html;
pub(in crate::render) use html::{heading, tables};

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;

use super::paint::Ink;
use super::table::{Align, Cell};
use super::usage::View;
use super::usage::page::{INDENT, Page};
use super::usage::{accounts, header, heatmap, sections, verdict_section};

/// Hosts that are shown.
const MOST_HOSTS: usize = 30;

/// Writes the report as text.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage, view: &View) -> io::Result<()> {
    for line in lines(fleet, view) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns the report as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(fleet: &FleetUsage, view: &View) -> Vec<String> {
    let usage = &fleet.usage;
    let mut page = Page { view, lines: Vec::new() };
    page.text(0, &rows::title(fleet), Ink::Strong);
    page.text(0, &header::window(usage, &view.tz), Ink::Plain);
    if let Some(end) = header::end(usage, &view.tz) {
        page.text(0, &end, Ink::Quiet);
    }
    if let Some(silent) = rows::silent(fleet) {
        page.text(0, &silent, Ink::Bad);
    }
    if usage.cards.is_empty() {
        page.lines.push(String::new());
        page.text(0, rows::NOTHING, Ink::Strong);
        return page.lines;
    }
    sections::headline_by(&mut page, usage, &[rows::BASIS.to_owned()]);
    sections::idle_capacity(&mut page, usage);
    page.heading(rows::HOSTS);
    put(&mut page, rows::hosts(fleet));
    let more = fleet.hosts.len().saturating_sub(MOST_HOSTS);
    if more > 0 {
        page.text(INDENT, &format!("and {more} more; --json has all"), Ink::Quiet);
    }
    page.heading(rows::MODELS);
    put(&mut page, rows::models(fleet));
    page.heading(accounts::TITLE);
    accounts::tables(&mut page, usage);
    heatmap::heatmap(&mut page, usage);
    verdict_section(&mut page, usage);
    page.lines
}

/// Prints rows below their head. The first column is a name, the others are figures.
fn put(page: &mut Page<'_>, rows: Vec<Vec<String>>) {
    let columns = rows.first().map_or(0, Vec::len);
    let mut aligns = vec![Align::Right; columns];
    if let Some(first) = aligns.first_mut() {
        *first = Align::Left;
    }
    let cell = |row: usize, text: String| match row {
        0 => Cell::new(text, Ink::Quiet),
        _ => Cell::plain(text),
    };
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .enumerate()
        .map(|(row, cells)| cells.into_iter().map(|text| cell(row, text)).collect())
        .collect();
    page.table(&aligns, &rows, 0);
}
