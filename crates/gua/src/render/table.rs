//! Cells in columns: each as wide as its widest, padded by what is seen, not by bytes.

use super::paint::{Ink, Paint};
use super::words::{cut, width};

/// What stands between two columns.
pub const GAP: usize = 2;

/// A piece of text with its ink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub ink: Ink,
}

impl Cell {
    #[must_use]
    pub fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink }
    }

    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Ink::Plain)
    }
}

/// At which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// One column: where its cells stand and how wide it is. An empty one takes no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub align: Align,
    pub width: usize,
}

/// A finished line and the columns it takes on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub text: String,
    pub width: usize,
}

impl Line {
    /// Adds text after at least so many columns, as much of it as fits.
    pub fn put(&mut self, at: usize, cell: &Cell, most: usize, paint: Paint) {
        let at = at.max(self.width);
        let text = cut(&cell.text, most.saturating_sub(at));
        if text.is_empty() {
            return;
        }
        self.text.push_str(&" ".repeat(at - self.width));
        self.text.push_str(&paint.text(cell.ink, &text));
        self.width = at + width(&text);
    }
}

/// Columns that fit all of the rows.
#[must_use]
pub fn fit<'a>(aligns: &[Align], rows: impl Iterator<Item = &'a [Cell]>) -> Vec<Column> {
    let mut columns: Vec<_> =
        aligns.iter().map(|align| Column { align: *align, width: 0 }).collect();
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(row) {
            column.width = column.width.max(width(&cell.text));
        }
    }
    columns
}

/// How wide a full line is.
#[must_use]
pub fn total(columns: &[Column]) -> usize {
    let taken = columns.iter().filter(|column| column.width > 0);
    taken.map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Makes one column narrower, as far as is needed and no further than `shortest`.
pub fn shorten(columns: &mut [Column], which: usize, shortest: usize, most: usize) {
    let over = total(columns).saturating_sub(most);
    if let Some(column) = columns.get_mut(which) {
        column.width = column.width.min(column.width.saturating_sub(over).max(shortest));
    }
}

/// Adds a row to a line, its first column at `start`, cut at `most`.
pub fn put_row(
    line: &mut Line,
    start: usize,
    row: &[Cell],
    columns: &[Column],
    most: usize,
    paint: Paint,
) {
    let mut at = start;
    for (cell, column) in row.iter().zip(columns).filter(|(_, column)| column.width > 0) {
        let shown = Cell::new(cut(&cell.text, column.width), cell.ink);
        let pad = match column.align {
            Align::Left => 0,
            Align::Right => column.width - width(&shown.text),
        };
        line.put(at + pad, &shown, most, paint);
        at += column.width + GAP;
    }
}
