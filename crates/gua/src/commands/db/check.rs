//! `gua db check`: whether the database is as it must be.

use gua_store::Database;

use crate::cli::DbCheck;
use crate::commands::history;
use crate::config::Config;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::Checked;

pub(super) fn run(
    config: &Config,
    typed: &DbCheck,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let database = Database::open(&history::path(typed.db.as_deref(), config)?)?;
    let findings = database.check()?;
    let checked = Checked::new(database.info()?, findings);
    let columns = context.columns();
    if typed.json {
        json::pretty(&mut context.out, &checked)?;
    } else {
        render::checked(&mut context.out, &checked, columns)?;
    }
    context.out.flush()?;
    Ok(if checked.ok { 0 } else { 1 })
}
