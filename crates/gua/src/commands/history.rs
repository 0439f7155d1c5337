//! The history that a command reads: where it is, and why it cannot be read.

use std::path::{Path, PathBuf};

use crate::config;
use crate::failure::Failure;
use crate::render::words::shell_word;
use crate::store::{self, History, Identity, StoreError};

/// Where the history is: as typed, else `gua.db` where our own files are.
pub(super) fn path(typed: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = typed {
        return Ok(path.to_owned());
    }
    config::home().map(|home| home.join("gua.db")).ok_or_else(|| Failure::Usage {
        what: "neither GUA_HOME nor HOME is set, so it cannot be told where the history is"
            .to_owned(),
        next: "Name it with --db PATH.".to_owned(),
    })
}

/// Opens it for reading.
pub(super) fn open(path: &Path) -> Result<History, Failure> {
    if matches!(store::identify(path), Identity::PythonGua) {
        return Err(Failure::Store {
            path: path.to_owned(),
            what: "it is a database of the Python gua".to_owned(),
            next: format!("`gua db import {}` takes it over.", word(path)),
        });
    }
    History::open(path).map_err(|error| failure(path, &error))
}

/// What went wrong, and the next step.
pub(super) fn failure(path: &Path, error: &StoreError) -> Failure {
    let what = match error {
        StoreError::Missing(_) => "there is none".to_owned(),
        error => error.to_string(),
    };
    Failure::Store { path: path.to_owned(), what, next: next_step(path, error) }
}

fn next_step(path: &Path, error: &StoreError) -> String {
    let doctor = format!("`gua doctor --db {}` tells more.", word(path));
    match error {
        StoreError::Missing(_) => {
            "`gua daemon` starts recording; `gua demo` shows a report without a GPU.".to_owned()
        }
        StoreError::NotOurs(_) => "Name a history that gua has recorded with --db PATH.".to_owned(),
        StoreError::Newer { .. } => "A newer gua can read it: update this one.".to_owned(),
        StoreError::Damaged(_) => format!(
            "Take a copy that is whole, or move it away: `gua daemon` begins a new one. {doctor}"
        ),
        StoreError::Locked | StoreError::Recorded => "Try again in a moment.".to_owned(),
        StoreError::Full | StoreError::ReadOnly | StoreError::Io(_) | StoreError::Sqlite(_) => {
            doctor
        }
    }
}

fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}
