//! `gua db`: looks after the history database.

mod check;
mod export;
mod info;
mod prune;

use std::path::{Path, PathBuf};

use crate::cli::Db;
use crate::config;
use crate::failure::Failure;
use crate::store::StoreError;

pub(super) fn run(typed: &Db) -> Result<u8, Failure> {
    match typed {
        Db::Info(typed) => info::run(typed),
        Db::Check(typed) => check::run(typed),
        Db::Prune(typed) => prune::run(typed),
        Db::Export(typed) => export::run(typed),
    }
}

/// The database that was named, or the one at home.
fn database(typed: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    let at_home = || Some(config::home()?.join("gua.db"));
    typed.cloned().or_else(at_home).ok_or_else(|| Failure::Usage {
        what: "there is no home folder to look for the database in".to_owned(),
        next: "Set HOME or GUA_HOME, or name a database with --db PATH.".to_owned(),
    })
}

/// Why the database at a path could not be used, for a person.
fn cannot_use(path: &Path) -> impl Fn(StoreError) -> Failure {
    move |error| Failure::Store {
        path: path.display().to_string(),
        error: error.to_string(),
        next: error.next_step(),
    }
}
