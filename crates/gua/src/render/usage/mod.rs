//! The report as text, as Markdown, as rows for a spreadsheet, as a page and as pictures.

pub(in crate::render) mod accounts;
mod compared;
pub mod csv;
#[cfg(test)]
pub(crate) mod examples;
pub(in crate::render) mod figures;
pub(in crate::render) mod header;
pub(in crate::render) mod heatmap;
pub mod html;
mod label;
pub mod markdown;
mod money;
pub(in crate::render) mod page;
mod person;
pub(in crate::render) mod sections;
mod sessions;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use gua_query::usage::{Usage, Verdict};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::page::{INDENT, Page};
use super::paint::{Ink, Paint};

/// What the report is shown on, and how.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    pub width: usize,
    /// Whether accounts have the columns of `--wide`. On a page they always have them.
    pub is_wide: bool,
    /// Of the times.
    pub tz: TimeZone,
    pub now: Timestamp,
    /// What to type for another report of the same history.
    pub command: String,
    /// How many sessions of each standing to show.
    pub sessions: usize,
    /// Whether this is the host that the history is of, where its commands can be typed.
    pub is_here: bool,
}

/// Writes the report as text.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    for line in lines(usage, view) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The report as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(usage: &Usage, view: &View) -> Vec<String> {
    let mut page = Page { view, lines: Vec::new() };
    header::header(&mut page, usage);
    if usage.cards.is_empty() {
        header::nothing(&mut page, usage);
    }
    match &usage.person {
        Some(person) => person::page(&mut page, usage, person),
        None if !usage.cards.is_empty() => of_everybody(&mut page, usage),
        None => {}
    }
    page.lines
}

fn of_everybody(page: &mut Page<'_>, usage: &Usage) {
    sections::headline(page, usage);
    sections::idle_capacity(page, usage);
    sections::cards(page, usage);
    page.heading(accounts::TITLE);
    accounts::tables(page, usage);
    heatmap::heatmap(page, usage);
    sessions::section(page, usage);
    compared::section(page, usage);
    verdict_section(page, usage);
}

pub(in crate::render) fn verdict_section(page: &mut Page<'_>, usage: &Usage) {
    let Some(verdict) = &usage.verdict else { return };
    page.heading("Verdict");
    let ink = if verdict.exceeded == Some(true) { Ink::Notice } else { Ink::Plain };
    page.text(INDENT, &format_verdict(usage, verdict), ink);
    sessions::largest(page, usage);
}

/// Formats what the figures mean, with what that costs.
fn format_verdict(usage: &Usage, verdict: &Verdict) -> String {
    let money = money::verdict(usage).map(|money| format!(" {money}")).unwrap_or_default();
    format!("{}{money}", verdict.sentence)
}
