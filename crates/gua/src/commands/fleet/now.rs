//! `gua fleet` and `gua who --prometheus`: the hosts now.

use std::io::{self, BufWriter, Write};

use gua_core::units::UnixMillis;
use gua_fleet::now::{FleetNow, read_fleet_now};
use jiff::Timestamp;

use super::access::{client, query_failure, selection, warn};
use crate::cli;
use crate::config::Screen;
use crate::failure::Failure;
use crate::render::fleet::now::{self as render, View};
use crate::render::json;
use crate::render::paint::Paint;

pub(in crate::commands) fn fleet(typed: &cli::Fleet) -> Result<u8, Failure> {
    let url = typed.engine.prometheus.as_deref().ok_or_else(|| Failure::Usage {
        what: "no engine is named".to_owned(),
        next: "Name it with --prometheus URL, such as http://prometheus:9090.".to_owned(),
    })?;
    let (mut fleet, code) = read(&typed.engine, url)?;
    if let Some(model) = &typed.model {
        fleet.keep_models(model);
    }
    let screen = Screen::of_stdout(&typed.color);
    let view = View { paint: Paint(screen.color), width: screen.columns };
    let mut out = BufWriter::new(io::stdout().lock());
    match (typed.json, typed.free) {
        (true, true) => json::pretty(&mut out, &fleet.free())?,
        (true, false) => json::pretty(&mut out, &fleet)?,
        (false, true) => render::free(&mut out, &fleet, typed.model.as_deref(), view)?,
        (false, false) => render::hosts(&mut out, &fleet, &typed.tz.zone, view)?,
    }
    out.flush()?;
    Ok(code)
}

pub(in crate::commands) fn who(typed: &cli::Who, url: &str) -> Result<u8, Failure> {
    let (fleet, code) = read(&typed.engine, url)?;
    let mut holders = fleet.holders();
    holders.keep(typed.idle, &typed.user);
    let screen = Screen::of_stdout(&typed.color);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &holders)?;
    } else {
        let view = View { paint: Paint(screen.color), width: screen.columns };
        render::who(&mut out, &holders, view)?;
    }
    out.flush()?;
    Ok(code)
}

/// Reads the hosts now, and returns the exit code with them.
fn read(typed: &cli::Engine, url: &str) -> Result<(FleetNow, u8), Failure> {
    let (client, selection) = (client(typed, url)?, selection(typed));
    let now = UnixMillis(Timestamp::now().as_millisecond());
    let fleet = read_fleet_now(&client, &selection, now)
        .map_err(|error| query_failure(error, &selection))?;
    Ok((fleet, warn(&client)))
}
