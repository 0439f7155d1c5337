//! The report as text, as Markdown and as rows for a spreadsheet.

pub mod csv;
pub(in crate::render) mod figures;
pub(in crate::render) mod header;
pub(in crate::render) mod heatmap;
pub mod markdown;
pub(in crate::render) mod page;
pub(in crate::render) mod sections;

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::page::{INDENT, Page};
use super::paint::{Ink, Paint};
use crate::report::usage::Usage;

/// What the report is shown on, and how.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    pub width: usize,
    /// Of the times.
    pub tz: TimeZone,
    pub now: Timestamp,
    /// What to type for another report of the same history.
    pub command: String,
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
        return page.lines;
    }
    sections::headline(&mut page, usage);
    sections::idle_capacity(&mut page, usage);
    sections::cards(&mut page, usage);
    sections::people(&mut page, usage);
    heatmap::heatmap(&mut page, usage);
    page.heading("Verdict");
    let ink = if usage.verdict.exceeded == Some(true) { Ink::Notice } else { Ink::Plain };
    page.text(INDENT, &usage.verdict.sentence, ink);
    page.lines
}
