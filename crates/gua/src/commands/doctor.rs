//! `gua doctor`: is this host ready?

use std::env;
use std::io::{self, BufWriter, Write};

use crate::checkup::{self, Places};
use crate::cli;
use crate::config::{self, Files, Machine, Screen};
use crate::failure::Failure;
use crate::render::checkup::View;
use crate::render::paint::Paint;
use crate::render::{checkup as render, json};
use crate::report::checkup::Checkup;

pub(super) fn run(machine: &Machine, files: &Files, typed: &cli::Doctor) -> Result<u8, Failure> {
    let checkup = checkup::examine(&places(machine, files, typed));
    show(&checkup, typed)?;
    Ok(if checkup.ready { 0 } else { 1 })
}

fn places(machine: &Machine, files: &Files, typed: &cli::Doctor) -> Places {
    // What is wrong with the others is among the findings.
    let (settings, _) = files.what_can_be_used();
    Places {
        machine: machine.clone(),
        search_path: env::var_os("PATH").unwrap_or_default(),
        config_files: files.clone(),
        database: typed.db.clone().or_else(|| settings.settled().database),
        pid_file: config::home().map(|home| home.join("gua.pid")),
    }
}

fn show(checkup: &Checkup, typed: &cli::Doctor) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, checkup)?;
    } else {
        let screen = Screen::of_stdout(&typed.color);
        let view = View { paint: Paint(screen.color), width: screen.columns };
        render::write(&mut out, checkup, view)?;
    }
    out.flush()
}
