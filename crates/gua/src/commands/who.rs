//! `gua who`: who holds which card now, and since when without using it.

use std::io::{self, BufWriter, Write};

use gua_query::snapshot::{CardSelection, LiveSource};
use gua_query::who::{WhoAnswer, WhoFilter};
use probe::nvml::Wants;

use super::live;
use super::pace::Pace;
use super::record::Record;
use super::redraw::redraw;
use super::reserved::Reservations;
use crate::cli;
use crate::config::{Config, Machine, Screen};
use crate::failure::Failure;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::who::{self as render, View};
use crate::talk::say;

const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Who) -> Result<u8, Failure> {
    let context = config.thresholds.context;
    let filter = WhoFilter { idle: typed.idle, users: typed.user.clone(), context };
    let mut source = live::open(machine, config, WANTS)?;
    let mut reservations = Reservations::new(machine);
    let mut record = Record::new(typed.db.clone(), config.clone());
    let mut selection = CardSelection::new(&typed.id);
    let mut look = |source: &mut LiveSource| -> Result<WhoAnswer, Failure> {
        let mut snapshot = selection.apply(source.snapshot())?;
        reservations.add_to(&mut snapshot);
        record.add_to(&mut snapshot)?;
        Ok(WhoAnswer::new(snapshot, &filter))
    };
    let mut screen = Watched { typed, filter: &filter, is_first: true };
    screen.show(&look(&mut source)?)?;
    let Some(every) = typed.watch else {
        live::check_driver(&source)?;
        return Ok(0);
    };
    let mut pace = Pace::new(every, true);
    loop {
        pace.looked(&source);
        pace.wait(&mut source);
        screen.show(&look(&mut source)?)?;
    }
}

/// What is shown, once or again and again.
struct Watched<'a> {
    typed: &'a cli::Who,
    filter: &'a WhoFilter,
    is_first: bool,
}

impl Watched<'_> {
    fn show(&mut self, who: &WhoAnswer) -> io::Result<()> {
        // Read each time: the window may have been resized.
        let screen = Screen::of_stdout(&self.typed.color);
        let view = View {
            paint: Paint(screen.color),
            width: screen.columns,
            zone: self.typed.tz.zone.clone(),
        };
        let mut out = BufWriter::new(io::stdout().lock());
        match (self.typed.json, self.typed.watch, screen.rows) {
            (true, None, _) => json::pretty(&mut out, who)?,
            (true, Some(_), _) => json::line(&mut out, who)?,
            (false, Some(_), Some(rows)) => {
                let lines = |rows| render::lines_within(rows, who, self.filter, &view);
                redraw(&mut out, rows, self.is_first, lines)?;
            }
            (false, _, _) => self.print(&mut out, who, &view)?,
        }
        out.flush()?;
        self.is_first = false;
        Ok(())
    }

    fn print(&self, out: &mut impl Write, who: &WhoAnswer, view: &View) -> io::Result<()> {
        if self.is_first {
            // Said once: what repeats is the data.
            if let Some(doubt) = render::doubt(who, &view.zone) {
                say(doubt);
            }
        } else {
            writeln!(out)?;
        }
        for line in render::lines(who, self.filter, view) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
