//! `gua db`: looks after the history database.

mod check;
mod export;
mod import;
mod info;
mod prune;

use crate::cli::Db;
use crate::failure::Failure;

pub(super) fn run(typed: &Db) -> Result<u8, Failure> {
    match typed {
        Db::Info(typed) => info::run(typed),
        Db::Check(typed) => check::run(typed),
        Db::Prune(typed) => prune::run(typed),
        Db::Export(typed) => export::run(typed),
        Db::Import(typed) => import::run(typed),
    }
}
