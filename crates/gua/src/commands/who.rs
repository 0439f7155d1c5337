//! `gua who`: who holds which card now, and since when without working?

use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::tz::TimeZone;
use probe::nvml::Wants;
use probe::units::UnixMillis;

use super::chosen::Chosen;
use super::history::{self, Detail};
use super::pace::Pace;
use super::redraw::redraw;
use super::reserved;
use crate::cli;
use crate::config::{Config, Machine, Screen};
use crate::failure::Failure;
use crate::ledger::{HOUR, Period};
use crate::recorder::boot_id;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::who::{self as render, View};
use crate::report::now;
use crate::report::who::{self, Asked, Record, Who};
use crate::sampler::{Sampler, Tick};
use crate::store::StoreError;
use crate::talk::say;

const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Who) -> Result<u8, Failure> {
    let thresholds = config.thresholds.into();
    let context = config.thresholds.context;
    let asked = Asked { idle: typed.idle, users: typed.user.clone(), context };
    let mut sampler = Sampler::open(machine, WANTS)?.with_who(true);
    let host = sampler.host().name();
    let mut chosen = Chosen::new(&typed.id);
    let first = chosen.among(sampler.first_tick())?;
    let mut said = None;
    let mut answer = |tick: &Tick| -> Result<Who, Failure> {
        let reserved = reserved::told(machine, &mut said);
        let now = now::now(tick, host.as_deref(), &thresholds);
        let now = now.with_reservations(reserved.as_deref());
        Ok(who::who(now, record(tick, typed.db.as_deref(), config)?, &asked))
    };
    let mut screen = Watched { typed, asked: &asked, is_first: true };
    screen.show(&answer(&first)?)?;
    let Some(every) = typed.watch else {
        // It answered when it was opened and is gone since: what is shown is not the answer.
        first.driver?;
        return Ok(0);
    };
    let mut pace = Pace::new(every, true);
    loop {
        pace.looked(&sampler);
        pace.wait(&mut sampler);
        screen.show(&answer(&chosen.among(sampler.tick())?)?)?;
    }
}

/// What is recorded of those who are seen. A history that was named must be there; without
/// the usual one, there is still the look.
fn record(tick: &Tick, named: Option<&Path>, config: &Config) -> Result<Record, Failure> {
    let path = match history::path(named, config) {
        Ok(path) => path,
        Err(Failure::Usage { what, .. }) => return Ok(Record::none(None, what)),
        Err(failure) => return Err(failure),
    };
    match recorded(tick, &path) {
        Ok(record) => Ok(record),
        Err(error) if named.is_some() => Err(error.failure(&path)),
        Err(error) => {
            let reason = history::reason(&path, &error);
            Ok(Record::none(Some(path.display().to_string()), reason))
        }
    }
}

fn recorded(tick: &Tick, path: &Path) -> Result<Record, StoreError> {
    let window = Period::new(UnixMillis(tick.at.0.saturating_sub(LOOKED_BACK)), tick.at);
    let history = history::read(path, window, Detail::Spans)?;
    let idleness = history.idleness(&boot_id())?;
    Ok(Record::new(Some(path.display().to_string()), idleness, history.newest_run(), tick.at))
}

/// How much of the Python gua's history is read: more than anybody holds a card idle.
const LOOKED_BACK: i64 = 30 * 24 * HOUR;

/// What is shown, once or again and again.
struct Watched<'a> {
    typed: &'a cli::Who,
    asked: &'a Asked,
    is_first: bool,
}

impl Watched<'_> {
    fn show(&mut self, who: &Who) -> io::Result<()> {
        // Asked anew each time: the window may have been resized.
        let screen = Screen::of_stdout(&self.typed.color);
        let view =
            View { paint: Paint(screen.color), width: screen.columns, zone: TimeZone::system() };
        let mut out = BufWriter::new(io::stdout().lock());
        match (self.typed.json, self.typed.watch, screen.rows) {
            (true, None, _) => json::pretty(&mut out, who)?,
            (true, Some(_), _) => json::line(&mut out, who)?,
            (false, Some(_), Some(rows)) => {
                let lines = |rows| render::lines_within(rows, who, self.asked, &view);
                redraw(&mut out, rows, self.is_first, lines)?;
            }
            (false, _, _) => self.print(&mut out, who, &view)?,
        }
        out.flush()?;
        self.is_first = false;
        Ok(())
    }

    fn print(&self, out: &mut impl Write, who: &Who, view: &View) -> io::Result<()> {
        if self.is_first {
            // Said once: what repeats is the data.
            if let Some(doubt) = render::doubt(who, &view.zone) {
                say(doubt);
            }
        } else {
            writeln!(out)?;
        }
        for line in render::lines(who, self.asked, view) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
