//! One line a card, then who holds it.

mod cards;
mod header;
mod holders;

pub use self::cards::is_dark;
pub use self::header::{idle_beside, states};
pub use self::holders::{absence, remarks, user, what};

use std::io::{self, Write};

use gua_core::snapshot::{Snapshot, UtilizationBasis};

use super::paint::{Ink, Paint};
use super::table::{Cell, GAP, Line};
use super::words::safe;
use crate::cli::Zone;

/// What to show, and on what.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column or a part of its own")]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
    /// Whether the right edge is one that is seen.
    pub is_terminal: bool,
    pub zone: Zone,
    pub header: bool,
    pub holders: bool,
    pub pid: bool,
    pub full_command: bool,
    pub fan: bool,
    pub codec: bool,
    pub clocks: bool,
    pub power: Power,
}

impl View {
    fn most(&self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }
}

/// Which figures the power column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    Draw,
    Limit,
    Both,
}

/// Writes the view, a line at a time.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, now: &Snapshot, view: &View) -> io::Result<()> {
    for line in lines(now, view) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The view as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(now: &Snapshot, view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    if view.header {
        lines.push(header::line(now, view));
    }
    if let Some(error) = &now.host.driver_error {
        lines.push(single(&Cell::new(format!("driver: {}", safe(error)), Ink::Bad), view));
    }
    lines.extend(body(now, view));
    if now.cards.iter().any(|card| card.utilization_basis == Some(UtilizationBasis::Instant)) {
        lines.push(single(&Cell::new("~ the value of the last moment only", Ink::Quiet), view));
    }
    lines
}

/// The view on a screen of so many rows.
#[must_use]
pub fn lines_within(rows: usize, now: &Snapshot, view: &View) -> Vec<String> {
    let (mut lines, rest) = fold(lines(now, view), rows);
    if rest > 0 {
        let more = Cell::new(format!("… {rest} more lines"), Ink::Quiet);
        lines.push(single(&more, view));
    }
    lines
}

/// As many lines as leave a row for the number of the others, where there are others.
pub(super) fn fold(mut lines: Vec<String>, rows: usize) -> (Vec<String>, usize) {
    let all = lines.len();
    if all > rows {
        lines.truncate(rows.saturating_sub(1));
    }
    let rest = all - lines.len();
    (lines, rest)
}

/// Cards with their holders: beside them where the screen is wide enough, else below.
fn body(now: &Snapshot, view: &View) -> Vec<String> {
    let most = view.most();
    let cards = cards::Cards::new(&now.cards, view);
    let holders = holders::Holders::new(now, view);
    let side = cards.width() + GAP;
    let is_beside = side.saturating_add(holders.width()) <= most;
    let indent = if is_beside { side } else { holders::INDENT.min(most / 4) };
    let mut lines = Vec::new();
    for (card, rows) in holders.of_cards().enumerate() {
        let mut line = cards.line(card, view);
        let mut rows = rows.iter();
        if is_beside && let Some(first) = rows.next() {
            holders.put(&mut line, indent, first, view);
        }
        lines.push(line.text);
        for row in rows {
            let mut line = Line::default();
            holders.put(&mut line, indent, row, view);
            lines.push(line.text);
        }
    }
    lines
}

fn single(cell: &Cell, view: &View) -> String {
    let mut line = Line::default();
    line.put(0, cell, view.most(), view.paint);
    line.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_the_screen_is_counted() {
        let fold = |count, rows| {
            let (lines, rest) = fold(vec![String::new(); count], rows);
            (lines.len(), rest)
        };
        assert_eq!(fold(5, 5), (5, 0));
        assert_eq!(fold(6, 5), (4, 2));
        assert_eq!(fold(40, 5), (4, 36));
        assert_eq!(fold(3, 0), (0, 3));
        assert_eq!(fold(0, 0), (0, 0));
    }
}
