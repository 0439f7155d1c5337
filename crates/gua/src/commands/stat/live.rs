//! Snapshots shown one after the other: in place on a terminal, below each other in a pipe.

use std::io::{self, BufWriter, Write};

use gua_query::snapshot::Snapshot;

use super::super::redraw::redraw;
use super::view;
use crate::cli;
use crate::config::Screen;
use crate::render::{json, stat};

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

    pub fn show(&mut self, now: &Snapshot) -> io::Result<()> {
        // Read each time: the window may have been resized.
        let screen = Screen::of_stdout(&self.typed.color);
        let mut out = BufWriter::new(io::stdout().lock());
        match screen.rows {
            _ if self.typed.json => json::line(&mut out, now)?,
            Some(rows) => {
                let lines = |rows| stat::lines_within(rows, now, &view(self.typed, screen));
                redraw(&mut out, rows, self.is_first, lines)?;
            }
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
}
