//! `gua doctor`: is this host ready?

use std::ffi::OsString;

use crate::cli;
use crate::config::{self, Files, Machine};
use crate::context::Context;
use crate::doctor::{Diagnosis, Places};
use crate::failure::Failure;
use crate::render::json;
use crate::render::paint::Paint;

pub(super) fn run(
    machine: &Machine,
    files: &Files,
    typed: &cli::Doctor,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    // Errors in the other files are among the findings.
    let (settings, _) = files.what_can_be_used();
    let diagnosis = Diagnosis::of(&Places {
        machine: machine.clone(),
        search_path: context.env.get("PATH").map(OsString::from).unwrap_or_default(),
        config_files: files.clone(),
        database: typed.db.clone().or_else(|| settings.settled().database),
        pid_file: config::home(&context.env).map(|home| home.join("gua.pid")),
    });
    if typed.json {
        json::pretty(&mut context.out, &diagnosis)?;
    } else {
        let screen = context.screen(&typed.color);
        diagnosis.write(&mut context.out, screen.columns, Paint(screen.color))?;
    }
    context.out.flush()?;
    Ok(if diagnosis.ready { 0 } else { 1 })
}
