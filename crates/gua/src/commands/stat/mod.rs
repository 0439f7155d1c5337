//! `gua stat`: what each card is doing now, once or again and again.

mod live;

use std::io;
use std::time::Duration;

use gua_query::snapshot::{CardSelection, Snapshot};
use probe::nvml::{OpenError, Wants};

use self::live::Live;
use super::live::{self as cards, Cards};
use super::pace::Pace;
use super::record::Record;
use super::reserved::{self, Reservations};
use crate::cli;
use crate::config::{self, Config, Machine};
use crate::context::{Context, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::stat::{Power, View};
use crate::render::{json, stat};

pub(super) fn run(
    machine: &Machine,
    config: &Config,
    typed: &cli::Stat,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let mut source = open(machine, config, typed, context)?;
    let mut reservations = Reservations::new(machine, &context.env);
    let mut record = Record::new(typed.db.clone(), config.clone());
    let mut selection = CardSelection::new(&typed.id);
    let mut look = |source: &mut Cards, context: &mut Context<'_>| -> Result<Snapshot, Failure> {
        let mut snapshot = selection.apply(source.snapshot(context.clock))?;
        reservations.add_to(&mut snapshot, context);
        record.add_to(&mut snapshot)?;
        Ok(snapshot)
    };
    let first = look(&mut source, context)?;
    let Some(seconds) = typed.interval else {
        show_once(&first, typed, context)?;
        source.check_driver()?;
        return Ok(0);
    };
    let mut pace = Pace::new(Duration::from_secs_f64(seconds), true, context.clock);
    let mut live = Live::new(typed);
    live.show(&first, context)?;
    loop {
        pace.looked(&source, context.clock);
        pace.wait(&mut source, &mut context.clock);
        live.show(&look(&mut source, context)?, context)?;
    }
}

/// Returns what `--json` prints.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Stat,
    context: &Context<'_>,
) -> Result<Snapshot, Failure> {
    let mut source = open(machine, config, typed, context)?;
    let mut snapshot = CardSelection::new(&typed.id).apply(source.snapshot(context.clock))?;
    source.check_driver()?;
    // The snapshot itself says that they cannot be read.
    let folder = config::reservations(&context.env);
    let _ = reserved::add_current(&mut snapshot, &folder, machine, context.clock);
    Record::new(typed.db.clone(), config.clone()).add_to(&mut snapshot)?;
    Ok(snapshot)
}

fn open(
    machine: &Machine,
    config: &Config,
    typed: &cli::Stat,
    context: &Context<'_>,
) -> Result<Cards, OpenError> {
    let source = cards::open(machine, config, wants(typed), context)?;
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

fn show_once(now: &Snapshot, typed: &cli::Stat, context: &mut Context<'_>) -> io::Result<()> {
    let screen = context.screen(&typed.color);
    if typed.json {
        json::pretty(&mut context.out, now)?;
    } else {
        stat::write(&mut context.out, now, &view(typed, screen))?;
    }
    context.out.flush()
}
