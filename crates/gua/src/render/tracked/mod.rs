//! What one command used, as text, as Markdown and as a row for a spreadsheet.

pub mod csv;
pub mod figures;
pub mod live;
pub mod markdown;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod words;

use std::io::{self, Write};

use super::paint::{Ink, Paint};
use super::table::{Align, Cell, Column, GAP, Line, fit, put_row, total};
use crate::cli::MemoryUnit;
use crate::report::tracked::Tracked;
use crate::wrap::wrapped;

/// What the summary is shown on, and how.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub paint: Paint,
    pub width: usize,
    pub unit: MemoryUnit,
}

/// The last column may not get narrower: then it goes below.
const NARROWEST_ADVICE: usize = 16;

/// Writes the summary as text.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, tracked: &Tracked, view: &View) -> io::Result<()> {
    for line in lines(tracked, view) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The summary as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(tracked: &Tracked, view: &View) -> Vec<String> {
    let mut lines = inked(&words::headline(tracked), words::ink(tracked.ending), view);
    lines.push(String::new());
    lines.extend(table(tracked, view));
    for remark in &tracked.remarks {
        lines.extend(marked(&remark.sentence, view));
    }
    lines.extend(inked(&words::basis(tracked), Ink::Quiet, view));
    lines
}

fn inked(text: &str, ink: Ink, view: &View) -> Vec<String> {
    let lines = words::in_lines(text, view.width);
    lines.iter().map(|line| view.paint.text(ink, line)).collect()
}

/// A remark, set off from the figures.
fn marked(text: &str, view: &View) -> Vec<String> {
    let marks = std::iter::once("→ ").chain(std::iter::repeat("  "));
    let text = words::in_lines(text, view.width.saturating_sub(2));
    marks.zip(text).map(|(mark, line)| format!("{mark}{line}")).collect()
}

fn table(tracked: &Tracked, view: &View) -> Vec<String> {
    let rows = rows::rows(tracked, view.unit);
    let head = rows::HEAD.map(|title| Cell::new(title, Ink::Quiet));
    let figures: Vec<Vec<Cell>> = std::iter::once(head[..4].to_vec())
        .chain(rows.iter().map(|row| row.figures().map(Cell::plain).to_vec()))
        .collect();
    let aligns = [Align::Left, Align::Left, Align::Right, Align::Left];
    let columns = fit(&aligns, figures.iter().map(Vec::as_slice));
    let advice_at = total(&columns) + GAP;
    let room = view.width.saturating_sub(advice_at);
    let is_beside = room >= NARROWEST_ADVICE;
    let mut lines = vec![first_line(&figures[0], &columns, &head[4], is_beside, view)];
    for (row, figures) in rows.iter().zip(&figures[1..]) {
        let at = if is_beside { advice_at } else { GAP };
        lines.extend(row_lines(figures, &columns, &row.ask, at, is_beside, view));
    }
    lines
}

fn first_line(
    cells: &[Cell],
    columns: &[Column],
    advice: &Cell,
    is_beside: bool,
    view: &View,
) -> String {
    let mut line = Line::default();
    put_row(&mut line, 0, cells, columns, view.width, view.paint);
    if is_beside {
        line.put(total(columns) + GAP, advice, view.width, view.paint);
    }
    line.text
}

/// A row, and what to ask for beside it or below it.
fn row_lines(
    figures: &[Cell],
    columns: &[Column],
    ask: &str,
    at: usize,
    is_beside: bool,
    view: &View,
) -> Vec<String> {
    let mut line = Line::default();
    put_row(&mut line, 0, figures, columns, view.width, view.paint);
    let mut advice = wrapped(ask, view.width.saturating_sub(at)).into_iter().map(Cell::plain);
    if is_beside && let Some(first) = advice.next() {
        line.put(at, &first, view.width, view.paint);
    }
    let mut lines = vec![line.text];
    for cell in advice {
        let mut below = Line::default();
        below.put(at, &cell, view.width, view.paint);
        lines.push(below.text);
    }
    lines
}
