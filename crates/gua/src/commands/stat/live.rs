//! Looks shown one after the other: in place on a terminal, below each other in a pipe.

use std::io::{self, BufWriter, Write};

use super::view;
use crate::cli;
use crate::config::Screen;
use crate::render::{json, stat};
use crate::report::now::Now;

/// A view that is shown again and again.
#[derive(Debug)]
pub(super) struct Live<'a> {
    typed: &'a cli::Stat,
    is_first: bool,
}

impl<'a> Live<'a> {
    pub const fn new(typed: &'a cli::Stat) -> Self {
        Self { typed, is_first: true }
    }

    pub fn show(&mut self, now: &Now) -> io::Result<()> {
        // Asked anew each time: the window may have been resized.
        let screen = Screen::of_stdout(&self.typed.color);
        let mut out = BufWriter::new(io::stdout().lock());
        match screen.rows {
            _ if self.typed.json => json::line(&mut out, now)?,
            Some(rows) => self.redraw(&mut out, now, screen, rows)?,
            None => {
                if !self.is_first {
                    writeln!(out)?;
                }
                stat::write(&mut out, now, &view(self.typed, screen))?;
            }
        }
        self.is_first = false;
        out.flush()
    }

    /// Writes over what is there, without clearing first, so that nothing flickers.
    fn redraw(
        &self,
        out: &mut impl Write,
        now: &Now,
        screen: Screen,
        rows: usize,
    ) -> io::Result<()> {
        const CLEAR_SCREEN: &str = "\x1b[2J";
        const HOME: &str = "\x1b[H";
        const CLEAR_LINE: &str = "\x1b[K";
        const CLEAR_BELOW: &str = "\x1b[J";
        if self.is_first {
            write!(out, "{CLEAR_SCREEN}")?;
        }
        write!(out, "{HOME}")?;
        // The last row is where the cursor rests.
        let rows = rows.saturating_sub(1);
        for line in stat::lines_within(rows, now, &view(self.typed, screen)) {
            // Not after the text: a full line leaves the cursor on its last character.
            writeln!(out, "{CLEAR_LINE}{line}")?;
        }
        write!(out, "{CLEAR_BELOW}")
    }
}
