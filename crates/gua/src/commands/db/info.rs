//! `gua db info`: what is in the database.

use std::path::Path;

use gua_store::lock::RecorderLock;
use gua_store::{Database, StoreError};

use crate::cli::DbInfo;
use crate::commands::history;
use crate::config::Config;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::DatabaseInfo;

pub(super) fn run(
    config: &Config,
    typed: &DbInfo,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let info = read(&history::path(typed.db.as_deref(), config)?)?;
    let columns = context.columns();
    if typed.json {
        json::pretty(&mut context.out, &info)?;
    } else {
        render::info(&mut context.out, &info, &typed.tz.zone, columns)?;
    }
    context.out.flush()?;
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
