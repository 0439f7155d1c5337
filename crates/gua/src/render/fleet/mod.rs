//! The report over many hosts as text, as Markdown and as rows for a spreadsheet.

pub mod csv;
mod html;
pub mod markdown;
pub mod now;
mod rows;

pub use html::write as write_html;
pub(in crate::render) use html::{heading, tables};

use std::io::{self, Write};

use super::paint::Ink;
use super::table::{Align, Cell};
use super::usage::View;
use super::usage::page::{INDENT, Page};
use super::usage::{header, heatmap, sections};
use crate::report::fleet::FleetUsage;

/// How many hosts are shown.
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

/// The report as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(fleet: &FleetUsage, view: &View) -> Vec<String> {
    let usage = &fleet.usage;
    let mut page = Page { view, lines: Vec::new() };
    page.text(0, &rows::title(fleet), Ink::Strong);
    page.text(0, &header::window(usage, &view.tz), Ink::Plain);
    if let Some(silent) = rows::silent(fleet) {
        page.text(0, &silent, Ink::Bad);
    }
    if usage.cards.is_empty() {
        page.lines.push(String::new());
        page.text(0, rows::NOTHING, Ink::Strong);
        return page.lines;
    }
    sections::headline_by(&mut page, usage, rows::BASIS);
    sections::idle_capacity(&mut page, usage);
    table(&mut page, "§3 Per host", rows::hosts(fleet), fleet.hosts.len());
    table(&mut page, "§3 Per model", rows::models(fleet), 0);
    people(&mut page, fleet);
    heatmap::heatmap(&mut page, usage);
    page.heading("Verdict");
    let ink = if usage.verdict.exceeded == Some(true) { Ink::Notice } else { Ink::Plain };
    page.text(INDENT, &usage.verdict.sentence, ink);
    page.lines
}

fn table(page: &mut Page<'_>, heading: &str, rows: Vec<Vec<String>>, all: usize) {
    page.heading(heading);
    put(page, rows);
    let more = all.saturating_sub(MOST_HOSTS);
    if more > 0 {
        page.text(INDENT, &format!("and {more} more; --json has all"), Ink::Quiet);
    }
}

fn people(page: &mut Page<'_>, fleet: &FleetUsage) {
    page.heading("§4 Top identities");
    if fleet.people.is_empty() {
        page.text(INDENT, "nobody held a card", Ink::Quiet);
        return;
    }
    put(page, rows::people(fleet));
    page.text(INDENT, rows::TWO_FIGURES, Ink::Quiet);
    let more = fleet.people.len().saturating_sub(rows::MOST_PEOPLE);
    if more > 0 {
        page.text(INDENT, &format!("and {more} more; --json has all"), Ink::Quiet);
    }
}

/// The first column is a name, the others are figures; the first row is the head.
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
