//! `gua fleet` and `gua who --prometheus`: the hosts now.

use std::io::Write;

use gua_fleet::now::{FleetNow, read_fleet_now};

use super::access::{client, query_failure, selection, warn};
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::fleet::now::{self as render, View};
use crate::render::json;
use crate::render::paint::Paint;

pub(in crate::commands) fn fleet(
    typed: &cli::Fleet,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let url = typed.engine.prometheus.as_deref().ok_or_else(|| Failure::Usage {
        what: "no engine is named".to_owned(),
        next: "Name it with --prometheus URL, such as http://prometheus:9090.".to_owned(),
    })?;
    let (mut fleet, code) = read(&typed.engine, url, context)?;
    if let Some(model) = &typed.model {
        fleet.keep_models(model);
    }
    let screen = context.screen(&typed.color);
    let view = View { paint: Paint(screen.color), width: screen.columns };
    let out = &mut context.out;
    match (typed.json, typed.free) {
        (true, true) => json::pretty(out, &fleet.free())?,
        (true, false) => json::pretty(out, &fleet)?,
        (false, true) => render::free(out, &fleet, typed.model.as_deref(), view)?,
        (false, false) => render::hosts(out, &fleet, &typed.tz.zone, view)?,
    }
    out.flush()?;
    Ok(code)
}

pub(in crate::commands) fn who(
    typed: &cli::Who,
    url: &str,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let (fleet, code) = read(&typed.engine, url, context)?;
    let mut holders = fleet.holders();
    holders.keep(typed.idle, &typed.user);
    let screen = context.screen(&typed.color);
    let out = &mut context.out;
    if typed.json {
        json::pretty(out, &holders)?;
    } else {
        let view = View { paint: Paint(screen.color), width: screen.columns };
        render::who(out, &holders, view)?;
    }
    out.flush()?;
    Ok(code)
}

/// Reads the hosts now, and returns the exit code with them.
fn read(
    typed: &cli::Engine,
    url: &str,
    context: &mut Context<'_>,
) -> Result<(FleetNow, u8), Failure> {
    let (client, selection) = (client(typed, url)?, selection(typed));
    let now = context.clock.unix_millis();
    let fleet = read_fleet_now(&client, &selection, now)
        .map_err(|error| query_failure(error, &selection))?;
    Ok((fleet, warn(&client, context)))
}
