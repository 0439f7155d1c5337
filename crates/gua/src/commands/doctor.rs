//! `gua doctor`: is this host ready?

use std::ffi::OsString;
use std::io;

use crate::cli;
use crate::config::{self, Files, Machine};
use crate::context::Context;
use crate::doctor::report::Checkup;
use crate::doctor::text::{self, View};
use crate::doctor::{self, Places};
use crate::env::Env;
use crate::failure::Failure;
use crate::render::json;
use crate::render::paint::Paint;

pub(super) fn run(
    machine: &Machine,
    files: &Files,
    typed: &cli::Doctor,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let checkup = doctor::examine(&places(machine, files, typed, &context.env));
    show(&checkup, typed, context)?;
    Ok(if checkup.ready { 0 } else { 1 })
}

fn places(machine: &Machine, files: &Files, typed: &cli::Doctor, env: &Env) -> Places {
    // What is wrong with the others is among the findings.
    let (settings, _) = files.what_can_be_used();
    Places {
        machine: machine.clone(),
        search_path: env.get("PATH").map(OsString::from).unwrap_or_default(),
        config_files: files.clone(),
        database: typed.db.clone().or_else(|| settings.settled().database),
        pid_file: config::home(env).map(|home| home.join("gua.pid")),
    }
}

fn show(checkup: &Checkup, typed: &cli::Doctor, context: &mut Context<'_>) -> io::Result<()> {
    if typed.json {
        json::pretty(&mut context.out, checkup)?;
    } else {
        let screen = context.screen(&typed.color);
        let view = View { paint: Paint(screen.color), width: screen.columns };
        text::write(&mut context.out, checkup, view)?;
    }
    context.out.flush()
}
