//! A part of the screen that nothing can be drawn beyond.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::theme::{Ink, Theme};
use crate::render::words::{cut, width};

/// Where it is drawn, and how.
pub struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub area: Rect,
    pub theme: Theme,
}

impl Canvas<'_> {
    /// A part of this one; empty where it would lie outside.
    pub fn part(&mut self, x: u16, y: u16, width: u16, height: u16) -> Canvas<'_> {
        let x = self.area.x.saturating_add(x);
        let y = self.area.y.saturating_add(y);
        let area = Rect::new(x, y, width, height).intersection(self.area);
        Canvas { buffer: self.buffer, area, theme: self.theme }
    }

    pub const fn width(&self) -> u16 {
        self.area.width
    }

    pub const fn height(&self) -> u16 {
        self.area.height
    }

    /// Puts text at a place, as much as fits; gives the place after it.
    pub fn put(&mut self, x: u16, y: u16, text: &str, ink: Ink) -> u16 {
        let room = self.area.width.saturating_sub(x);
        self.put_in(x, y, room, text, ink)
    }

    /// Puts text in at most so many columns, with a mark where it was cut.
    pub fn put_in(&mut self, x: u16, y: u16, most: u16, text: &str, ink: Ink) -> u16 {
        let room = usize::from(self.area.width.saturating_sub(x).min(most));
        if room == 0 || y >= self.area.height || text.is_empty() {
            return x;
        }
        let text = cut(text, room);
        let style: Style = self.theme.style(ink);
        self.buffer.set_stringn(self.area.x + x, self.area.y + y, &text, room, style);
        x + columns(&text)
    }

    /// Puts text so that it ends before a place.
    pub fn put_right(&mut self, end: u16, y: u16, text: &str, ink: Ink) -> u16 {
        let x = end.min(self.area.width).saturating_sub(columns(text));
        self.put(x, y, text, ink);
        x
    }

    /// Gives a row another look, over its whole width.
    pub fn paint_row(&mut self, y: u16, ink: Ink) {
        let row = Rect::new(self.area.x, self.area.y.saturating_add(y), self.area.width, 1);
        self.buffer.set_style(row.intersection(self.area), self.theme.style(ink));
    }

    /// Takes away what was there.
    pub fn clear(&mut self) {
        for position in self.area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }
}

/// How many columns a text takes on the screen.
pub fn columns(text: &str) -> u16 {
    u16::try_from(width(text)).unwrap_or(u16::MAX)
}
