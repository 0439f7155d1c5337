//! `gua db info`: what is in the database.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use gua_store::lock::RecorderLock;
use gua_store::{Database, StoreError};

use crate::cli::DbInfo;
use crate::commands::history;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::DatabaseInfo;

pub(super) fn run(config: &Config, typed: &DbInfo) -> Result<u8, Failure> {
    let info = read(&history::path(typed.db.as_deref(), config)?)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &info)?;
    } else {
        render::info(&mut out, &info, &typed.tz.zone, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(0)
}

fn read(path: &Path) -> Result<DatabaseInfo, StoreError> {
    Database::identify(path)?;
    // Before the database is open: closing the file would drop the locks of this process on it.
    let is_being_recorded = RecorderLock::is_taken(path);
    let database = Database::open(path)?;
    let (runs, cards) = (database.runs()?, database.cards()?);
    Ok(DatabaseInfo::new(is_being_recorded, database.info()?, &runs, cards.into_values()))
}
