//! `gua doctor`: is this host ready?

use std::env;
use std::io::{self, BufWriter, Write};

use crate::checkup::{self, Places};
use crate::cli;
use crate::config::{self, Machine, Screen};
use crate::failure::Failure;
use crate::render::checkup::View;
use crate::render::paint::Paint;
use crate::render::{checkup as render, json};
use crate::report::checkup::Checkup;

pub(super) fn run(machine: &Machine, typed: &cli::Doctor) -> Result<u8, Failure> {
    let checkup = checkup::examine(&places(machine, typed));
    show(&checkup, typed)?;
    Ok(if checkup.ready { 0 } else { 1 })
}

fn places(machine: &Machine, typed: &cli::Doctor) -> Places {
    let home = config::home();
    Places {
        machine: machine.clone(),
        search_path: env::var_os("PATH").unwrap_or_default(),
        database: typed.db.clone().or_else(|| Some(home.as_ref()?.join("gua.db"))),
        pid_file: home.map(|home| home.join("gua.pid")),
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
