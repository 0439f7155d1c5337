//! `gua stat`: what each card is doing now, once or again and again.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use probe::nvml::Wants;

use crate::classify::Thresholds;
use crate::cli;
use crate::config::{Machine, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::stat::{Power, View};
use crate::render::{json, stat};
use crate::report::now::{self, Now};
use crate::sampler::{Sampler, Tick};

pub(super) fn run(machine: &Machine, typed: &cli::Stat) -> Result<ExitCode, Failure> {
    let screen = Screen::of_stdout(&typed.color);
    let mut sampler = Sampler::open(machine, wants(typed))?.with_commands(typed.full_command);
    let host = sampler.host().name();
    let chosen = Chosen(&typed.id);
    let look = |tick: Tick| {
        let now = now::now(&tick, host.as_deref(), &Thresholds::default());
        chosen.among(now)
    };
    let first = look(sampler.first_tick())?;
    let Some(seconds) = typed.interval else {
        show_once(&first, typed, screen)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut beat = Beat::new(Duration::from_secs_f64(seconds));
    let mut live = Live { typed, is_first: true };
    live.show(&first)?;
    loop {
        beat.wait();
        live.show(&look(sampler.tick())?)?;
    }
}

fn wants(typed: &cli::Stat) -> Wants {
    let everything = typed.json || typed.all;
    Wants {
        power: true,
        temperature: true,
        energy: everything,
        clocks: everything,
        codecs: everything || typed.codec,
        fan: everything || typed.fan,
    }
}

fn view(typed: &cli::Stat, screen: Screen) -> View {
    View {
        paint: Paint(screen.color),
        width: screen.size.map(|(columns, _)| columns),
        zone: TimeZone::system(),
        header: !typed.no_header,
        holders: !typed.no_processes,
        pid: typed.pid || typed.all,
        full_command: typed.full_command,
        fan: typed.fan || typed.all,
        codec: typed.codec || typed.all,
        power: match typed.power {
            Some(cli::PowerColumn::Draw) => Power::Draw,
            Some(cli::PowerColumn::Limit) => Power::Limit,
            Some(cli::PowerColumn::Both) | None => Power::Both,
        },
    }
}

fn show_once(now: &Now, typed: &cli::Stat, screen: Screen) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, now)?;
    } else {
        stat::write(&mut out, now, &view(typed, screen))?;
    }
    out.flush()
}

/// The cards that were asked for by index or UUID; all of them when none was.
struct Chosen<'a>(&'a [String]);

impl Chosen<'_> {
    fn among(&self, now: Now) -> Result<Now, Failure> {
        if self.0.is_empty() {
            return Ok(now);
        }
        for wanted in self.0 {
            if !now.cards.iter().any(|card| is_called(card, wanted)) {
                return Err(no_such_card(wanted, &now));
            }
        }
        let is_wanted = |card: &now::Card| self.0.iter().any(|wanted| is_called(card, wanted));
        let cards = now.cards.into_iter().filter(is_wanted).collect();
        Ok(Now { cards, ..now })
    }
}

/// By index, by index and slot as it is shown, or by UUID.
fn is_called(card: &now::Card, wanted: &str) -> bool {
    let by_slot = || card.mig_slot.map(|slot| format!("{}:{slot}", card.index));
    wanted == card.index.to_string()
        || card.uuid.as_deref() == Some(wanted)
        || card.parent_uuid.as_deref() == Some(wanted)
        || by_slot().as_deref() == Some(wanted)
}

fn no_such_card(wanted: &str, now: &Now) -> Failure {
    let next = match now.cards.last() {
        Some(last) => {
            format!("Choose from 0 to {}, or a UUID as in `gua stat --json`.", last.index)
        }
        None => "The driver counts no cards on this host.".to_owned(),
    };
    Failure::Usage { what: format!("there is no card `{wanted}` here"), next }
}

/// Shows looks one after the other: in place on a terminal, one after the other in a pipe.
struct Live<'a> {
    typed: &'a cli::Stat,
    is_first: bool,
}

impl Live<'_> {
    fn show(&mut self, now: &Now) -> io::Result<()> {
        // Asked anew each time: the window may have been resized.
        let screen = Screen::of_stdout(&self.typed.color);
        let mut out = BufWriter::new(io::stdout().lock());
        match screen.size {
            _ if self.typed.json => json::line(&mut out, now)?,
            Some((_, rows)) if rows < usize::MAX => self.redraw(&mut out, now, screen, rows)?,
            _ => {
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
        let lines = stat::lines(now, &view(self.typed, screen));
        for line in lines.iter().take(rows.saturating_sub(1)) {
            writeln!(out, "{line}{CLEAR_LINE}")?;
        }
        write!(out, "{CLEAR_BELOW}")
    }
}

/// A beat that does not drift, and does not catch up after a pause.
struct Beat {
    every: Duration,
    next: Instant,
}

impl Beat {
    fn new(every: Duration) -> Self {
        Self { every, next: Instant::now() + every }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        if self.next > now {
            thread::sleep(self.next - now);
        }
        self.next = (self.next + self.every).max(Instant::now());
    }
}
