//! One line of figures on the terminal while the command runs.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use track::Sample;

use crate::cli::{self, MemoryUnit};
use crate::config::{Target, Track};
use crate::context::{CLEARED, Context};
use crate::render::tracked::live;
use crate::report::tracked::command_name;
use crate::terminal::Terminal;

/// Faster than four times a second nobody reads; a sample may come a little early.
const SHORTEST: Duration = Duration::from_millis(225);

/// The line, drawn by a thread of its own: a terminal that is stopped (Ctrl-S) must not stop
/// the measuring.
#[derive(Debug)]
pub(super) struct Live {
    samples: SyncSender<Sample>,
    thread: JoinHandle<()>,
}

/// Where samples come in.
#[derive(Debug)]
pub(super) struct Feed {
    samples: SyncSender<Sample>,
    last: Option<Instant>,
}

impl Live {
    /// `None` where it was not asked for, or there is no terminal to draw on.
    pub fn begin(meant: &Track, color: &cli::Color, context: &Context<'_>) -> Option<Self> {
        let screen = context.stderr_screen(color);
        if !meant.is_live || !screen.is_terminal || screen.rows.is_none() {
            return None;
        }
        let (samples, told) = sync_channel(1);
        let name = match &meant.target {
            Target::Command(words) => command_name(words).unwrap_or_default(),
            Target::Pid(pid) => format!("pid {pid}"),
        };
        let unit = meant.unit;
        let thread = thread::Builder::new().name("live".into());
        let thread = thread.spawn(move || draw(&told, &name, unit)).ok()?;
        Some(Self { samples, thread })
    }

    pub fn feed(&self) -> Feed {
        Feed { samples: self.samples.clone(), last: None }
    }

    /// Takes the line away. The feed must be gone by then.
    pub fn end(self) {
        drop(self.samples);
        let _ = self.thread.join();
    }
}

impl Feed {
    /// What comes too fast, or while the last one is still being drawn, is left out.
    pub fn add(&mut self, sample: &Sample) {
        if self.last.is_some_and(|last| last.elapsed() < SHORTEST) {
            return;
        }
        if self.samples.try_send(sample.clone()).is_ok() {
            self.last = Some(Instant::now());
        }
    }
}

fn draw(samples: &Receiver<Sample>, name: &str, unit: MemoryUnit) {
    for sample in samples {
        // Asked anew each time: the window may have been resized. One column stays free: a
        // full line would let the cursor leave it.
        let columns = Terminal::Stderr.size().0.unwrap_or(80);
        let line = live::line(name, &sample, unit, columns.saturating_sub(1));
        draw_line(&line);
    }
    draw_line("");
}

/// Draws in place of the last line. The measurement goes on if the terminal is gone.
fn draw_line(line: &str) {
    let _ = io::stderr().write_all(format!("{CLEARED}{line}").as_bytes());
}
