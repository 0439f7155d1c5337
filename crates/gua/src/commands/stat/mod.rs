//! `gua stat`: what each card is doing now, once or again and again.

mod live;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::tz::TimeZone;
use probe::nvml::Wants;

use self::live::Live;
use super::chosen::Chosen;
use super::pace::Pace;
use super::reserved;
use crate::cli;
use crate::config::{Config, Machine, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::stat::{Power, View};
use crate::render::{json, stat};
use crate::report::now::{self, Now};
use crate::sampler::{Sampler, Tick};

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Stat) -> Result<u8, Failure> {
    let thresholds = config.thresholds.into();
    let mut sampler = Sampler::open(machine, wants(typed))?.with_commands(typed.full_command);
    let host = sampler.host().name();
    let mut said = None;
    let mut report = |tick: &Tick| {
        let reserved = reserved::told(machine, &mut said);
        let now = now::now(tick, host.as_deref(), &thresholds);
        now.with_reservations(reserved.as_deref())
    };
    let mut chosen = Chosen::new(&typed.id);
    let first = chosen.among(sampler.first_tick())?;
    let Some(seconds) = typed.interval else {
        show_once(&report(&first), typed)?;
        // It answered when it was opened and is gone since: what is shown is not the answer.
        first.driver?;
        return Ok(0);
    };
    let mut pace = Pace::new(Duration::from_secs_f64(seconds), true);
    let mut live = Live::new(typed);
    live.show(&report(&first))?;
    loop {
        pace.looked(&sampler);
        pace.wait(&mut sampler);
        live.show(&report(&chosen.among(sampler.tick())?))?;
    }
}

/// What `--json` would print.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Stat,
) -> Result<Now, Failure> {
    let mut sampler = Sampler::open(machine, wants(typed))?.with_commands(typed.full_command);
    let tick = Chosen::new(&typed.id).among(sampler.first_tick())?;
    let host = sampler.host().name();
    let now = now::now(&tick, host.as_deref(), &config.thresholds.into());
    tick.driver?;
    // Where it cannot be read, nobody is told; the answer leaves it open.
    Ok(now.with_reservations(reserved::standing(machine).ok().as_deref()))
}

fn wants(typed: &cli::Stat) -> Wants {
    let everything = typed.json || typed.all;
    Wants {
        power: true,
        temperature: true,
        energy: typed.json,
        clocks: everything,
        codecs: everything || typed.codec,
        fan: everything || typed.fan,
        shares: true,
        ..Wants::ESSENTIALS
    }
}

fn view(typed: &cli::Stat, screen: Screen) -> View {
    View {
        paint: Paint(screen.color),
        width: screen.columns,
        is_terminal: screen.is_terminal,
        zone: TimeZone::system(),
        header: !typed.no_header,
        holders: !typed.no_processes,
        pid: typed.pid || typed.all,
        full_command: typed.full_command,
        fan: typed.fan || typed.all,
        codec: typed.codec || typed.all,
        clocks: typed.all,
        power: match typed.power {
            Some(cli::PowerColumn::Draw) => Power::Draw,
            Some(cli::PowerColumn::Limit) => Power::Limit,
            Some(cli::PowerColumn::Both) | None => Power::Both,
        },
    }
}

fn show_once(now: &Now, typed: &cli::Stat) -> io::Result<()> {
    let screen = Screen::of_stdout(&typed.color);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, now)?;
    } else {
        stat::write(&mut out, now, &view(typed, screen))?;
    }
    out.flush()
}
