//! `gua who`: who holds which card now, and since when without using it.

use std::io;

use gua_query::snapshot::CardSelection;
use gua_query::who::{WhoAnswer, WhoFilter};
use probe::nvml::Wants;

use super::live::{self, Cards};
use super::pace::Pace;
use super::record::Record;
use super::redraw::redraw;
use super::reserved::Reservations;
use crate::cli;
use crate::config::{Config, Machine};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::who::{self as render, View};

const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

pub(super) fn run(
    machine: &Machine,
    config: &Config,
    typed: &cli::Who,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let filter = WhoFilter {
        idle: typed.idle,
        users: typed.user.clone(),
        context: config.thresholds.context,
    };
    let mut source = live::open(machine, config, WANTS, context)?;
    let mut reservations = Reservations::new(machine, &context.env);
    let mut record = Record::new(typed.db.clone(), config.clone());
    let mut selection = CardSelection::new(&typed.id);
    let mut look = |source: &mut Cards, context: &mut Context<'_>| -> Result<WhoAnswer, Failure> {
        let mut snapshot = selection.apply(source.snapshot(context.clock))?;
        reservations.add_to(&mut snapshot, context);
        record.add_to(&mut snapshot)?;
        Ok(WhoAnswer::new(snapshot, &filter))
    };
    let mut screen = Watched { typed, filter: &filter, is_first: true };
    screen.show(&look(&mut source, context)?, context)?;
    let Some(every) = typed.watch else {
        source.check_driver()?;
        return Ok(0);
    };
    let mut pace = Pace::new(every, true, context.clock);
    loop {
        pace.looked(&source, context.clock);
        pace.wait(&mut source, &mut context.clock);
        screen.show(&look(&mut source, context)?, context)?;
    }
}

/// What is shown, once or again and again.
struct Watched<'a> {
    typed: &'a cli::Who,
    filter: &'a WhoFilter,
    is_first: bool,
}

impl Watched<'_> {
    fn show(&mut self, who: &WhoAnswer, context: &mut Context<'_>) -> io::Result<()> {
        // Read each time: the window may have been resized.
        let screen = context.screen(&self.typed.color);
        let view = View {
            paint: Paint(screen.color),
            width: screen.columns,
            zone: self.typed.tz.zone.clone(),
        };
        let out = &mut context.out;
        match (self.typed.json, self.typed.watch, screen.rows) {
            (true, None, _) => json::pretty(out, who)?,
            (true, Some(_), _) => json::line(out, who)?,
            (false, Some(_), Some(rows)) => {
                let lines = |rows| render::lines_within(rows, who, self.filter, &view);
                redraw(out, rows, self.is_first, lines)?;
            }
            (false, _, _) => self.print(context, who, &view)?,
        }
        context.out.flush()?;
        self.is_first = false;
        Ok(())
    }

    fn print(&self, context: &mut Context<'_>, who: &WhoAnswer, view: &View) -> io::Result<()> {
        if self.is_first {
            // Said once: what repeats is the data.
            if let Some(doubt) = render::doubt(who, &view.zone) {
                context.say(doubt);
            }
        } else {
            writeln!(context.out)?;
        }
        for line in render::lines(who, self.filter, view) {
            writeln!(context.out, "{line}")?;
        }
        Ok(())
    }
}
