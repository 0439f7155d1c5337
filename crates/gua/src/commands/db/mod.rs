//! `gua db`: looks after the history database.

mod check;
mod export;
mod import;
mod info;
mod prune;

use crate::cli::Db;
use crate::config::Settings;
use crate::context::Context;
use crate::failure::Failure;

pub(super) fn run(
    settings: Settings,
    typed: &Db,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let config = settings.settled();
    match typed {
        Db::Info(typed) => info::run(&config, typed, context),
        Db::Check(typed) => check::run(&config, typed, context),
        Db::Prune(typed) => prune::run(settings, typed, context),
        Db::Export(typed) => export::run(&config, typed, context),
        Db::Import(typed) => import::run(&config, typed, context),
    }
}
