//! `gua db check`: whether the database is as it must be.

use std::io::{self, BufWriter, Write};

use crate::cli::DbCheck;
use crate::commands::history;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database as report;
use crate::store;

pub(super) fn run(config: &Config, typed: &DbCheck) -> Result<u8, Failure> {
    let path = history::path(typed.db.as_deref(), config)?;
    let check = store::check(&path).map_err(|error| error.failure(&path))?;
    let checked = report::checked(path.display().to_string(), &check);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &checked)?;
    } else {
        render::checked(&mut out, &checked, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(if checked.ok { 0 } else { 1 })
}
