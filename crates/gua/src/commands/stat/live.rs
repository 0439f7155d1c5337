//! Snapshots shown one after the other: in place on a terminal, below each other in a pipe.

use std::io::{self, Write};

use gua_query::snapshot::Snapshot;

use super::super::redraw::redraw;
use super::view;
use crate::cli;
use crate::context::Context;
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

    pub fn show(&mut self, now: &Snapshot, context: &mut Context<'_>) -> io::Result<()> {
        // Read each time: the window may have been resized.
        let screen = context.screen(&self.typed.color);
        let out = &mut context.out;
        match screen.rows {
            _ if self.typed.json => json::line(out, now)?,
            Some(rows) => {
                let lines = |rows| stat::lines_within(rows, now, &view(self.typed, screen));
                redraw(out, rows, self.is_first, lines)?;
            }
            None => {
                if !self.is_first {
                    writeln!(out)?;
                }
                stat::write(out, now, &view(self.typed, screen))?;
            }
        }
        self.is_first = false;
        out.flush()
    }
}
