//! `gua db check`: whether the database is as it must be.

use std::io::{self, BufWriter, Write};

use gua_store::Database;

use crate::cli::DbCheck;
use crate::commands::history;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::Checked;

pub(super) fn run(config: &Config, typed: &DbCheck) -> Result<u8, Failure> {
    let database = Database::open(&history::path(typed.db.as_deref(), config)?)?;
    let findings = database.check()?;
    let checked = Checked::new(database.info()?, findings);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &checked)?;
    } else {
        render::checked(&mut out, &checked, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(if checked.ok { 0 } else { 1 })
}
