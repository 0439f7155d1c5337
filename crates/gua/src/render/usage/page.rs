//! Lines below headings, none longer than the screen is wide.

use super::View;
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell, Line, fit, put_row, shorten, total};
use crate::wrap::wrapped;

/// How far in the lines below a heading stand.
pub(in crate::render) const INDENT: usize = 2;

/// What was written so far.
#[derive(Debug)]
pub(in crate::render) struct Page<'a> {
    pub view: &'a View,
    pub lines: Vec<String>,
}

impl Page<'_> {
    /// A title, with an empty line before it.
    pub fn heading(&mut self, title: &str) {
        self.lines.push(String::new());
        self.text(0, title, Ink::Strong);
    }

    /// A text in as many lines as it takes.
    pub fn text(&mut self, indent: usize, text: &str, ink: Ink) {
        for part in in_lines(text, self.view.width.saturating_sub(indent)) {
            self.cells(indent, &[Cell::new(part, ink)]);
        }
    }

    /// A word, and beside it a text in as many lines as it takes.
    pub fn beside(&mut self, word: &Cell, at: usize, text: &str) {
        let mut word = Some(word);
        for part in in_lines(text, self.view.width.saturating_sub(at)) {
            let mut line = Line::default();
            if let Some(word) = word.take() {
                line.put(INDENT, word, self.view.width, self.view.paint);
            }
            line.put(at, &Cell::plain(part), self.view.width, self.view.paint);
            self.lines.push(line.text);
        }
    }

    /// A line of pieces that follow each other.
    pub fn cells(&mut self, indent: usize, cells: &[Cell]) {
        let mut line = Line::default();
        let mut at = indent;
        for cell in cells {
            line.put(at, cell, self.view.width, self.view.paint);
            at = line.width;
        }
        self.lines.push(line.text);
    }

    /// Rows in columns, of which one may be cut; gives the room that is left beside them.
    pub fn room_beside(&self, aligns: &[Align], rows: &[Vec<Cell>]) -> usize {
        let columns = fit(aligns, rows.iter().map(Vec::as_slice));
        self.view.width.saturating_sub(INDENT + total(&columns))
    }

    /// Rows in columns; the column `cuttable` gets as narrow as it has to.
    pub fn table(&mut self, aligns: &[Align], rows: &[Vec<Cell>], cuttable: usize) {
        let most = self.view.width;
        let mut columns = fit(aligns, rows.iter().map(Vec::as_slice));
        shorten(&mut columns, cuttable, 1, most.saturating_sub(INDENT));
        for row in rows {
            let mut line = Line::default();
            put_row(&mut line, INDENT, row, &columns, most, self.view.paint);
            self.lines.push(line.text);
        }
    }
}

/// Broken between words, but not between a figure and its unit.
fn in_lines(text: &str, most: usize) -> Vec<String> {
    let mut text = text.to_owned();
    for (pair, bound) in
        [(" %", "\u{a0}%"), (" MiB", "\u{a0}MiB"), (" GiB", "\u{a0}GiB"), ("> ", ">\u{a0}")]
    {
        text = text.replace(pair, bound);
    }
    wrapped(&text, most).into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}
