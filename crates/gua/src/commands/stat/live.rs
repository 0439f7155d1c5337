//! Looks shown one after the other: in place on a terminal, below each other in a pipe.

use std::io::{self, BufWriter, Write};
use std::thread;
use std::time::{Duration, Instant};

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

/// A beat that does not drift, and does not catch up after a pause.
#[derive(Debug)]
pub(super) struct Beat {
    every: Duration,
    due: Instant,
}

impl Beat {
    pub fn new(every: Duration) -> Self {
        Self { every, due: Instant::now() }
    }

    pub fn wait(&mut self) {
        let now = Instant::now();
        self.due = next(self.due, now, self.every);
        thread::sleep(self.due.saturating_duration_since(now));
    }
}

/// When the next beat is due: in step with the one before or, where that moment has passed,
/// a whole beat from now.
fn next(previous: Instant, now: Instant, every: Duration) -> Instant {
    let in_step = previous + every;
    if in_step > now { in_step } else { now + every }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_keeps_its_step_and_does_not_catch_up() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let next = |previous, now| next(at(previous), at(now), Duration::from_secs(1));
        assert_eq!(next(0, 0), at(1_000));
        assert_eq!(next(0, 300), at(1_000), "a look takes nothing from the beat");
        assert_eq!(next(0, 1_000), at(2_000));
        assert_eq!(next(0, 5_700), at(6_700), "one beat after a pause, not five");
        assert_eq!(next(6_700, 6_800), at(7_700));
    }
}
