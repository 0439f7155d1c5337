//! `gua stat`: what each card is doing now, once or again and again.

mod live;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use gua_query::snapshot::{CardSelection, LiveSource, Snapshot};
use probe::nvml::{OpenError, Wants};

use self::live::Live;
use super::live as cards;
use super::pace::Pace;
use super::record::Record;
use super::reserved::{self, Reservations};
use crate::cli;
use crate::config::{Config, Machine, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::stat::{Power, View};
use crate::render::{json, stat};

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Stat) -> Result<u8, Failure> {
    let mut source = open(machine, config, typed)?;
    let mut reservations = Reservations::new(machine);
    let mut record = Record::new(typed.db.clone(), config.clone());
    let mut selection = CardSelection::new(&typed.id);
    let mut look = |source: &mut LiveSource| -> Result<Snapshot, Failure> {
        let mut snapshot = selection.apply(source.snapshot())?;
        reservations.add_to(&mut snapshot);
        record.add_to(&mut snapshot)?;
        Ok(snapshot)
    };
    let first = look(&mut source)?;
    let Some(seconds) = typed.interval else {
        show_once(&first, typed)?;
        cards::check_driver(&source)?;
        return Ok(0);
    };
    let mut pace = Pace::new(Duration::from_secs_f64(seconds), true);
    let mut live = Live::new(typed);
    live.show(&first)?;
    loop {
        pace.looked(&source);
        pace.wait(&mut source);
        live.show(&look(&mut source)?)?;
    }
}

/// Returns what `--json` prints.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Stat,
) -> Result<Snapshot, Failure> {
    let mut source = open(machine, config, typed)?;
    let mut snapshot = CardSelection::new(&typed.id).apply(source.snapshot())?;
    cards::check_driver(&source)?;
    // The snapshot itself says that they cannot be read.
    let _ = reserved::add_current(&mut snapshot, machine);
    Record::new(typed.db.clone(), config.clone()).add_to(&mut snapshot)?;
    Ok(snapshot)
}

fn open(machine: &Machine, config: &Config, typed: &cli::Stat) -> Result<LiveSource, OpenError> {
    let source = cards::open(machine, config, wants(typed))?;
    Ok(source.with_commands(typed.full_command))
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
        zone: typed.tz.zone.clone(),
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

fn show_once(now: &Snapshot, typed: &cli::Stat) -> io::Result<()> {
    let screen = Screen::of_stdout(&typed.color);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, now)?;
    } else {
        stat::write(&mut out, now, &view(typed, screen))?;
    }
    out.flush()
}
